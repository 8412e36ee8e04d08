// Tests that docs/concepts/architecture.md has a room for each module and exactly the rules that code cites.

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

const rooms = section(page, '## Rooms')
  .split('\n')
  .flatMap((line) => /^\| `([^`]+)` \|/.exec(line)?.[1] ?? [])
const rules = [...section(page, '## Rules').matchAll(/^### (.+)$/gm)].map(([, name]) => name ?? '')

const WINGS = new Set(
  sources
    .flatMap(({ path }) => /^workflows\/([^/]+)\/[^/]+\/kind\.ts$/.exec(path)?.[1] ?? [])
    .filter((name) => name !== 'kit'),
)
const FILE = '[^/]+$'

/** The narrowest room with the file. A room has all files below its folder, unless the folder has further rooms. */
function roomOf(path: string): string | undefined {
  const fitting = rooms.filter((room) => patternOf(room).test(path))
  return fitting.toSorted((left, right) => right.length - left.length)[0]
}

function patternOf(room: string): RegExp {
  const wings = `(?:${[...WINGS].join('|')})`
  const folder = room.replaceAll('<wing>', wings).replaceAll('<kind>', '[^/]+')
  // A room whose folder contains further rooms has only the files directly in the folder.
  const isDivided = rooms.some((other) => other !== room && other.startsWith(room))
  return new RegExp(`^${folder}${isDivided ? FILE : ''}`)
}

/** The rules that a text cites, such as `docs/concepts/architecture.md "Own writes"`. */
function cited(text: string): string[] {
  return [...text.matchAll(/docs\/concepts\/architecture\.md((?:,? (?:and )?"[^"]+"(?: \([^)]*\))?)+)/g)].flatMap(
    ([, names]) => [...(names ?? '').matchAll(/"([^"]+)"/g)].map(([, name]) => name ?? ''),
  )
}

describe('docs/concepts/architecture.md', () => {
  it('has a room for every module', () => {
    expect(sources.map(({ path }) => path).filter((path) => roomOf(path) === undefined)).toEqual([])
  })

  it('has no empty room', () => {
    const used = new Set(sources.map(({ path }) => roomOf(path)))
    expect(rooms.filter((room) => !used.has(room) && !existsSync(join(ROOT, room)))).toEqual([])
    expect(rooms.length).toBeGreaterThan(15)
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
  ])('finds the room of %s', (path, room) => {
    expect(roomOf(path)).toBe(room)
  })

  it('finds the cited headings', () => {
    expect(cited('// Source: docs/concepts/architecture.md "Own writes" (hold), "Journal"; spec "Other".')).toEqual([
      'Own writes',
      'Journal',
    ])
    expect(cited('// docs/concepts/architecture.md "A" and "B"')).toEqual(['A', 'B'])
  })
})
