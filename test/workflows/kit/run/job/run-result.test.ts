// How a run in job mode ends (workflows/kit/run/job/run-result.ts). The result of a run is the final phase of its job,
// or Superseded (the job is no longer its own), or Finished (the job has ended, but its final phase is not known).

import { describe, expect, it } from 'vitest'
import { nop } from '../../../../../workflows/kit/index.ts'
import { failedPhases, runFailureOf, earlyExit } from '../../../../../workflows/kit/run/job/run-result.ts'

const lastError = { operation: 'Progressing', reason: 'DeployItemsFailed', message: 'failed: db', codes: ['X'] }
const plan = {
  phases: { Progressing: { step: nop, next: 'Succeeded' }, Deleting: { step: nop, next: 'Deleted' } },
  // The final phase of a failed job, by the phase in which it failed.
  failed: (phase: string) => (phase === 'Deleting' ? 'DeleteFailed' : 'Failed'),
}
/** @param target the job fields of the object. @returns undefined when the run completes. */
const why = (result: string, target?: Parameters<typeof runFailureOf>[3]) =>
  runFailureOf(failedPhases(plan), result, 'job-1', target)

describe('the run of a job', () => {
  it.each(['Failed', 'DeleteFailed'])('fails with the last error of its object when the job ended as %s', (phase) => {
    // Without `operation` and `codes` of the last error.
    const told = { reason: 'DeployItemsFailed', message: 'failed: db' }
    expect(why(phase, { jobID: 'job-1', lastError })).toEqual(told)
  })

  it('fails with the phase when the object has no error', () => {
    const told = { reason: 'Failed', message: 'the phase is Failed' }
    expect(why('Failed', { jobID: 'job-1', lastError: undefined })).toEqual(told)
    expect(why('Failed')).toEqual(told)
  })

  it.each([
    ['the object has another job', 'job-2', 'the object has another job: job-2'],
    ['the object has no job', undefined, 'the object has no job any more'],
    ['another run took over the job', 'job-1', 'another run continues job job-1'],
  ])('fails as Superseded when %s', (_by, jobID, message) => {
    expect(why('Superseded', { jobID, lastError })).toEqual({ reason: 'Superseded', message })
  })

  it.each(['Succeeded', 'Deleted', 'Finished'])('completes when the job ended as %s', (result) => {
    expect(why(result, { jobID: 'job-1', lastError })).toBeUndefined()
  })
})

// `begins`: the run may start its job. It matters only when the object's job is finished and is not this run's job. No
// case here is of this kind.
const ended = (target: Parameters<typeof earlyExit>[0]) => earlyExit(target, 'mine', { begins: true })

describe('the early exit of a run', () => {
  it('returns the final phase of its job', () => {
    expect(ended({ jobID: 'mine', jobIDFinished: 'mine', phase: 'Failed' })).toBe('Failed')
    expect(ended({ jobID: 'mine', jobIDFinished: 'mine', phase: undefined })).toBe('Finished')
  })

  it('returns Finished when the object already has the phase of the next job', () => {
    expect(ended({ jobID: 'next', jobIDFinished: 'mine', phase: 'Progressing' })).toBe('Finished')
  })

  it('does not happen while the job runs, and returns Superseded when another job has started', () => {
    expect(ended({ jobID: 'mine', jobIDFinished: 'before', phase: 'Progressing' })).toBeUndefined()
    expect(ended({ jobID: 'next', jobIDFinished: 'before', phase: 'Progressing' })).toBe('Superseded')
  })
})
