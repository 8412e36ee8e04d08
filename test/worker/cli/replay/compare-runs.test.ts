import { describe, expect, it } from 'vitest'

import type { ReplayEntry, Subject } from '../../../../workflows/kit/index.ts'
import { changedFields, compare } from '../../../../worker/cli/replay/compare-runs.ts'
import { writesOfCall } from '../../../../worker/cli/replay/compare-builds.ts'
import type { Recording } from '../../../../worker/cli/replay/record.ts'

describe('the comparison of two builds', () => {
  it('finds no difference for equal decisions and calls', () => {
    expect(
      compare(
        ran(pass(1, observe(), step('send'), settle('Done'))),
        ran(pass(1, observe(), step('send'), settle('Done'))),
      ),
    ).toEqual({ workflowId: 'w', verdict: 'same', differences: [] })
  })

  it('finds a different decision that leads to the same calls', () => {
    const { verdict, differences } = compare(
      ran(pass(1, step('send'), step('wait'), settle('Done'))),
      ran(pass(1, step('send', 'stops: waits'), settle('Done'))),
    )
    expect(verdict).toBe('differs')
    expect(differences).toEqual([
      {
        pass: 1,
        kind: 'decision',
        name: 'send',
        object: 'Widget default/one',
        how: 'other',
        changes: [{ field: 'said', from: 'done', to: 'stops: waits' }],
      },
      { pass: 1, kind: 'decision', name: 'wait', object: 'Widget default/one', how: 'less', changes: [] },
    ])
  })

  it('finds different inputs of a write, field by field', () => {
    const { differences } = compare(ran(pass(1, settle('Done'))), ran(pass(1, settle('Failed'))))
    expect(differences).toEqual([
      {
        pass: 1,
        kind: 'write',
        name: 'settle',
        object: 'Widget default/one',
        how: 'other',
        changes: [{ field: 'change.phase', from: 'Done', to: 'Failed' }],
      },
    ])
  })

  it('compares pass by pass, and reports a pass of one build as a whole', () => {
    const { differences } = compare(
      ran([...pass(1, observe(), settle('Wait')), ...pass(2, observe(), settle('Done'))]),
      ran(pass(1, observe(), settle('Wait'))),
    )
    expect(differences.map(({ pass: of, name, how }) => [of, name, how])).toEqual([
      [2, 'plan of phase -', 'less'],
      [2, 'observeWidget', 'less'],
      [2, 'settle', 'less'],
    ])
  })

  it('aligns both builds again after a step of one build', () => {
    const { differences } = compare(
      ran(pass(1, step('a'), step('b'), step('c'))),
      ran(pass(1, step('x'), step('b'), step('c'))),
    )
    expect(differences.map(({ name, how }) => [name, how])).toEqual([
      ['x', 'more'],
      ['a', 'less'],
    ])
  })

  it('stops at the first different call, because later calls got wrong answers', () => {
    const { verdict, differences, error } = compare(
      ran(pass(1, observe(), step('begin'), call('guardWidget'), step('guard'), settle('Done'))),
      ran(pass(1, observe(), observe(), call('endRun'), step('none')), 'another marker'),
    )
    expect({ verdict, error }).toEqual({ verdict: 'parts', error: 'another marker' })
    expect(differences.map(({ name, kind, how }) => [name, kind, how])).toEqual([
      ['observeWidget', 'look', 'more'],
      ['guardWidget', 'write', 'less'],
    ])
  })

  it('stops where the other build throws, before the next call of this build', () => {
    const { differences } = compare(
      ran(pass(1, observe(), step('begin'), call('guardWidget'), settle('Done'))),
      ran(pass(1, observe(), step('begin', 'threw TypeError: x is not there')), 'x is not there'),
    )
    expect(differences.map(({ name, how }) => [name, how])).toEqual([
      ['begin', 'other'],
      ['guardWidget', 'less'],
    ])
  })

  it('is not possible if this build cannot replay the run', () => {
    expect(compare(ran(pass(1), 'another marker'), ran(pass(1)))).toEqual({
      workflowId: 'w',
      verdict: 'unknown',
      differences: [],
      error: 'another marker',
    })
  })

  it('uses calls only if one build does not record passes and plans', () => {
    const old = pass(1, observe(), settle('Failed')).filter(({ told }) => told !== 'pass')
    const { verdict, differences } = compare(ran(pass(1, observe(), step('send'), settle('Done'))), ran(old))
    expect(verdict).toBe('differs')
    expect(differences.map(({ pass: of, kind, how }) => [of, kind, how])).toEqual([[1, 'write', 'other']])
  })
})

describe('the changed fields of two inputs', () => {
  it.each([
    [{ a: 1, b: { c: [1, { d: 2 }] } }, { a: 1, b: { c: [1, { d: 3 }] } }, [{ field: 'b.c[1].d', from: 2, to: 3 }]],
    [
      { a: 1 },
      { b: null },
      [
        { field: 'a', from: 1, to: undefined },
        { field: 'b', from: undefined, to: null },
      ],
    ],
    [{ a: [1] }, { a: [1, 2] }, [{ field: 'a', from: [1], to: [1, 2] }]],
    ['x', { y: 1 }, [{ field: '', from: 'x', to: { y: 1 } }]],
    [undefined, undefined, []],
  ])('%j and %j', (from, to, changes) => {
    expect(changedFields(from, to)).toEqual(changes)
  })
})

describe('the recorded writes of a different call', () => {
  const write = { pass: 2, step: 'settle', object: 'Widget/default/one', verb: 'patchStatus' }
  const differs = { pass: 2, kind: 'write', name: 'settle', object: undefined, how: 'other', changes: [] } as const

  it('are found by pass and step name', () => {
    expect(writesOfCall(differs, [write, { ...write, pass: 1 }, { ...write, step: 'other' }])).toEqual([
      'patchStatus Widget/default/one',
    ])
    expect(writesOfCall({ ...differs, name: 'applyLevel' }, [{ ...write, step: 'apply', verb: 'apply' }])).toHaveLength(
      1,
    )
  })

  it('are empty if only the other build makes the call', () => {
    expect(writesOfCall({ ...differs, how: 'more' }, [write])).toEqual([])
  })
})

const WIDGET: Subject = { kind: 'Widget', uid: 'u', namespace: 'default', name: 'one' }
type Entry = (number: number) => readonly ReplayEntry[]

function ran(entries: readonly ReplayEntry[], error?: string): Recording {
  return { workflowId: 'w', entries, ...(error !== undefined && { error }) }
}

function pass(number: number, ...told: readonly Entry[]): readonly ReplayEntry[] {
  const at = { atMs: 0 }
  const plan = { ...at, told: 'plan', plan: 1, subject: WIDGET } as const
  return [{ ...at, told: 'pass', pass: number, isOutside: true }, plan, ...told.flatMap((one) => one(number))]
}

let calls = 0

function call(name: string, input: object = {}): Entry {
  return (number) => {
    const id = ++calls
    const given = { subject: WIDGET, pass: number, ...input }
    return [
      { atMs: 0, told: 'call', call: id, name, isLocal: true, input: given },
      { atMs: 0, told: 'answer', call: id, result: {} },
    ]
  }
}

function observe(): Entry {
  return call('observeWidget')
}

function settle(phase: string): Entry {
  return call('settle', { change: { phase } })
}

function step(name: string, said = 'done'): Entry {
  return () => [
    { atMs: 0, told: 'step', plan: 1, name, isLeaf: true },
    { atMs: 0, told: 'stepped', plan: 1, name, isLeaf: true, said },
  ]
}
