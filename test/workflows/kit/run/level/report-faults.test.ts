import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  always,
  type Condition,
  describe as draw,
  done,
  fail,
  joinOutcomes,
  later,
  type Outcome,
  removePassCondition,
  reportFaults,
  type ReportingPass,
  retryLater,
  runStep,
  setPassCondition,
  stop,
} from '../../../../../workflows/kit/index.ts'
import { fakeRuntime } from '../../plan/fake-runtime.ts'

const NOW = new Date('2026-03-01T10:00:00Z')
const OTHER = {
  type: 'Other',
  status: 'True',
  reason: 'Fine',
  message: 'x',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}

function passWith(conditions?: readonly Condition[]): ReportingPass {
  const status = conditions === undefined ? {} : { status: { conditions } }
  return { now: NOW, target: { metadata: { generation: 3 }, ...status }, status: {} }
}

async function reported(outcome: Outcome, conditions?: readonly Condition[]) {
  const pass = passWith(conditions)
  const body = action<ReportingPass>('body', () => outcome)
  const plan = always(body, reportFaults({ type: 'Ready' }))
  expect(await runStep(plan, pass, fakeRuntime())).toEqual(outcome)
  return pass.status['conditions'] as unknown as readonly Condition[] | undefined
}

describe('a reported fault', () => {
  it.each<[string, Outcome, Partial<Condition>]>([
    ['nothing', done, { status: 'True', reason: 'Reconciled', message: 'the last pass met no fault' }],
    ['wishes for other passes', joinOutcomes(again(5), later(6)), { status: 'True', reason: 'Reconciled' }],
    ['a stop', stop('waiting for a'), { status: 'False', reason: 'Waiting', message: 'waiting for a' }],
    [
      'faults beside a stop',
      joinOutcomes(stop('x'), retryLater('Away', 'no answer'), fail('Wrong', 'no')),
      { status: 'False', reason: 'Away', message: 'no answer; no' },
    ],
    [
      'a fault beside one that looked at an older object',
      joinOutcomes(retryLater('Changed', 'generation 2'), fail('Wrong', 'no')),
      { status: 'False', reason: 'Wrong', message: 'no' },
    ],
  ])('sets the condition after %s', async (_, outcome, told) => {
    expect(await reported(outcome, [OTHER])).toEqual([
      OTHER,
      {
        type: 'Ready',
        observedGeneration: 3,
        lastTransitionTime: NOW.toISOString(),
        message: expect.any(String) as string,
        ...told,
      },
    ])
  })

  it('does not set the condition after a conflict, because the next pass starts immediately', async () => {
    expect(await reported(retryLater('Changed', 'generation 2'))).toBeUndefined()
  })

  it('writes nothing when the condition is unchanged', async () => {
    const reportedBefore = await reported(fail('Wrong', 'no'))
    expect(await reported(fail('Wrong', 'no'), reportedBefore)).toBeUndefined()
    expect(await reported(done, reportedBefore)).toMatchObject([{ status: 'True' }])
  })

  it('keeps the conditions that the pass has set', () => {
    const pass = passWith([OTHER])
    setPassCondition(pass, { type: 'Paused', status: 'True', reason: 'Night', message: 'sleeping' })
    setPassCondition(pass, {
      type: 'Ready',
      status: 'False',
      reason: 'Night',
      message: 'sleeping',
      observedGeneration: 2,
    })
    expect(pass.status['conditions']).toMatchObject([
      { type: 'Other' },
      { type: 'Paused', observedGeneration: 3 },
      { type: 'Ready', observedGeneration: 2 },
    ])
  })

  it('replaces the condition that the plan has set, which stays without a fault', async () => {
    const saying = { type: 'Ready', status: 'False', reason: 'RollingOut', message: '1 of 2' } as const
    const reportedBeside = async (outcome: Outcome) => {
      const pass = passWith()
      const body = action<ReportingPass>('body', (one) => {
        setPassCondition(one, saying)
        return outcome
      })
      await runStep(always(body, reportFaults({ type: 'Ready', faultsOnly: true })), pass, fakeRuntime())
      return pass.status['conditions']
    }
    for (const outcome of [done, again(5), stop('waiting'), retryLater('Changed', 'generation 2')])
      expect(await reportedBeside(outcome)).toMatchObject([saying])
    expect(await reportedBeside(fail('Wrong', 'no'))).toMatchObject([
      { status: 'False', reason: 'Wrong', message: 'no' },
    ])
  })

  it('is drawn like an action', () => {
    const plan = always(
      action<ReportingPass>('body', () => done),
      reportFaults({ type: 'Ready' }),
    )
    expect(draw(plan)).toBe('always\n├─ body\n└─ reportReady')
  })
})

describe('a removed condition', () => {
  const removed = (pass: ReportingPass) => {
    removePassCondition(pass, 'Other')
    return pass.status['conditions']
  }

  it('is an entry without status, next to the conditions that the pass has set', () => {
    const pass = passWith([OTHER])
    setPassCondition(pass, { type: 'Ready', status: 'True', reason: 'Fine', message: 'x' })
    expect(removed(pass)).toMatchObject([
      { type: 'Ready', status: 'True' },
      { type: 'Other', status: null },
    ])
    expect(removed(pass)).toHaveLength(2)
  })

  it('changes nothing when it does not exist', () => {
    expect(removed(passWith([]))).toBeUndefined()
    expect(removed(passWith())).toBeUndefined()
  })

  it('exists again with a new time when the pass sets it afterwards', () => {
    const pass = passWith([OTHER])
    removePassCondition(pass, 'Other')
    setPassCondition(pass, { type: 'Other', status: 'True', reason: 'Back', message: 'x' })
    expect(pass.status['conditions']).toMatchObject([
      { type: 'Other', status: 'True', reason: 'Back', lastTransitionTime: NOW.toISOString() },
    ])
  })
})
