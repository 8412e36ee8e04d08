// Tests that docs/concepts/architecture.md has a folder for each module and exactly the rules that code cites.

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { readModules } from '../architecture/source-module.ts'
import { section } from './markdown.ts'

const ROOT = join(import.meta.dirname, '../..')
const page = await readFile(join(ROOT, 'docs/concepts/architecture.md'), 'utf8')
const sources = await readModules(ROOT, ['workflows', 'activities', 'worker', 'migrations', 'examples'])
// This file is excluded, because it contains example citations.
const tests = (await readModules(ROOT, ['test'])).filter(({ path }) => !path.endsWith('docs/architecture.test.ts'))
const everything = [...sources, ...tests]

const folders = section(page, '## Folders')
  .split('\n')
  .flatMap((line) => /^\| `([^`]+)` \|/.exec(line)?.[1] ?? [])
const rules = [...section(page, '## Rules').matchAll(/^### (.+)$/gm)].map(([, name]) => name ?? '')

const WINGS = new Set(
  sources
    .flatMap(({ path }) => /^workflows\/([^/]+)\/[^/]+\/kind\.ts$/.exec(path)?.[1] ?? [])
    .filter((name) => name !== 'kit'),
)
const FILE = '[^/]+$'

/** The narrowest listed folder with the file. A folder has all files below it, unless it contains further listed folders. */
function folderOf(path: string): string | undefined {
  const fitting = folders.filter((folder) => patternOf(folder).test(path))
  return fitting.toSorted((left, right) => right.length - left.length)[0]
}

function patternOf(folder: string): RegExp {
  const wings = `(?:${[...WINGS].join('|')})`
  const prefix = folder.replaceAll('<wing>', wings).replaceAll('<kind>', '[^/]+')
  // A folder that contains further listed folders has only its direct files.
  const isDivided = folders.some((other) => other !== folder && other.startsWith(folder))
  return new RegExp(`^${prefix}${isDivided ? FILE : ''}`)
}

/** The rules that a text cites, such as `docs/concepts/architecture.md "Own writes"`. */
function cited(text: string): string[] {
  return [...text.matchAll(/docs\/concepts\/architecture\.md((?:,? (?:and )?"[^"]+"(?: \([^)]*\))?)+)/g)].flatMap(
    ([, names]) => [...(names ?? '').matchAll(/"([^"]+)"/g)].map(([, name]) => name ?? ''),
  )
}

describe('docs/concepts/architecture.md', () => {
  it('lists the folder of every module', () => {
    expect(sources.map(({ path }) => path).filter((path) => folderOf(path) === undefined)).toEqual([])
  })

  it('lists no empty folder', () => {
    const used = new Set(sources.map(({ path }) => folderOf(path)))
    expect(folders.filter((folder) => !used.has(folder) && !existsSync(join(ROOT, folder)))).toEqual([])
    expect(folders.length).toBeGreaterThan(15)
  })

  it('contains exactly the rules that code cites', () => {
    const names = new Set(everything.flatMap(({ text }) => cited(text)))
    expect([...names].filter((name) => !rules.includes(name))).toEqual([])
    expect(rules.filter((name) => !names.has(name))).toEqual([])
  })

  it('is the only design document that code cites', () => {
    const elsewhere = new RegExp('(?<!/)design\\.md')
    expect(everything.filter(({ text }) => elsewhere.test(text)).map(({ path }) => path)).toEqual([])
  })

  it('has fewer than 150 lines', () => {
    expect(page.split('\n').length).toBeLessThan(150)
  })
})

describe('the checker of docs/concepts/architecture.md', () => {
  it.each([
    ['workflows/kit/plan/step.ts', 'workflows/kit/plan/'],
    ['workflows/landscaper/contract.ts', 'workflows/<wing>/'],
    ['workflows/landscaper/execution/plan.ts', 'workflows/<wing>/<kind>/'],
    ['activities/journal/database.ts', 'activities/journal/'],
    ['activities/journal/write/jobs.ts', 'activities/journal/write/'],
    ['worker/bridge.ts', 'worker/'],
    ['worker/bridge/feed.ts', 'worker/bridge/'],
    ['workflows/nowing/x.ts', undefined],
    ['worker/elsewhere/x.ts', undefined],
  ])('finds the folder of %s', (path, folder) => {
    expect(folderOf(path)).toBe(folder)
  })

  it('finds the cited headings', () => {
    expect(cited('// Source: docs/concepts/architecture.md "Own writes" (hold), "Journal"; spec "Other".')).toEqual([
      'Own writes',
      'Journal',
    ])
    expect(cited('// docs/concepts/architecture.md "A" and "B"')).toEqual(['A', 'B'])
  })
})
