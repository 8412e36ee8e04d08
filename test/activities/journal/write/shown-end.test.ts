import { describe, expect, it } from 'vitest'
import { shownEnd } from '../../../../activities/journal/write/jobs.ts'

const shown = (status: object, deleted = false) => shownEnd({ deleted, projection: { status } })

describe('the end of a job that an object shows', () => {
  it('is the phase of the job that ended', () => {
    expect(shown({ jobID: 'a', jobIDFinished: 'a', phase: 'Succeeded' })).toEqual({ jobID: 'a', outcome: 'Succeeded' })
  })

  it('does not use the phase of the next job', () => {
    expect(shown({ jobID: 'b', jobIDFinished: 'a', phase: 'Progressing' })).toEqual({ jobID: 'a', outcome: 'Finished' })
  })

  it('is undefined before a job has ended', () => {
    expect(shown({ jobID: 'a', phase: 'Progressing' })).toBeUndefined()
  })

  it('is Deleted when the object is deleted', () => {
    expect(shown({ jobID: 'b', jobIDFinished: 'a', phase: 'Deleting' }, true)).toEqual({
      jobID: 'a',
      outcome: 'Deleted',
    })
  })
})
