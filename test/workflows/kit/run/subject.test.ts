import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  controllerInID,
  isJobID,
  isJobIDInvalid,
  jobIDProblem,
  type RoutedEvent,
  workflowIDOf,
} from '../../../../workflows/kit/index.ts'
import { byteLength } from '../../../../workflows/kit/run/byte-limits.ts'

const uid = '7a40d8a2-94c5-4a22-96d5-33d5bd6c6ab4'

describe('the workflow ID of a run', () => {
  it('starts with namespace and name, and ends with uid and job ID', () => {
    const id = workflowIDOf('installation', { namespace: 'prod', name: 'shop', uid }, 'job-1')
    expect(id).toBe(`installation/prod/shop/${uid}/job-1`)
  })

  it('has no job ID in level mode, and no namespace for a cluster-scoped kind', () => {
    expect(workflowIDOf('website', { namespace: 'prod', name: 'shop', uid }, '')).toBe(`website/prod/shop/${uid}`)
    expect(workflowIDOf('rack', { namespace: '', name: 'r1', uid }, '')).toBe(`rack/r1/${uid}`)
  })

  it('contains cut forms of the longest Kubernetes names', () => {
    const id = workflowIDOf('deploy', { namespace: 'n'.repeat(63), name: 'x'.repeat(253), uid }, 'j'.repeat(63))
    expect(id).toBe(`deploy/${'n'.repeat(63)}/${'x'.repeat(83)}/${uid}/${'j'.repeat(63)}`)
    expect(id).toHaveLength(255)
  })

  it('omits a name for which no space is left', () => {
    const parts = { namespace: 'n'.repeat(63), name: 'shop', uid: 'u'.repeat(63) }
    expect(workflowIDOf('c'.repeat(63), parts, 'j'.repeat(63))).toBe(
      `${'c'.repeat(63)}/${'n'.repeat(63)}/${parts.uid}/${'j'.repeat(63)}`,
    )
  })

  it('has at most 255 bytes for any names', () => {
    fc.assert(
      fc.property(runs, ([controller, subject, jobID]) => {
        expect(Buffer.byteLength(workflowIDOf(controller, subject, jobID))).toBeLessThanOrEqual(255)
      }),
    )
  })

  it('ends with the whole uid and job ID, and starts with the controller', () => {
    fc.assert(
      fc.property(runs, ([controller, subject, jobID]) => {
        const id = workflowIDOf(controller, subject, jobID)
        expect(id.endsWith(jobID === '' ? `/${subject.uid}` : `/${subject.uid}/${jobID}`)).toBe(true)
        expect(controllerInID(id)).toBe(controller)
      }),
    )
  })

  it('is unique for object, job and controller', () => {
    const key = ([controller, { uid }, jobID]: Named) => [controller, uid, jobID].join(' ')
    fc.assert(
      fc.property(runs, runs, (one, two) => {
        // A controller is in one mode: its runs all have jobs, or none has.
        fc.pre(key(one) !== key(two) && (one[0] !== two[0] || (one[2] === '') === (two[2] === '')))
        expect(workflowIDOf(...one)).not.toBe(workflowIDOf(...two))
      }),
    )
  })

  it('contains its controller also in the format of earlier releases', () => {
    expect(controllerInID(`installation/${uid}/job-1`)).toBe('installation')
    expect(controllerInID('kept')).toBe('')
  })
})

type Named = Parameters<typeof workflowIDOf>

// Few letters, so that parts are often equal; '💧' has four bytes.
const word = (minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom('a', 'b', '-', 'é', '💧'), { minLength, maxLength }).map((letters) => letters.join(''))
const ascii = (minLength: number, maxLength: number) =>
  fc.array(fc.constantFrom('a', 'b'), { minLength, maxLength }).map((letters) => letters.join(''))

const runs: fc.Arbitrary<Named> = fc.tuple(
  ascii(1, 63),
  fc.record({
    namespace: fc.oneof(fc.constant(''), ascii(1, 63)),
    name: fc.oneof(word(1, 4), word(1, 253)),
    uid: fc.oneof(ascii(1, 3), ascii(36, 36)),
  }),
  fc.oneof(fc.constant(''), ascii(1, 3), ascii(63, 63)),
)

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
      expect(jobIDProblem(value)).toContain('status.jobID is invalid')
    },
  )

  it.each([undefined, 7, {}])('rejects %j', (value) => {
    expect(isJobID(value)).toBe(false)
  })

  it('leaves space in a workflow ID for the other parts', () => {
    const subject = { namespace: 'n'.repeat(63), name: 'x'.repeat(253), uid: UUID }
    const id = workflowIDOf('c'.repeat(63), subject, 'x'.repeat(128))
    expect(byteLength(id)).toBeLessThanOrEqual(255)
    expect(id).toContain(`/nnn`)
    expect(id.endsWith(`/${UUID}/${'x'.repeat(128)}`)).toBe(true)
  })
})

describe('an event with an invalid job ID', () => {
  const refused = (jobID: string | undefined, previous?: string) =>
    isJobIDInvalid({
      projection: { status: { jobID } },
      previous: previous === undefined ? undefined : { status: { jobID: previous } },
    } as unknown as RoutedEvent)

  it('is reported when the text is new', () => {
    expect(refused('a/b')).toBe(true)
    expect(refused('a/b', 'b/c')).toBe(true)
    expect(refused('a/b', 'job')).toBe(true)
    expect(refused('a/b', 'a/b')).toBe(false)
    expect(refused('job', 'a/b')).toBe(false)
    expect(refused(undefined)).toBe(false)
  })
})
