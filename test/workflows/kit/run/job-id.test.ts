import { describe, expect, it } from 'vitest'

import {
  isJobID,
  isJobIDRefused,
  jobIDProblem,
  type RoutedEvent,
  workflowIDOf,
} from '../../../../workflows/kit/index.ts'
import { byteLength } from '../../../../workflows/kit/run/cut-bytes.ts'

const UUID = '8d7f3a4e-3c1b-5f0e-9a44-0f1d1c2b3a49'

describe('a job ID', () => {
  it.each([UUID, 'job-1', 'A.b_c', '-1', '.', '_x', 'a b', 'ä', '1:2', '\'"%', 'x'.repeat(128)])(
    'may be %s',
    (value) => {
      expect(isJobID(value)).toBe(true)
      expect(jobIDProblem(value)).toBeUndefined()
    },
  )

  it.each(['', 'a/b', '/', 'a\n', '\0', '\u2028', '\ud800', '\u0085', 'x'.repeat(129), 'ä'.repeat(65)])(
    'is never %j',
    (value) => {
      expect(isJobID(value)).toBe(false)
      expect(jobIDProblem(value)).toContain('status.jobID is not a job ID')
    },
  )

  it.each([undefined, 7, {}])('is never %j', (value) => {
    expect(isJobID(value)).toBe(false)
  })

  it('leaves a workflow ID its other parts', () => {
    const subject = { namespace: 'n'.repeat(63), name: 'x'.repeat(253), uid: UUID }
    const id = workflowIDOf('c'.repeat(63), subject, 'x'.repeat(128))
    expect(byteLength(id)).toBeLessThanOrEqual(255)
    expect(id).toContain(`/nnn`)
    expect(id.endsWith(`/${UUID}/${'x'.repeat(128)}`)).toBe(true)
  })
})

describe('an event with a text that is no job ID', () => {
  const refused = (jobID: string | undefined, previous?: string) =>
    isJobIDRefused({
      projection: { status: { jobID } },
      previous: previous === undefined ? undefined : { status: { jobID: previous } },
    } as unknown as RoutedEvent)

  it('is told of when that text is new', () => {
    expect(refused('a/b')).toBe(true)
    expect(refused('a/b', 'b/c')).toBe(true)
    expect(refused('a/b', 'job')).toBe(true)
    expect(refused('a/b', 'a/b')).toBe(false)
    expect(refused('job', 'a/b')).toBe(false)
    expect(refused(undefined)).toBe(false)
  })
})
