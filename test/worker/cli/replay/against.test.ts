// The comparison of the runs of two builds, and the verdict about the other build. test/replay/gate.test.ts compares builds
// on recorded runs.

import { describe, expect, it } from 'vitest'

import type { ReplayEntry, Subject } from '../../../../workflows/kit/index.ts'
import { plainPaint } from '../../../../worker/cli/query/format.ts'
import {
  exitCodeOf,
  type Trial,
  verdictOf,
  verdictText,
  writesOfCall,
} from '../../../../worker/cli/replay/compare-builds.ts'
import { changedFields, compare, type Comparison, type Difference } from '../../../../worker/cli/replay/compare-runs.ts'
import type { Recording } from '../../../../worker/cli/replay/record.ts'

const WIDGET: Subject = { kind: 'Widget', uid: 'u', namespace: 'default', name: 'one' }

let calls = 0

interface Case {
  readonly title: string
  readonly ours: Recording
  readonly theirs: Recording
  readonly verdict: Comparison['verdict']
  /** For each difference the pass, the name, and the build that makes the call or decision. */
  readonly differences: readonly (readonly [pass: number, name: string, how: Difference['how']])[]
  readonly error?: string
}

const cases: readonly Case[] = [
  {
    title: 'finds a different decision that leads to the same calls',
    ours: ran(pass(1, step('send'), step('wait'), settle('Done'))),
    theirs: ran(pass(1, step('send', 'stops: waits'), settle('Done'))),
    verdict: 'differs',
    differences: [
      [1, 'send', 'other'],
      [1, 'wait', 'less'],
    ],
  },
  {
    title: 'compares pass by pass, and reports a pass of one build as a whole',
    ours: ran([...pass(1, observe(), settle('Wait')), ...pass(2, observe(), settle('Done'))]),
    theirs: ran(pass(1, observe(), settle('Wait'))),
    verdict: 'differs',
    differences: [
      [2, 'plan of phase -', 'less'],
      [2, 'observeWidget', 'less'],
      [2, 'settle', 'less'],
    ],
  },
  {
    title: 'aligns both builds again after a step of one build',
    ours: ran(pass(1, step('a'), step('b'), step('c'))),
    theirs: ran(pass(1, step('x'), step('b'), step('c'))),
    verdict: 'differs',
    differences: [
      [1, 'x', 'more'],
      [1, 'a', 'less'],
    ],
  },
  {
    title: 'stops where the other build throws, before the next call of this build',
    ours: ran(pass(1, observe(), step('begin'), call('guardWidget'), settle('Done'))),
    theirs: ran(pass(1, observe(), step('begin', 'threw TypeError: x is not there')), 'x is not there'),
    verdict: 'parts',
    differences: [
      [1, 'begin', 'other'],
      [1, 'guardWidget', 'less'],
    ],
    error: 'x is not there',
  },
  {
    title: 'uses calls only if one build does not record passes and plans',
    ours: ran(pass(1, observe(), step('send'), settle('Done'))),
    theirs: ran(pass(1, observe(), settle('Failed')).filter(({ told }) => told !== 'pass')),
    verdict: 'differs',
    differences: [[1, 'settle', 'other']],
  },
]

describe('the comparison of two builds', () => {
  it.each(cases)('$title', ({ ours, theirs, verdict, differences, error }) => {
    const found = compare(ours, theirs)
    expect([found.verdict, found.error]).toEqual([verdict, error])
    expect(found.differences.map(({ pass: of, name, how }) => [of, name, how])).toEqual(differences)
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

const SETTLE: Difference = {
  pass: 1,
  kind: 'write',
  name: 'settle',
  object: 'Widget default/one',
  how: 'other',
  changes: [{ field: 'children[0].phase', from: 'Done', to: 'Failed' }],
  made: ['patchStatus Widget/default/one'],
}
const LOOK: Difference = { ...SETTLE, kind: 'look', name: 'observeWidget', how: 'more', changes: [], made: [] }

describe('the verdict about another build', () => {
  it('has exit code 4 if no run was compared', () => {
    expect(exitCodeOf(verdictOf([]))).toBe(4)
  })

  it('counts the runs in which a field of a call differs', () => {
    const trials = [trial('differs', SETTLE, SETTLE), trial('differs', SETTLE), trial('parts', LOOK)]
    expect(verdictOf(trials).kinds).toEqual([
      { what: 'write settle: different children[].phase', jobs: 2 },
      { what: 'look observeWidget: only in the other build', jobs: 1 },
    ])
  })

  it('shows objects, fields and recorded writes', () => {
    const text = verdictText(
      verdictOf([trial('same'), trial('differs', SETTLE), trial('parts', LOOK)]),
      ['a note'],
      plainPaint,
    )
    expect(text).toBe(`2 of 3 runs replayed with both builds differ
     1 without a difference
     1 with different decisions or calls
     1 that the other build cannot continue
note: a note

Differences, with the number of runs:
     1 write settle: different children[].phase
     1 look observeWidget: only in the other build

widget default/one: differs
  w
  pass 1  write     settle of Widget default/one
    children[0].phase: Done -> Failed
    the run wrote: patchStatus Widget/default/one

widget default/one: cannot continue
  w
  pass 1  look      observeWidget of Widget default/one: only in the other build
  the other build stops here: another marker
`)
  })
})

type Entry = (number: number) => readonly ReplayEntry[]

function ran(entries: readonly ReplayEntry[], error?: string): Recording {
  return { workflowId: 'w', entries, ...(error !== undefined && { error }) }
}

function pass(number: number, ...told: readonly Entry[]): readonly ReplayEntry[] {
  const at = { atMs: 0 }
  const plan = { ...at, told: 'plan', plan: 1, subject: WIDGET } as const
  return [{ ...at, told: 'pass', pass: number, isOutside: true }, plan, ...told.flatMap((one) => one(number))]
}

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

function trial(verdict: Comparison['verdict'], ...differences: readonly Difference[]): Trial {
  const error = verdict === 'parts' || verdict === 'unknown' ? { error: 'another marker' } : {}
  return { name: 'widget default/one', comparison: { workflowId: 'w', verdict, differences, ...error } }
}
