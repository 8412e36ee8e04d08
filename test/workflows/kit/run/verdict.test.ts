import { describe, expect, it } from 'vitest'

import { verdict } from '../../../../workflows/kit/run/verdict.ts'

const ended = (target: Parameters<typeof verdict>[0]) => verdict(target, 'mine', { begins: true })

describe('what an object says of a job', () => {
  it('is its end, by the phase that it ended with', () => {
    expect(ended({ jobID: 'mine', jobIDFinished: 'mine', phase: 'Failed' })).toBe('Failed')
    expect(ended({ jobID: 'mine', jobIDFinished: 'mine', phase: undefined })).toBe('Finished')
  })

  it('is its end, but not how, when the object has the next job already: the phase is that of this', () => {
    expect(ended({ jobID: 'next', jobIDFinished: 'mine', phase: 'Progressing' })).toBe('Finished')
  })

  it('is nothing while it goes on, and that another one took its place', () => {
    expect(ended({ jobID: 'mine', jobIDFinished: 'before', phase: 'Progressing' })).toBeUndefined()
    expect(ended({ jobID: 'next', jobIDFinished: 'before', phase: 'Progressing' })).toBe('Superseded')
  })
})
