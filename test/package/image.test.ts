// The images, built without a container runtime. test/e2e/installed-chart.test.ts runs the engine's image; this file has the
// small variants, whose contents and signatures are made in the same way.

import { execFileSync, spawnSync } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { preAuthenticationEncoding } from '../../deploy/image/signature.ts'
import { PAWL_VERSION } from '../../worker/server/version.ts'
import { ARCHITECTURE, Images } from '../support/image/images.ts'
import { isLong } from '../support/matrix/form.ts'
import { builtPackage } from '../support/package/built-package.ts'

const ROOT = join(import.meta.dirname, '../..')
const TAGS = { injector: `${PAWL_VERSION}-injector`, handler: `${PAWL_VERSION}-handler` }
const work = mkdtempSync(join(tmpdir(), 'pawl-image-test-'))
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const keyFile = join(work, 'key.pem')
// The long form of the tests builds both architectures.
const MACHINES = { amd64: 62, arm64: 183 }
const architectures: readonly (keyof typeof MACHINES)[] = isLong ? ['amd64', 'arm64'] : [ARCHITECTURE]
const isRoot = process.getuid?.() === 0
const built = join(work, 'built')

let images: Images
let roots: Readonly<Record<keyof typeof TAGS, string>>

const build = (...args: readonly string[]) =>
  spawnSync(process.execPath, [join(ROOT, 'deploy/image/build.ts'), ...args], { cwd: ROOT, encoding: 'utf8' })

beforeAll(async () => {
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const { status, stderr } = build(
    '--out',
    built,
    '--variant',
    'injector,handler',
    '--platform',
    architectures.join(','),
    '--key',
    keyFile,
    '--package',
    await builtPackage(),
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  images = Images.inLayout(built)
  const unpacked = await Promise.all(
    Object.values(TAGS).map(async (tag) => await images.unpack((await images.image(tag, ARCHITECTURE)).manifest)),
  )
  roots = { injector: unpacked[0] ?? '', handler: unpacked[1] ?? '' }
}, 600_000)
afterAll(() => {
  rmSync(work, { recursive: true })
  for (const root of Object.values(roots)) rmSync(dirname(root), { recursive: true })
})

function filesOf(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
}

function inRoot(root: string, ...command: readonly string[]) {
  const { status, stdout } = spawnSync('chroot', [root, ...command], { encoding: 'utf8' })
  return { status, stdout }
}

describe('an image', () => {
  it('has the same bytes when the same commit is built again', async () => {
    const again = join(work, 'again')
    // Also builds the npm package again.
    expect(build('--out', again, '--variant', 'handler', '--platform', ARCHITECTURE).status).toBe(0)
    const { manifest } = await Images.inLayout(again).image(TAGS.handler, ARCHITECTURE)
    expect(manifest).toEqual((await images.image(TAGS.handler, ARCHITECTURE)).manifest)
  }, 300_000)

  it.each(architectures)(
    'contains Node for %s',
    async (architecture) => {
      const { manifest, config } = await images.image(TAGS.handler, architecture)
      const root = architecture === ARCHITECTURE ? roots.handler : await images.unpack(manifest)
      // e_machine of an ELF file.
      expect(readFileSync(join(root, 'usr/local/bin/node')).readUInt16LE(18)).toBe(MACHINES[architecture])
      expect(config.architecture).toBe(architecture)
      if (root !== roots.handler) rmSync(dirname(root), { recursive: true })
    },
    60_000,
  )

  it('lists all its packages in the bill of materials and in the list of licences', () => {
    for (const root of Object.values(roots)) {
      const doc = (name: string) => readFileSync(join(root, 'usr/share/doc/pawl', name), 'utf8')
      const { packages } = JSON.parse(doc('sbom.spdx.json')) as {
        packages: { name: string; licenseDeclared: string }[]
      }
      const names = packages.map(({ name }) => name)
      const npm = filesOf(join(root, 'opt/pawl/node_modules')).filter((path) =>
        /^(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path),
      )
      const debian = readdirSync(join(root, 'var/lib/dpkg/status.d'))
      expect(names).toEqual(expect.arrayContaining([...npm.map((path) => dirname(path)), ...debian, 'node', 'pawl']))
      expect(packages.filter(({ licenseDeclared }) => licenseDeclared === '')).toEqual([])
      const paths = doc('licences.tsv')
        .trim()
        .split('\n')
        .map((line) => line.split('\t')[2] ?? '')
      expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
      expect(paths).toHaveLength(packages.length)
    }
  })

  it('has no program with more rights than its user, and the handler has no shell', async () => {
    const files = filesOf(roots.injector).map((path) => lstatSync(join(roots.injector, path)))
    expect(files.filter((stat) => stat.isFile() && (stat.mode & 0o6000) !== 0)).toEqual([])
    expect(readdirSync(join(roots.handler, 'usr/bin'))).toEqual([])
    expect((await images.image(TAGS.handler, ARCHITECTURE)).config.config.User).toBe('65532:65532')
  })

  it.skipIf(!isRoot)('runs its program and its tools from its own files', async () => {
    for (const [name, root] of Object.entries(roots)) {
      const { config } = (await images.image(TAGS[name as keyof typeof TAGS], ARCHITECTURE)).config
      const { status, stdout } = inRoot(root, ...config.Entrypoint, '--help')
      expect({ name, status, stdout }).toEqual({
        name,
        status: 0,
        stdout: expect.stringContaining('pawl injector') as string,
      })
    }
    const tools = [
      'nsenter --version',
      'unshare --version',
      'ip -V',
      'tc -V',
      'iptables --version',
      'iptables-restore --version',
    ]
    for (const tool of tools) expect(inRoot(roots.injector, '/usr/bin/sh', '-c', tool)).toMatchObject({ status: 0 })
  })
})

describe('the signature of an image', () => {
  it('covers its digest, and its provenance and bills of materials are signed', async () => {
    const key = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }))
    const digest = await images.digest(TAGS.injector)
    const [signed] = (await images.manifest(`${digest.replace(':', '-')}.sig`)).layers
    if (signed === undefined) throw new Error('found no signature')
    const payload = await images.blob(signed)
    const signature = Buffer.from(signed.annotations?.['dev.cosignproject.cosign/signature'] ?? '', 'base64')
    expect(verify('sha256', payload, key, signature)).toBe(true)
    expect(JSON.parse(payload.toString())).toMatchObject({ critical: { image: { 'docker-manifest-digest': digest } } })

    const { layers } = await images.manifest(`${digest.replace(':', '-')}.att`)
    const statements = await Promise.all(
      layers.map(async (layer) => {
        const { payload, signatures } = JSON.parse((await images.blob(layer)).toString()) as Envelope
        const bytes = Buffer.from(payload, 'base64')
        const [{ sig } = { sig: '' }] = signatures
        expect(verify('sha256', preAuthenticationEncoding(bytes), key, Buffer.from(sig, 'base64'))).toBe(true)
        return JSON.parse(bytes.toString()) as Statement
      }),
    )
    expect(statements.map(({ predicateType }) => predicateType)).toEqual([
      'https://slsa.dev/provenance/v1',
      ...architectures.map(() => 'https://spdx.dev/Document'),
    ])
    for (const { subject } of statements) expect(subject[0]?.digest.sha256).toBe(digest.slice('sha256:'.length))
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
    expect(JSON.stringify(statements[0]?.predicate)).toContain(`"gitCommit":"${commit}"`)
  })
})

interface Envelope {
  readonly payload: string
  readonly signatures: readonly { readonly sig: string }[]
}

interface Statement {
  readonly predicateType: string
  readonly subject: readonly { readonly digest: { readonly sha256: string } }[]
  readonly predicate: object
}

describe('a build with invalid options', () => {
  it.each([
    [['--variant', 'slim'], "image: --variant: found 'slim'; expected a list of engine, injector, handler\n"],
    [['--platform', 'linux/amd64'], "image: --platform: found 'linux/amd64'; expected a list of amd64, arm64\n"],
    [
      ['--key', join(ROOT, 'package.json')],
      `image: --key: found no key in PEM format in ${join(ROOT, 'package.json')}\n`,
    ],
    [
      ['--push', 'registry'],
      "image: --push: found 'registry'; expected HOST/NAME, such as registry.example.com/team/pawl\n",
    ],
  ])('rejects %j with the option and the expected value', (args, message) => {
    const { status, stderr } = build('--out', join(work, 'invalid'), ...args)
    expect({ status, stderr }).toEqual({ status: 1, stderr: message })
  })
})
