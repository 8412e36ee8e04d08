// Builds all artefacts of a release in dist: `npm run release -- --help`.
//
// R1. A release is built from a commit only: the checkout is clean, its generated files are current, its versions agree.
// R2. The same commit gives the same bytes.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import { readYaml } from '../../activities/yaml/read-yaml.ts'
import { type Artefact, describeArtefact, imageTags, joinManifests, packChart, writeChecksums } from './artefacts.ts'
import { changelogSection, versionProblems, type VersionedFiles } from './versions.ts'

const HELP = `Usage: npm run release -- --dry-run [options]

Checks versions, changelog and checkout, builds all artefacts in dist, and prints their checksums. Publishes nothing.

  --dry-run            required, because publishing is not configured
  --skip-image         does not build the images, which takes minutes
  --key FILE           signs the images with this key, as npm run image does
  --krew-url URL       also builds the krew plugin, whose manifest names the archive below URL
`
const ROOT = resolve(import.meta.dirname, '../..')
const OUT = join(ROOT, 'dist')

const { values: flags } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    'skip-image': { type: 'boolean', default: false },
    key: { type: 'string' },
    'krew-url': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (flags.help) process.stdout.write(HELP)
else
  await main().catch((error: unknown) => {
    for (const line of (error instanceof Error ? error.message : String(error)).split('\n')) process.stderr.write(`release: ${line}\n`)
    process.exitCode = 1
  })

async function main(): Promise<void> {
  const files = readVersions()
  const { version } = files
  const npmPackage = `pawl-${version}.tgz`
  const chart = `chart/pawl-${version}.tgz`
  if (!flags['dry-run']) throw new Error(publishing(npmPackage, chart))
  check(files)
  print(`version: ${version}`)
  print(`commit: ${git('rev-parse', 'HEAD')}`)
  print(`changelog:\n\n${changelogSection(files.changelog, version) ?? ''}\n`)
  // Files of a build before would be in no list of checksums.
  for (const name of [npmPackage, 'chart', 'crds', 'krew', 'SHA256SUMS', ...(flags['skip-image'] ? [] : ['image'])])
    rmSync(join(OUT, name), { recursive: true, force: true })
  mkdirSync(OUT, { recursive: true })
  run('deploy/package/build.ts', OUT)
  await packChart(join(ROOT, 'deploy/chart'), join(OUT, chart), { name: 'pawl', time: Number(git('log', '-1', '--format=%ct')) })
  const artefacts = [describeArtefact(OUT, 'npm package', npmPackage), describeArtefact(OUT, 'chart', chart), ...buildCrds()]
  artefacts.push(...buildKrew(), ...buildImages(npmPackage))
  writeChecksums(OUT, artefacts)
  for (const { name, file, size, sha256 } of artefacts) print(`${name}: dist/${file}, ${size} bytes, sha256 ${sha256}`)
  print('checksums: dist/SHA256SUMS\nnothing is published')
}

function publishing(npmPackage: string, chart: string): string {
  return `publishing is not configured: the project has no account at npm and no registry
build with: npm run release -- --dry-run
publish with your accounts:
  npm publish dist/${npmPackage}
  npm run image -- --push HOST/NAME
  helm push dist/${chart} oci://HOST/NAME`
}

function readVersions(): VersionedFiles {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
  const { version } = JSON.parse(read('package.json')) as { readonly version: string }
  const { version: locked } = JSON.parse(read('package-lock.json')) as { readonly version: string }
  return { version, locked, chart: readYaml(read('deploy/chart/Chart.yaml')) as VersionedFiles['chart'], changelog: read('CHANGELOG.md') }
}

/** @throws Error with a line for each problem (R1). */
function check(files: VersionedFiles): void {
  const problems = [...versionProblems(files)]
  const changed = git('status', '--porcelain').split('\n').filter((line) => line !== '')
  if (changed.length > 0)
    problems.push(`checkout: found ${changed.length} changed files, such as ${changed[0]?.slice(2).trim() ?? ''}, expected none; commit or remove them`)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['worker/pawl.js', 'gen', '--check'], { cwd: ROOT, encoding: 'utf8' })
  if (status !== 0) throw new Error(`generated files are not current:\n${`${stdout}${stderr}`.trimEnd()}`)
}

function buildCrds(): readonly Artefact[] {
  return readdirSync(join(ROOT, 'deploy/crds')).map((wing) => {
    joinManifests(join(ROOT, 'deploy/crds', wing), join(OUT, 'crds', `${wing}.yaml`))
    return describeArtefact(OUT, `CRDs of ${wing}`, `crds/${wing}.yaml`)
  })
}

function buildKrew(): readonly Artefact[] {
  const url = flags['krew-url']
  if (url === undefined) {
    print('krew plugin: not built; give --krew-url to build it')
    return []
  }
  run('deploy/krew/build.ts', join(OUT, 'krew'), url)
  return readdirSync(join(OUT, 'krew')).sort().map((file) => describeArtefact(OUT, 'krew plugin', `krew/${file}`))
}

function buildImages(npmPackage: string): readonly Artefact[] {
  if (flags['skip-image']) {
    print('images: not built, because of --skip-image')
    return []
  }
  const key = flags.key === undefined ? [] : ['--key', resolve(flags.key)]
  run('deploy/image/build.ts', '--out', join(OUT, 'image'), '--package', join(OUT, npmPackage), ...key)
  for (const [tag, digest] of imageTags(join(OUT, 'image'))) print(`image: dist/image, tag ${tag}, ${digest}`)
  // The index has the digests of all images, and these the digests of all their files.
  return [describeArtefact(OUT, 'index of images', 'image/index.json')]
}

/** Runs a build of this checkout. Its messages go to standard error. */
function run(script: string, ...args: readonly string[]): void {
  execFileSync(process.execPath, [join(ROOT, script), ...args], { cwd: ROOT, stdio: ['ignore', process.stderr, 'inherit'] })
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
