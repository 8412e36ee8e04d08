// When an item counts as taken up by its deployer. Source: spec/landscaper.md 2.10, 4.9 rule 3.

import { describe, expect, it } from 'vitest'
import { isTakenUp } from '../../../activities/landscaper/deploy-item-view.ts'
import type { DeployItem } from '../../../workflows/landscaper/deploy-item/kind.ts'

const TRIGGERED = '2026-01-01T00:00:05.700Z'

const triggered = (status: Partial<DeployItem['status']>) =>
  isTakenUp({
    apiVersion: 'landscaper.gardener.cloud/v1alpha1',
    kind: 'DeployItem',
    metadata: {
      ...{ name: 'one', namespace: 'default', uid: 'uid', resourceVersion: '1', generation: 1 },
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { type: 'example.org/any' },
    status: { jobID: 'new', jobIDFinished: 'old', jobIDGenerationTime: TRIGGERED, ...status },
  })

describe('an item with a new job ID is taken up', () => {
  it('when a reconcile was noted after the trigger', () => {
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:05.800Z', phase: 'Succeeded' })).toBe(true)
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:06Z' })).toBe(true)
  })

  it('when its own job has begun', () => {
    expect(triggered({ transitionTimes: { initTime: '2026-01-01T00:00:01Z' } })).toBe(true)
  })

  it('when one was noted in the second of the trigger, and the phase says that the deployer works', () => {
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:05Z', phase: 'Progressing' })).toBe(true)
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:05Z', phase: 'Deleting' })).toBe(true)
  })

  it.each(['Succeeded', 'Failed', 'DeleteFailed', undefined] as const)(
    'not when the job before has ended %s in the second of the trigger',
    (phase) => {
      for (const lastReconcileTime of ['2026-01-01T00:00:05Z', '2026-01-01T00:00:05.600Z'])
        expect(triggered({ lastReconcileTime, ...(phase !== undefined && { phase }) })).toBe(false)
    },
  )

  it('not when it was noted before, or never', () => {
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:04.999Z', phase: 'Progressing' })).toBe(false)
    expect(triggered({})).toBe(false)
  })
})
