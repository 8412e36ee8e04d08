import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

import { drawPlan } from '../../worker/plans/draw-plan.ts'
import { findPlans, planNamed } from '../../worker/plans/find-plans.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import * as combine from '../../workflows/kit/plan/combine.ts'
import * as kit from '../../workflows/kit/index.ts'
import * as outcome from '../../workflows/kit/plan/outcome.ts'
import * as step from '../../workflows/kit/plan/step.ts'
import { section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(`${ROOT}/docs/kit.md`, 'utf8')

// Functions, types and the defer idiom, as the RFC names them.
const RFC_STEPS = [
  'ReconcileAction',
  'WrapAction',
  'Join',
  'ParallelJoin',
  'JoinOrdered',
  'Sequential',
  'Timeout',
  'If',
  'defer',
]
const RFC_OUTCOMES = [
  'RequeueImmediately',
  'RequeueAfter',
  'RequeueIfError',
  'NoRequeue',
  'Exit',
  'ErrExit',
  'IgnoreExit',
]
const RFC_HOOKS = ['ControllerManagerActionLifeCycleHook', 'BeforeActionRun', 'AfterActionRun']

describe('the page on the kit', () => {
  const steps = rows(section(page, '## Steps'))
  const outcomes = rows(section(page, '## Outcomes'))

  it('has every combinator and leaf, and none that is not there', () => {
    const otherExports = ['runStep', 'checkedPlan', 'leaves', 'lastAction', 'lastStep', 'hooksOf']
    const expected = [...Object.keys(combine), ...Object.keys(step).filter((name) => !otherExports.includes(name))]
    expect(names(steps)).toEqual(expected.sort())
  })

  it('has every maker of outcomes, and none that is not there', () => {
    expect(names(outcomes)).toEqual(
      Object.keys(outcome)
        .filter((name) => !['interrupts', 'isDone', 'wishedMs'].includes(name))
        .sort(),
    )
  })

  it('has every name of the RFC', () => {
    expect(rfcNames(steps)).toEqual(RFC_STEPS.sort())
    expect(rfcNames(outcomes)).toEqual(RFC_OUTCOMES.sort())
    expect(rfcNames(rows(section(page, '## Hooks')))).toEqual(RFC_HOOKS.sort())
  })

  it('names nothing that the kit does not export', () => {
    expect(names([...steps, ...outcomes]).filter((name) => !(name in kit))).toEqual([])
  })

  it('shows a drawing as the command draws it', () => {
    const [, shown = ''] = /\$ pawl plan show exec\n([\s\S]*?)\n\.\.\.\n/.exec(page) ?? []
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
