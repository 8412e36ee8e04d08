import { describe, expect, it } from 'vitest'

import { nop } from '../../../../workflows/kit/index.ts'
import { failedPhases, failureOf } from '../../../../workflows/kit/run/run-failure.ts'

const lastError = { operation: 'Progressing', reason: 'DeployItemsFailed', message: 'failed: db', codes: ['X'] }
const plan = {
  phases: { Progressing: { step: nop, next: 'Succeeded' }, Deleting: { step: nop, next: 'Deleted' } },
  failed: (phase: string) => (phase === 'Deleting' ? 'DeleteFailed' : 'Failed'),
}
const why = (result: string, target?: Parameters<typeof failureOf>[3]) =>
  failureOf(failedPhases(plan), result, 'job-1', target)

describe('the run of a job', () => {
  it.each(['Failed', 'DeleteFailed'])('fails with the last error of its object when the job came to %s', (phase) => {
    const told = { reason: 'DeployItemsFailed', message: 'failed: db' }
    expect(why(phase, { jobID: 'job-1', lastError })).toEqual(told)
  })

  it('fails with the phase when the object shows no error', () => {
    const told = { reason: 'Failed', message: 'the phase is Failed' }
    expect(why('Failed', { jobID: 'job-1', lastError: undefined })).toEqual(told)
    expect(why('Failed')).toEqual(told)
  })

  it.each([
    ['by another job', 'job-2', 'the object has another job: job-2'],
    ['by nobody', undefined, 'the object has no job any more'],
    ['by another run', 'job-1', 'job job-1 was taken over while it ran'],
  ])('fails when its job was taken over %s', (_by, jobID, message) => {
    expect(why('Superseded', { jobID, lastError })).toEqual({ reason: 'Superseded', message })
  })

  it.each(['Succeeded', 'Deleted', 'Finished'])('completes when the job came to %s', (result) => {
    expect(why(result, { jobID: 'job-1', lastError })).toBeUndefined()
  })
})
