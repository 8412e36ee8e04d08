// `npm run docs` builds the site of docs/ and serves it on this machine. `--build` only builds it. `--check` builds it
// and fails if a link is broken or a page loads an asset from another host. `--versions` also builds the releases.
// `--base /PATH/` is the path of the site on the host that you copy it to. `--port PORT` is the local port.

import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

import { checkSite, POLICY } from './check.ts'
import { llmsText } from './llms-text.ts'
import { readIndex, readMap } from './map.ts'
import { titleOf } from './markdown.ts'
import { pageOf, writePages } from './pages.ts'
import { serve } from './serve.ts'
import { releasesOf, writeRelease } from './versions.ts'

const SITE = import.meta.dirname
const ROOT = dirname(SITE)
const PAGES = join(SITE, 'dist', 'pages')
const HTML = join(SITE, 'dist', 'html')
const GENERATOR = join(SITE, 'node_modules', 'vitepress', 'bin', 'vitepress.js')

const { values } = parseArgs({
  options: {
    build: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    versions: { type: 'boolean', default: false },
    base: { type: 'string', default: '/' },
    port: { type: 'string', default: '0' },
  },
})

const releases = values.versions ? releasesOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')) : []

installGenerator()
buildAll(values.base)
if (values.check) check(values.base)
if (!values.build && !values.check) await serve(HTML, values.base, Number(values.port))

/** Installs the packages of site/package-lock.json unless the generator has the locked version. */
function installGenerator(): void {
  const read = (path: string) => JSON.parse(readFileSync(join(SITE, path), 'utf8')) as { version?: string }
  const { packages } = read('package-lock.json') as { packages: Record<string, { version: string }> }
  const wanted = packages['node_modules/vitepress']?.version
  if (existsSync(GENERATOR) && read('node_modules/vitepress/package.json').version === wanted) return
  process.stdout.write('installing the generator of the site (npm ci in site/)\n')
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
}

/** Builds the pages of this checkout as the version `next` at the base, and each release in a folder of its number. */
function buildAll(base: string): void {
  rmSync(join(SITE, 'dist'), { recursive: true, force: true })
  const versions = ['next', ...releases].map((version) => ({
    version,
    path: version === 'next' ? base : `${base}${version}/`,
  }))
  for (const { version, path } of versions) {
    const root = version === 'next' ? ROOT : join(SITE, 'dist', 'releases', version)
    if (version !== 'next') writeRelease(ROOT, version, root)
    build(root, version === 'next' ? HTML : join(HTML, version), { base: path, version, versions })
  }
  writeFileSync(join(HTML, 'versions.json'), `${JSON.stringify(versions, null, 2)}\n`)
}

function build(root: string, html: string, settings: { base: string; version: string; versions: unknown }): void {
  rmSync(PAGES, { recursive: true, force: true })
  const pages = writePages(root, PAGES)
  const readPage = (path: string) => readFileSync(join(root, 'docs', path), 'utf8')
  const map = readMap(readPage('README.md'))
  const titles = Object.fromEntries(pages.map((path) => [path, titleOf(readPage(path))]))
  const indexes = Object.fromEntries(pages.map((path) => [path, readIndex(path, readPage(path))]))
  writeFileSync(
    join(SITE, 'dist', 'site.json'),
    JSON.stringify({ ...settings, html, map, titles, indexes, policy: POLICY }),
  )
  run(process.execPath, [GENERATOR, 'build', SITE])
  // Programs read the pages as Markdown.
  for (const path of pages.map((page) => pageOf(root, `docs/${page}`)))
    copyFileSync(join(PAGES, path), join(html, path))
  writeFileSync(join(html, 'llms.txt'), llmsText(map, readPage, settings.base))
  process.stdout.write(`built ${pages.length} pages of version ${settings.version} in ${html}\n`)
}

function check(base: string): void {
  const problems = checkSite(HTML, base)
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  if (problems.length > 0) process.exit(1)
  process.stdout.write('all links are valid, and no page loads anything from another host\n')
}

function run(command: string, args: readonly string[]): void {
  mkdirSync(join(SITE, 'dist'), { recursive: true })
  const { status, error } = spawnSync(command, args, { cwd: SITE, stdio: 'inherit' })
  if (error !== undefined) throw error
  if (status !== 0) process.exit(status ?? 1)
}
