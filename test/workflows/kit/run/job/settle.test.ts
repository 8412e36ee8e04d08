import { describe, expect, it } from 'vitest'

import {
  done,
  type HostedResult,
  type JobPass,
  type StatusChange,
  type JobState,
  type StatusDraft,
  statusChange,
  type TargetView,
} from '../../../../../workflows/kit/index.ts'
import { hostedChange, settleInputOfHosted, applySettledChildren } from '../../../../../workflows/kit/run/job/settle.ts'

const FINAL = ['Succeeded', 'Failed']
const error = { operation: 'handlePhaseInit', reason: 'NoAnswer', message: 'no answer' }

describe('the change of status that a pass settles', () => {
  it('is undefined when the draft equals the status', () => {
    expect(statusChange(jobPass({ phase: 'Progressing' }, { phase: 'Progressing' }), FINAL)).toBeUndefined()
    const failing = { phase: 'Init', lastError: error }
    expect(statusChange(jobPass(failing, failing), FINAL)).toBeUndefined()
  })

  it('is undefined when the pass has no phase', () => {
    expect(statusChange(jobPass({}, {}), FINAL)).toBeUndefined()
  })

  it.each<[string, Partial<StatusDraft>]>([
    ['the phase', { phase: 'Completing' }],
    ['the generation', { observedGeneration: 2 }],
    ['the error', { lastError: error }],
    ['a condition', { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: 'ready' }] }],
    ['a field', { fields: { executionRef: { name: 'x' } } }],
  ])('contains the change when %s differs', (_, draft) => {
    const change = statusChange(jobPass({ phase: 'Progressing' }, { phase: 'Progressing', ...draft }), FINAL)
    expect(change).toMatchObject({ version: '7', observedPhase: 'Progressing', finished: false, ...draft })
  })

  it('is undefined while another job has the status', () => {
    const other = { phase: 'Succeeded', jobID: 'earlier', jobIDFinished: 'earlier' }
    expect(statusChange(jobPass(other, { phase: 'Succeeded', lastError: error }), FINAL)).toBeUndefined()
  })

  it('ends the job with a final phase, also when only jobIDFinished is missing', () => {
    expect(statusChange(jobPass({ phase: 'Progressing' }, { phase: 'Failed' }), FINAL)?.finished).toBe(true)
    expect(statusChange(jobPass({ phase: 'Failed' }, { phase: 'Failed' }), FINAL)?.finished).toBe(true)
    expect(statusChange(jobPass({ phase: 'Failed', jobIDFinished: 'job' }, { phase: 'Failed' }), FINAL)).toBeUndefined()
  })
})

describe('the change of status of a hosted child', () => {
  it('is undefined for an equal draft when the child has the job', () => {
    const change = hostedChange(jobPass({ phase: 'Init' }, { phase: 'Working' }), FINAL)
    expect(change).toMatchObject({ phase: 'Working' })
    expect(change).not.toHaveProperty('begins')
    expect(hostedChange(jobPass({ phase: 'Working' }, { phase: 'Working' }), FINAL)).toBeUndefined()
  })
})

describe('the settle input of hosted children', () => {
  const root = { kind: 'Widget', uid: 'u', namespace: 'n', name: 'w' }
  const ended = (uid: string, change?: StatusChange) => {
    const told: unknown[] = []
    const by = { workflowID: 'widget/u/job', runID: 'run', pass: 1, controller: 'part', tree: ['u', 'v', uid] }
    const end: HostedResult = {
      by,
      subject: { ...root, uid },
      isGone: false,
      change,
      outcome: done,
      applySettled: (target) => told.push(target),
    }
    return { end, told }
  }
  const change = hostedChange(jobPass({ phase: 'Init' }, { phase: 'Succeeded' }), FINAL)

  it('contains the changes of changed children, children first, and the uids of all objects whose writes are own writes', () => {
    const grandchild = ended('c', change)
    const same = ended('d')
    const child = ended('v', change)
    const { children, tree } = settleInputOfHosted(
      root,
      [grandchild, same, child].map(({ end }) => end),
    )
    expect(children?.map(({ subject }) => subject.uid)).toEqual(['c', 'v'])
    expect(children?.[0]).toEqual({ by: grandchild.end.by, subject: grandchild.end.subject, change })
    expect(tree?.toSorted()).toEqual(['c', 'd', 'u', 'v'])
    expect(settleInputOfHosted(root, [ended('d').end])).toEqual({ tree: ['u', 'v', 'd'] })
  })

  it('leads to an update of the state of each changed child', () => {
    const all = [ended('c', change), ended('d'), ended('v', change)]
    const ends = all.map(({ end }) => end)
    applySettledChildren(ends, [{ version: '8' }, { version: '9' }])
    expect(all.map(({ told }) => told)).toEqual([[{ version: '8' }], [], [{ version: '9' }]])
    applySettledChildren(ends)
    expect(all.flatMap(({ told }) => told)).toHaveLength(2)
  })
})

function jobPass(target: Partial<TargetView>, draft: Partial<StatusDraft>): JobPass<JobState> {
  const subject = { kind: 'Widget', uid: 'u', namespace: 'n', name: 'w' }
  return {
    subject,
    jobID: 'job',
    by: { workflowID: 'widget/u/job', runID: 'run', pass: 1 },
    act: undefined,
    background: { has: () => false, start: () => undefined, retain: () => undefined },
    wake: () => undefined,
    hosted: [],
    state: { target: { ...idleTarget, ...target } },
    draft: {
      phase: undefined,
      observedGeneration: 1,
      lastError: undefined,
      conditions: [],
      marks: [],
      fields: {},
      ...draft,
    },
  }
}

const idleTarget: TargetView = {
  version: '7',
  generation: 1,
  deleting: false,
  finalizers: [],
  phase: undefined,
  jobID: 'job',
  jobIDFinished: undefined,
  observedGeneration: 1,
  lastError: undefined,
}
