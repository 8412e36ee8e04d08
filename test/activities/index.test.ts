import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'

import { createActivities } from '../../activities/index.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { KubeError } from '../../activities/kube/errors.ts'
import { executionController } from '../../workflows/landscaper/execution/controller.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { listingDeps } from '../workflows/listing-deps.ts'
import { activitiesOf } from './landscaper/landscaper-deps.ts'

const SUBJECT = { kind: 'Execution', uid: 'u', namespace: 'n', name: 'a' }
const BY = { workflowID: 'execution/n/a/u/job', runID: 'r', pass: 1 }
const deps = () => listingDeps([], [executionKind], [executionController])

/** Calls an activity of a wing that fails with this error, through the wrapper of createActivities. */
function failingWith(error: Error) {
  const work = async (): Promise<void> => await Promise.reject(error)
  return createActivities(deps(), [{ work }]).work()
}

describe('an activity of a wing', () => {
  it.each([
    [503, 'ServiceUnavailable', false],
    [409, 'Conflict', false],
    [403, 'Forbidden', false],
    [422, 'Invalid', true],
    [400, 'BadRequest', true],
    [0, 'Unreachable', false],
  ])(
    'that receives the status %i from the API server fails with the type %s; non-retryable: %s',
    async (status, reason, isFinal) => {
      const met = new KubeError(`GET x: ${reason}`, { status, reason, retryAfterMs: 450 })
      const failure = await failingWith(met).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(ApplicationFailure)
      const expected = { type: reason, nonRetryable: isFinal, message: met.message, nextRetryDelay: 450 }
      expect(failure).toMatchObject(expected)
    },
  )

  it('that throws an ApplicationFailure or a TypeError fails with that same error', async () => {
    const own = ApplicationFailure.nonRetryable('because', 'Mine')
    await expect(failingWith(own)).rejects.toBe(own)
    const bug = new TypeError('no such thing')
    await expect(failingWith(bug)).rejects.toBe(bug)
  })
})

describe('the activities of the engine and of the wing', () => {
  // Each activity reads other fields of its input before its first request, so the input has the fields of all.
  const INPUT = {
    by: BY,
    subject: SUBJECT,
    jobID: 'job',
    generation: 1,
    version: '1',
    known: {},
    items: [],
    uids: [],
    target: { apiVersion: executionKind.apiVersion, kind: 'Execution', plural: 'executions' },
    queries: {},
    finalizers: [],
    guarded: true,
  }
  const READING = ['observeExecution', 'observeLevel', 'applyDeployItems', 'finalizeLevel'] as const

  it.each(READING)('fail with the type ServiceUnavailable when the API server answers 503: %s', async (name) => {
    const kube = { request: () => Promise.reject(away) } as unknown as KubeClient
    const away = new KubeError('GET x: 503', { status: 503, reason: 'ServiceUnavailable' })
    const broken = { ...deps(), kube, followed: [executionKind] }
    const activities: Readonly<Record<string, (input: never) => Promise<unknown>>> = { ...activitiesOf(broken) }
    await expect(activities[name]?.(INPUT as never)).rejects.toMatchObject({
      name: 'ApplicationFailure',
      type: 'ServiceUnavailable',
      nonRetryable: false,
    })
  })

  it('are all wrapped by createActivities: each function differs from the original', () => {
    const made = { one: () => Promise.resolve(1), two: () => Promise.resolve(2) }
    const { one, two } = createActivities(deps(), [made])
    expect([one === made.one, two === made.two]).toEqual([false, false])
  })
})

describe('two wings with an activity of the same name', () => {
  it('are refused by createActivities, as is a wing whose activity has the name of an engine activity', () => {
    const wing = { deploy: () => Promise.resolve() }
    expect(() => createActivities(deps(), [wing, { ...wing }])).toThrow('two activities have the name deploy')
    expect(() => createActivities(deps(), [{ settle: () => Promise.resolve() }])).toThrow(
      'two activities have the name settle; give each activity a different name',
    )
  })
})
