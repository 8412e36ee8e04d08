import { describe, expect, it } from 'vitest'

import {
  type JobPass,
  type JobState,
  type StatusDraft,
  statusChange,
  type TargetView,
} from '../../../../workflows/kit/index.ts'

const FINAL = ['Succeeded', 'Failed']
const error = { operation: 'handlePhaseInit', reason: 'NoAnswer', message: 'no answer' }

describe('the change of status that a pass settles', () => {
  it('is none when the draft says what is already there', () => {
    expect(statusChange(jobPass({ phase: 'Progressing' }, { phase: 'Progressing' }), FINAL)).toBeUndefined()
    const failing = { phase: 'Init', lastError: error }
    expect(statusChange(jobPass(failing, failing), FINAL)).toBeUndefined()
  })

  it('is none when the pass found no phase to be in', () => {
    expect(statusChange(jobPass({}, {}), FINAL)).toBeUndefined()
  })

  it.each<[string, Partial<StatusDraft>]>([
    ['the phase', { phase: 'Completing' }],
    ['the generation', { observedGeneration: 2 }],
    ['the error', { lastError: error }],
    ['a condition', { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: 'ready' }] }],
    ['a field', { fields: { executionRef: { name: 'x' } } }],
  ])('is made when %s differs', (_, draft) => {
    const change = statusChange(jobPass({ phase: 'Progressing' }, { phase: 'Progressing', ...draft }), FINAL)
    expect(change).toMatchObject({ version: '7', observedPhase: 'Progressing', finished: false, ...draft })
  })

  it('is none while another job has the status: a job that could not begin ends none', () => {
    const other = { phase: 'Succeeded', jobID: 'earlier', jobIDFinished: 'earlier' }
    expect(statusChange(jobPass(other, { phase: 'Succeeded', lastError: error }), FINAL)).toBeUndefined()
  })

  it('ends the job with a final phase, also when only the end is missing', () => {
    expect(statusChange(jobPass({ phase: 'Progressing' }, { phase: 'Failed' }), FINAL)?.finished).toBe(true)
    expect(statusChange(jobPass({ phase: 'Failed' }, { phase: 'Failed' }), FINAL)?.finished).toBe(true)
    expect(statusChange(jobPass({ phase: 'Failed', jobIDFinished: 'job' }, { phase: 'Failed' }), FINAL)).toBeUndefined()
  })
})

function jobPass(target: Partial<TargetView>, draft: Partial<StatusDraft>): JobPass<JobState> {
  const subject = { kind: 'Widget', uid: 'u', namespace: 'n', name: 'w' }
  return {
    subject,
    jobID: 'job',
    by: { workflowID: 'widget/u/job', runID: 'run', pass: 1 },
    act: undefined,
    state: { target: { ...idleTarget, ...target } },
    draft: {
      ...{ phase: undefined, observedGeneration: 1, lastError: undefined, conditions: [], marks: [], fields: {} },
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
