import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { LICENCE_PAGE, licencePage, licenceText, type LockedPackages } from '../../../worker/gen/licence-page.ts'
import { dependencyProblems, type Manifest } from '../../support/dependencies/dependency-problems.ts'

const ROOT = join(import.meta.dirname, '../../..')
const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
const INTEGRITY = 'sha512-abc'

describe('the page of licences', () => {
  it('is up to date', async () => {
    const page = (await licencePage(ROOT)).get(LICENCE_PAGE)
    expect(readFileSync(join(ROOT, LICENCE_PAGE), 'utf8')).toBe(page)
  })

  it('groups the packages of production by licence, each version once', () => {
    const text = licenceText({
      '': { version: '0.1.0' },
      'node_modules/b': { version: '1.0.0', license: 'MIT' },
      'node_modules/@a/a': { version: '2.0.0', license: 'MIT' },
      'node_modules/@a/a/node_modules/b': { version: '1.0.0', license: 'MIT' },
      'node_modules/alias': { name: 'c', version: '3.0.0', license: 'ISC' },
      'node_modules/tool': { version: '1.0.0', license: 'MPL-2.0', dev: true },
    })
    expect(text).toMatch(/\n\n## ISC\n\n`c@3\.0\.0`\.\n\n## MIT\n\n`@a\/a@2\.0\.0`, `b@1\.0\.0`\.\n$/)
    expect(text).not.toContain('tool')
  })

  it('cannot be generated for a package without a licence', () => {
    expect(() => licenceText({ 'node_modules/a': { version: '1.0.0' } })).toThrow(
      'package-lock.json: package "a@1.0.0": license is missing',
    )
  })
})

describe('the dependencies', () => {
  it.each(['.', 'site'])('in the folder %s are pinned and have permitted licences', (folder) => {
    const { packages } = read(`${folder}/package-lock.json`) as { readonly packages: LockedPackages }
    expect(Object.keys(packages).length).toBeGreaterThan(100)
    expect(dependencyProblems(read(`${folder}/package.json`) as Manifest, packages)).toEqual([])
  })

  it.each([
    [{ license: 'GPL-3.0' }, 'license: found "GPL-3.0", expected one of 0BSD'],
    [{ license: 'MIT AND GPL-3.0' }, 'license: found "MIT AND GPL-3.0", expected one of 0BSD'],
    [{ license: 'MPL-2.0' }, 'license: found "MPL-2.0", expected one of 0BSD'],
    [{ integrity: '' }, 'integrity: found "", expected a SHA-512'],
    [
      { resolved: 'https://registry.example.com/a.tgz' },
      'resolved: found "https://registry.example.com/a.tgz", expected no download address',
    ],
    [{ hasInstallScript: true as const }, 'hasInstallScript: found true, expected allowScripts.a in package.json'],
  ])('are refused with %j', (change, problem) => {
    const packages = { 'node_modules/a': { version: '1.0.0', license: 'MIT', integrity: INTEGRITY, ...change } }
    expect(dependencyProblems({}, packages)).toEqual([
      expect.stringContaining(`package-lock.json: node_modules/a: ${problem}`) as string,
    ])
  })

  it('may have the licence MPL-2.0 if only development needs them', () => {
    const tool = { version: '1.0.0', license: 'MPL-2.0', integrity: INTEGRITY, dev: true as const }
    expect(dependencyProblems({}, { 'node_modules/tool': tool })).toEqual([])
  })

  it.each(['^1.2.3', '~1.2.3', '1.x', '>=1.2.3', 'latest', 'git+https://example.com/a.git'])(
    'are refused with the version %s',
    (version) => {
      expect(dependencyProblems({ devDependencies: { a: version } }, {})).toEqual([
        `package.json: devDependencies.a: found "${version}", expected an exact version`,
      ])
    },
  )
})
