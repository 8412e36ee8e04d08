// docs/reference/kit-plans.md and docs/reference/kit-exports.md list the exports of the kit.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

import { drawPlan } from '../../worker/plans/draw-plan.ts'
import { findPlans, planNamed } from '../../worker/plans/find-plans.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import * as combine from '../../workflows/kit/plan/combine.ts'
import * as kit from '../../workflows/kit/index.ts'
import * as outcome from '../../workflows/kit/plan/outcome.ts'
import * as step from '../../workflows/kit/plan/step.ts'
import type { Field } from '../../workflows/kit/index.ts'
import { section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(`${ROOT}/docs/reference/kit-exports.md`, 'utf8')
const guide = await readFile(`${ROOT}/docs/reference/kit-plans.md`, 'utf8')
const source = await readFile(`${ROOT}/workflows/kit/index.ts`, 'utf8')

/** Values and types, as the module spells them out. */
const exported = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = '']) =>
  names.split(',').flatMap((name) => /\w+/.exec(name) ?? []),
)

const testing = await readFile(`${ROOT}/workflows/kit/testing/index.ts`, 'utf8')
const ofTests = section(page, '## Tests')

/** The code words in the first column of the tables that explain exports. */
const documented = page
  .replace(ofTests, '')
  .split('\n')
  .filter((line) => line.startsWith('| `') && !fieldLines().includes(line))
  .flatMap((line) => [...(line.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name))

const BUILDERS: Readonly<Record<string, Field>> = {
  text: kit.text('x'),
  oneOf: kit.oneOf('x', ['a', 'b']),
  timestamp: kit.timestamp('x'),
  bytes: kit.bytes('x'),
  integer: kit.integer('x'),
  int64: kit.int64('x'),
  decimal: kit.decimal('x'),
  intOrString: kit.intOrString('x'),
  flag: kit.flag('x'),
  list: kit.list('x', kit.text('y')),
  mapOf: kit.mapOf('x', kit.text('y')),
  record: kit.record('x', {}),
  anyJson: kit.anyJson('x'),
  anyMap: kit.anyMap('x'),
  embedded: kit.embedded('x'),
}

describe('docs/reference/kit-exports.md', () => {
  it('lists every export of the kit once, and no other name', () => {
    expect([...documented].sort()).toEqual([...exported].sort())
    expect(Object.keys(kit).filter((name) => !documented.includes(name))).toEqual([])
  })

  it('lists every export of the testing module', () => {
    const names = [...testing.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) => list.split(','))
    const words = [...ofTests.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    const own = names.map((name) => name.trim()).filter((name) => !exported.includes(name))
    expect(own.length).toBeGreaterThan(5)
    expect(own.filter((name) => !words.includes(name))).toEqual([])
  })

  it('lists every field of a kind definition', () => {
    const optional = { selectableFields: [], scope: 'Namespaced', versions: [], rules: [] } as const
    const definition = Object.keys(kit.defineKind({ ...installationKind, ...optional }))
    const listed = fieldLines().flatMap((line) => [...(line.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)])
    expect(listed.map(([, name]) => name).sort()).toEqual(definition.filter((name) => name !== 'apiVersion').sort())
  })

  it('shows the CRD schema of each field builder', () => {
    for (const [name, { schema }] of Object.entries(BUILDERS)) {
      const [, documented] = new RegExp(`^\\| \`${name}\` \\| \`([^\`]+)\` \\|`, 'm').exec(page) ?? []
      const plain = Object.entries(schema).filter(([key, value]) => key !== 'description' && isPlain(value))
      expect([name, documented]).toEqual([name, plain.map(([key, value]) => `${key}: ${String(value)}`).join(', ')])
    }
  })
})

/** The lines of the table of `defineKind`. */
function fieldLines(): readonly string[] {
  const [, table = ''] = /\| field \| meaning \|\n[^\n]*\n((?:\|[^\n]*\n)+)/.exec(section(page, '## Kinds')) ?? []
  return table.split('\n').filter((line) => line !== '')
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || (Array.isArray(value) && value.every((item) => typeof item === 'string'))
}

// Functions, types and the defer idiom, as the RFC names them.
const RFC = {
  steps: 'ReconcileAction WrapAction Join ParallelJoin JoinOrdered Sequential Timeout If defer',
  outcomes: 'RequeueImmediately RequeueAfter RequeueIfError NoRequeue Exit ErrExit IgnoreExit',
  hooks: 'ControllerManagerActionLifeCycleHook BeforeActionRun AfterActionRun',
}

describe('docs/reference/kit-plans.md', () => {
  const steps = rows(section(guide, '## Steps'))
  const outcomes = rows(section(guide, '## Outcomes'))

  it('has every combinator and leaf, and none that is not there', () => {
    const otherExports = ['runStep', 'throwingStep', 'checkedPlan', 'leaves', 'lastAction', 'lastStep', 'hooksOf']
    const expected = [...Object.keys(combine), ...Object.keys(step).filter((name) => !otherExports.includes(name))]
    expect(names(steps)).toEqual(expected.sort())
    expect(names([...steps, ...outcomes]).filter((name) => !(name in kit))).toEqual([])
  })

  it('has every maker of outcomes, and none that is not there', () => {
    expect(names(outcomes)).toEqual(
      Object.keys(outcome)
        .filter((name) => !['interrupts', 'isDone', 'wishedMs'].includes(name))
        .sort(),
    )
  })

  it('has every name of the RFC', () => {
    const hooks = rows(section(guide, '## Hooks'))
    for (const [table, expected] of [
      [steps, RFC.steps] as const,
      [outcomes, RFC.outcomes] as const,
      [hooks, RFC.hooks] as const,
    ])
      expect(rfcNames(table)).toEqual(expected.split(' ').sort())
  })

  it('shows a drawing as the command draws it', () => {
    const [, shown = ''] = /\$ pawl plan show exec\n([\s\S]*?)\n\.\.\.\n/.exec(guide) ?? []
    expect(shown.split('\n').length).toBeGreaterThan(5)
    expect(drawPlan(planNamed(findPlans(builtInRegistry), 'exec'), 'text')).toContain(shown)
  })
})

interface Row {
  readonly rfc: string
  readonly ours: string
}

/** The first two columns, without the head. */
function rows(text: string): readonly Row[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, rfc = '', ours = '']) => ({ rfc, ours }))
}

function names(table: readonly Row[]): readonly string[] {
  return [...new Set(table.map(({ ours }) => /^`(\w+)/.exec(ours)?.[1] ?? ours))].sort()
}

function rfcNames(table: readonly Row[]): readonly string[] {
  return table.flatMap(({ rfc }) => [...rfc.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)).sort()
}
