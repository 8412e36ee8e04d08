// The release program, in a copy of the checkout with one commit. Images have tests of their own (image.test.ts).

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { changelogSection, versionProblems } from '../../deploy/release/versions.ts'
import { PAWL_VERSION } from '../../worker/server/version.ts'

const ROOT = join(import.meta.dirname, '../..')
const NOT_COPIED = /^(?:(?:.*\/)?node_modules|\.git|dist|coverage|\.pawl)$/
const CHART = 'deploy/chart/Chart.yaml'

describe('the versions of a release', () => {
  const changelog = '# Changelog\n\n## 1.2.3\n\n- New.\n\n### Kit\n\n- Newer.\n\n## [1.2.2] - 2026-01-01\n\n- Old.\n'
  const files = { version: '1.2.3', locked: '1.2.3', chart: { version: '1.2.3', appVersion: '1.2.3' }, changelog }

  it('may be the same everywhere', () => {
    expect(versionProblems(files)).toEqual([])
  })

  it.each([
    [{ locked: '1.2.2' }, 'package-lock.json: version: found "1.2.2", expected "1.2.3" as in package.json'],
    [
      { chart: { version: '1.2.2', appVersion: '1.2.3' } },
      'deploy/chart/Chart.yaml: version: found "1.2.2", expected "1.2.3" as in package.json',
    ],
    [
      { chart: { version: '1.2.3', appVersion: '1.3' } },
      'deploy/chart/Chart.yaml: appVersion: found "1.3", expected "1.2.3" as in package.json',
    ],
    [
      { changelog: '## 1.2.30\n\n- New.\n\n## [1.2.2]\n' },
      'CHANGELOG.md: found sections of 1.2.30, 1.2.2, expected a section "## 1.2.3" with text',
    ],
    [
      { changelog: '## 1.2.3\n\n## 1.2.2\n\n- Old.\n' },
      'CHANGELOG.md: found sections of 1.2.3, 1.2.2, expected a section "## 1.2.3" with text',
    ],
    [{ changelog: '' }, 'CHANGELOG.md: found no sections, expected a section "## 1.2.3" with text'],
  ])('are refused with %j', (change, problem) => {
    expect(versionProblems({ ...files, ...change })).toEqual([problem])
  })

  it('have a section of the changelog that ends at the next version', () => {
    expect(changelogSection(changelog, '1.2.3')).toBe('- New.\n\n### Kit\n\n- Newer.')
    expect(changelogSection(changelog, '1.2.2')).toBe('- Old.')
  })
})

describe('the release of a checkout', () => {
  let checkout: string
  let built: Result

  beforeAll(() => {
    checkout = mkdtempSync(join(tmpdir(), 'pawl-release-test-'))
    cpSync(ROOT, checkout, { recursive: true, filter: (path) => !NOT_COPIED.test(relative(ROOT, path)) })
    symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
    git('init', '--quiet')
    // The pattern of .gitignore does not match a symbolic link.
    writeFileSync(join(checkout, '.git/info/exclude'), 'node_modules\n')
    commit()
    built = release('--dry-run', '--skip-image')
  }, 180_000)
  afterAll(() => {
    rmSync(checkout, { recursive: true })
  }, 60_000)

  interface Result {
    readonly status: number | null
    readonly stdout: string
    readonly stderr: string
  }

  function release(...args: readonly string[]): Result {
    const script = join(checkout, 'deploy/release/build.ts')
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
      cwd: tmpdir(),
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  }

  function git(...args: readonly string[]): void {
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test', ...args], { cwd: checkout })
  }

  function commit(): void {
    git('add', '--all')
    git('commit', '--quiet', '--message', 'release')
  }

  const sums = () => readFileSync(join(checkout, 'dist/SHA256SUMS'), 'utf8')

  it('prints version, changelog, and file, size and checksum of each artefact', () => {
    expect(built.status).toBe(0)
    const changes = changelogSection(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), PAWL_VERSION) ?? 'missing'
    expect(built.stdout).toContain(`version: ${PAWL_VERSION}\n`)
    expect(built.stdout).toContain(`changelog:\n\n${changes}\n`)
    expect(built.stdout).toContain('images: not built, because of --skip-image\n')
    const lines = built.stdout.split('\n').filter((line) => line.includes('sha256'))
    const printed = lines.map((line) => /^(.+): dist\/(\S+), (\d+) bytes, sha256 ([0-9a-f]{64})$/.exec(line)?.slice(1))
    expect(printed.map((parts) => parts?.slice(0, 2))).toEqual([
      ['npm package', `pawl-${PAWL_VERSION}.tgz`],
      ['chart', `chart/pawl-${PAWL_VERSION}.tgz`],
      ['CRDs of chaos', 'crds/chaos.yaml'],
      ['CRDs of foundationdb', 'crds/foundationdb.yaml'],
      ['CRDs of landscaper', 'crds/landscaper.yaml'],
    ])
    for (const parts of printed)
      expect(readFileSync(join(checkout, 'dist', parts?.[1] ?? ''))).toHaveLength(Number(parts?.[2]))
    expect(sums()).toBe(printed.map((parts) => `${parts?.[3] ?? ''}  ${parts?.[1] ?? ''}\n`).join(''))
  })

  it('writes checksums that sha256sum verifies', () => {
    const dist = join(checkout, 'dist')
    const verify = () => spawnSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: dist }).status
    expect(verify()).toBe(0)
    const file = join(dist, 'crds/chaos.yaml')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, `${text}#`)
    expect(verify()).toBe(1)
    writeFileSync(file, text)
  })

  it('packs the chart in the folder that Helm expects, and each CRD once', () => {
    const archive = join(checkout, `dist/chart/pawl-${PAWL_VERSION}.tgz`)
    const paths = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).split('\n')
    expect(paths).toEqual(expect.arrayContaining(['pawl/Chart.yaml', 'pawl/values.yaml', 'pawl/templates/worker.yaml']))
    const documents = parseAllDocuments(readFileSync(join(checkout, 'dist/crds/chaos.yaml'), 'utf8'))
    const names = documents.map((one) => (one.toJS() as { readonly metadata: { readonly name: string } }).metadata.name)
    expect(names).toEqual(
      ['disruptioncrons', 'disruptionrollouts', 'disruptions'].map((name) => `${name}.chaos.datadoghq.com`),
    )
  })

  it('is refused without --dry-run, with the commands that publish', () => {
    const { status, stdout, stderr } = release()
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(
      /^release: publishing is not configured: the project has no account at npm and no registry\n/,
    )
    expect(stderr).toContain(`npm publish dist/pawl-${PAWL_VERSION}.tgz\n`)
  })

  it('is refused for changed files and different versions', () => {
    const chart = join(checkout, CHART)
    writeFileSync(chart, readFileSync(chart, 'utf8').replace(/^version: .*/m, 'version: 9.9.9'))
    const { status, stderr } = release('--dry-run', '--skip-image')
    expect(status).toBe(1)
    expect(stderr).toBe(
      `release: ${CHART}: version: found "9.9.9", expected "${PAWL_VERSION}" as in package.json\n` +
        `release: checkout: found 1 changed files, such as ${CHART}, expected none; commit or remove them\n`,
    )
    git('checkout', '--quiet', CHART)
  })

  it('is refused for a generated file that is not current', () => {
    const crd = join(checkout, 'deploy/crds/chaos/chaos.datadoghq.com_disruptions.yaml')
    writeFileSync(crd, `${readFileSync(crd, 'utf8')}# edited\n`)
    commit()
    const { status, stderr } = release('--dry-run', '--skip-image')
    expect(status).toBe(1)
    expect(stderr).toMatch(
      /generated files are not current:\nrelease: stale: deploy\/crds\/chaos\/chaos\.datadoghq\.com_disruptions\.yaml/,
    )
  }, 60_000)
})
