// Builds the images of Pawl without a container runtime: `npm run image -- --help`.
//
// I1. The same commit gives the same bytes: files have the commit's time, and no other input of the machine is used.
// I2. Every input is pinned by a digest: npm packages by package-lock.json, Node by node-integrity.json, Debian packages
//     by base-packages.json.
// I3. The engine and the handler contain no shell, run as user 65532 and write only to mounted volumes.

import { execFileSync } from 'node:child_process'
import { createHash, type KeyObject } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { nodeVersion, readApplication, readNode, readNodeIntegrity, stageApplication } from './application.ts'
import { ARCHITECTURES, type Architecture, type BasePackage, basePackages, readSnapshot } from './base-packages.ts'
import { type Contents, licenceList, spdxOf } from './bill-of-materials.ts'
import { addPackages } from './debian-files.ts'
import { addFile, type FileTree, type Layer, layerOf } from './file-tree.ts'
import { type Descriptor, OciLayout, type Release, tagOf } from './oci-layout.ts'
import { provenanceOf } from './provenance.ts'
import { pushLayout, readRepository } from './push.ts'
import { addAttestations, addSignature, readSigningKey } from './signature.ts'
import { VARIANTS, type Variant } from './variants.ts'

const HELP = `Usage: npm run image -- [options]

Builds the images of Pawl as an OCI layout: a folder that skopeo and crane copy to a registry.

  --out FOLDER         folder of the layout, replaced by the build (default dist/image)
  --platform LIST      architectures: ${ARCHITECTURES.join(',')} (default both)
  --variant LIST       variants: ${VARIANTS.map(({ name }) => name).join(',')} (default all)
  --package FILE       npm package of this checkout (default: built by npm run build:package)
  --key FILE           ECDSA P-256 key in PKCS #8; signs the images as cosign does, with provenance and bill of materials
  --push HOST/NAME     pushes the images to this repository; name and password from $PAWL_REGISTRY_USER and
                       $PAWL_REGISTRY_PASSWORD. HTTP is used for addresses in 127.0.0.0/8 and for localhost
`

const ROOT = resolve(import.meta.dirname, '../..')
const USERS = 'root:x:0:0:root:/root:/nologin\npawl:x:65532:65532:pawl:/tmp:/nologin\n'

interface Build {
  readonly layout: OciLayout
  readonly release: Release
  /** Variants share layers. */
  readonly shared: Map<string, Layer>
  /** The stage of each architecture. */
  readonly stages: ReadonlyMap<Architecture, string>
  readonly key: KeyObject | undefined
  /** The repository that signatures name. */
  readonly name: string
}

const { values: flags } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'dist/image') },
    platform: { type: 'string', default: ARCHITECTURES.join(',') },
    variant: { type: 'string', default: VARIANTS.map(({ name }) => name).join(',') },
    package: { type: 'string' },
    key: { type: 'string' },
    push: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (flags.help) process.stdout.write(HELP)
else
  await main().catch((error: unknown) => {
    process.stderr.write(`image: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })

async function main(): Promise<void> {
  const architectures = choose('--platform', flags.platform, ARCHITECTURES)
  const names = choose('--variant', flags.variant, VARIANTS.map(({ name }) => name))
  const key = flags.key === undefined ? undefined : readSigningKey(flags.key)
  const target = flags.push === undefined ? undefined : readRepository(flags.push)
  const out = resolve(flags.out)
  const work = mkdtempSync(join(tmpdir(), 'pawl-image-'))
  try {
    const tarball = flags.package === undefined ? buildPackage(work) : resolve(flags.package)
    const stages = new Map(architectures.map((one) => [one, stageFor(one, work, tarball)] as const))
    rmSync(out, { recursive: true, force: true })
    mkdirSync(out, { recursive: true })
    const layout = new OciLayout(out)
    const build = { layout, release: readRelease(), shared: new Map<string, Layer>(), stages, key, name: flags.push ?? 'pawl' }
    for (const variant of VARIANTS) if (names.includes(variant.name)) await buildVariant(variant, build)
    layout.close()
    if (key === undefined) report('not signed; give --key to sign')
    if (target !== undefined) await pushLayout(out, target, report)
    report(`written: ${relative(process.cwd(), out)}`)
  } finally {
    rmSync(work, { recursive: true })
  }
}

function buildPackage(work: string): string {
  report('building the npm package')
  const script = join(ROOT, 'deploy/package/build.ts')
  const name = execFileSync(process.execPath, [script, work], { cwd: work, encoding: 'utf8' })
  return resolve(work, name.trim())
}

function stageFor(architecture: Architecture, work: string, tarball: string): string {
  report(`installing dependencies for linux/${architecture}`)
  return stageApplication(work, tarball, architecture)
}

async function buildVariant(variant: Variant, build: Build): Promise<void> {
  const { layout, release, stages, key, name } = build
  const manifests: Descriptor[] = []
  const bills: object[] = []
  for (const architecture of stages.keys()) {
    const { layers, bill } = await layersOf(variant, architecture, build)
    manifests.push(layout.addImage(variant, architecture, layers, release))
    bills.push(JSON.parse(bill) as object)
    const size = layers.reduce((sum, { bytes }) => sum + bytes.length, 0)
    report(`${tagOf(variant, release)} linux/${architecture}: ${(size / 1e6).toFixed(0)} MB in ${layers.length} layers`)
  }
  const { digest } = layout.addIndex(variant, manifests, release)
  report(`${tagOf(variant, release)}: ${digest}`)
  if (key === undefined) return
  const lock = readFileSync(join(ROOT, 'package-lock.json'))
  const inputs = {
    variant: variant.name,
    lockSha256: createHash('sha256').update(lock).digest('hex'),
    debian: [...stages.keys()].flatMap((architecture) => basePackages(variant.base, architecture)),
    node: readNodeIntegrity(),
  }
  const statements = [
    provenanceOf(inputs, release),
    ...bills.map((predicate) => ({ predicateType: 'https://spdx.dev/Document', predicate })),
  ]
  addSignature(layout, key, { digest, name })
  addAttestations(layout, key, { digest, name, statements })
}

/** The layers, from those that change least to those that change most. */
async function layersOf(
  variant: Variant,
  architecture: Architecture,
  { release, shared, stages }: Build,
): Promise<{ readonly layers: readonly Layer[]; readonly bill: string }> {
  const folder = stages.get(architecture) ?? ''
  const debian = basePackages(variant.base, architecture)
  const layer = async (comment: string, read: () => Promise<FileTree>, key: string = variant.name) => {
    const name = `${comment} ${architecture} ${key}`
    const known = shared.get(name) ?? (await layerOf(await read(), { time: release.time, comment }))
    shared.set(name, known)
    return known
  }
  const { dependencies, pawl, packages } = await readApplication(folder, variant, architecture)
  const contents: Contents = { variant: variant.name, architecture, node: nodeVersion(), npm: packages, debian }
  const bill = spdxOf(contents, release)
  addFile(pawl, 'usr/share/doc/pawl/sbom.spdx.json', bill)
  addFile(pawl, 'usr/share/doc/pawl/licences.tsv', licenceList(contents))
  const layers = [
    await layer('Debian packages', async () => await readBase(debian), variant.base),
    await layer('Node', async () => await readNode(folder), ''),
    await layer('npm packages', async () => await Promise.resolve(dependencies)),
    await layer('Pawl', async () => await Promise.resolve(pawl)),
  ]
  return { layers, bill }
}

async function readBase(debian: readonly BasePackage[]): Promise<FileTree> {
  const tree: FileTree = new Map()
  await addPackages(tree, debian, readSnapshot())
  addFile(tree, 'etc/passwd', USERS)
  addFile(tree, 'etc/group', 'root:x:0:\npawl:x:65532:\n')
  tree.set('tmp', { type: 'directory', mode: 0o1777 })
  return tree
}

/** Of the checked out commit. $SOURCE_DATE_EPOCH replaces its time. */
function readRelease(): Release {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
  const time = Number(process.env['SOURCE_DATE_EPOCH'] ?? git('log', '-1', '--format=%ct'))
  return { version, revision: git('rev-parse', 'HEAD'), time }
}

function choose<T extends string>(flag: string, list: string, known: readonly T[]): readonly T[] {
  const found = list.split(',')
  const unknown = found.filter((one) => !known.includes(one as T))
  if (unknown.length > 0) throw new Error(`${flag}: found '${unknown.join(',')}'; expected a list of ${known.join(', ')}`)
  return known.filter((one) => found.includes(one))
}

function report(text: string): void {
  process.stdout.write(`image: ${text}\n`)
}
