// docs/reference/kit lists the exports of the kit, kit-plans.md its steps and outcomes.

import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'

import { drawPlan } from '../../worker/plans/draw-plan.ts'
import { kitPages } from '../../worker/gen/kit-pages.ts'
import { findPlans, planNamed } from '../../worker/plans/find-plans.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import * as combine from '../../workflows/kit/plan/combine.ts'
import * as kit from '../../workflows/kit/index.ts'
import * as outcome from '../../workflows/kit/plan/outcome.ts'
import * as step from '../../workflows/kit/plan/step.ts'
import { section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const guide = await readFile(`${ROOT}/docs/reference/kit-plans.md`, 'utf8')
const pages = await kitPages(ROOT)

describe('docs/reference/kit', () => {
  it('has the pages that `pawl gen` writes', async () => {
    for (const [path, text] of pages) expect(await readFile(`${ROOT}/${path}`, 'utf8'), path).toBe(text)
    expect((await readdir(`${ROOT}/docs/reference/kit`)).length).toBe(pages.size)
  })

  it('lists every export of the kit and its testing module', async () => {
    const lists = ['README', 'internal'].map((name) => pages.get(`docs/reference/kit/${name}.md`) ?? '').join('\n')
    const listed = [...lists.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    const sources = ['index.ts', 'testing/index.ts'].map((path) => readFile(`${ROOT}/workflows/kit/${path}`, 'utf8'))
    const exported = [...(await Promise.all(sources)).join('\n').matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
      .flatMap(([, names = '']) => names.split(','))
      .map((name) => name.trim())
      .filter((name) => name !== '')
    expect(exported.length).toBeGreaterThan(300)
    expect(exported.filter((name) => !listed.includes(name))).toEqual([])
    expect(Object.keys(kit).filter((name) => !listed.includes(name))).toEqual([])
  })

  it('shows the CRD schema of each field builder', () => {
    const fields = pages.get('docs/reference/kit/fields.md') ?? ''
    expect(fields).toContain('In the CRD: `type: integer, format: int64`.')
    expect(fields.match(/^In the CRD/gm)?.length).toBe(fields.match(/^## (?!required)/gm)?.length)
  })

  it('describes every export whose name is stable', () => {
    const undescribed = [...pages].flatMap(([path, text]) =>
      [...text.matchAll(/^## (\w+)\n\n```/gm)].map(([, name = '']) => `${path}: ${name}`),
    )
    expect(undescribed).toEqual([])
  })
})

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

  it('shows a drawing as the command draws it', async () => {
    const [, shown = ''] = /\$ pawl plan show exec\n([\s\S]*?)\n\.\.\.\n/.exec(guide) ?? []
    expect(shown.split('\n').length).toBeGreaterThan(5)
    expect(drawPlan(planNamed(await findPlans(builtInRegistry), 'exec'), 'text')).toContain(shown)
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
