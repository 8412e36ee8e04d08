// When an item counts as picked up by its deployer, and for which runs its deployer is foreign. Source: spec/landscaper.md 2.10, 4.9 rule 3.

import { describe, expect, it } from 'vitest'
import { deployItemView, isTakenUp } from '../../../activities/landscaper/deploy-item-view.ts'
import type { DeployItem } from '../../../workflows/landscaper/deploy-item/kind.ts'

const TRIGGERED = '2026-01-01T00:00:05.700Z'

const item = (type: string, status: NonNullable<DeployItem['status']>): DeployItem => ({
  apiVersion: 'landscaper.gardener.cloud/v1alpha1',
  kind: 'DeployItem',
  metadata: {
    name: 'one',
    namespace: 'default',
    uid: 'uid',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: { type },
  status,
})
const HANDED_DOWN = { jobID: 'new', jobIDFinished: 'old', jobIDGenerationTime: TRIGGERED }
const triggered = (status: Partial<DeployItem['status']>) =>
  isTakenUp(item('example.org/any', { ...HANDED_DOWN, ...status }))

describe('an item with a new job ID counts as picked up', () => {
  it('when its last reconcile is after the trigger', () => {
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:05.800Z', phase: 'Succeeded' })).toBe(true)
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:06Z' })).toBe(true)
  })

  it('when its own job has started', () => {
    expect(triggered({ transitionTimes: { initTime: '2026-01-01T00:00:01Z' } })).toBe(true)
  })

  it('when its last reconcile is in the second of the trigger and its phase is Progressing or Deleting', () => {
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:05Z', phase: 'Progressing' })).toBe(true)
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:05Z', phase: 'Deleting' })).toBe(true)
  })

  it.each(['Succeeded', 'Failed', 'DeleteFailed', undefined] as const)(
    'not when the previous job ended with the phase %s in the second of the trigger',
    (phase) => {
      for (const lastReconcileTime of ['2026-01-01T00:00:05Z', '2026-01-01T00:00:05.600Z'])
        expect(triggered({ lastReconcileTime, ...(phase !== undefined && { phase }) })).toBe(false)
    },
  )

  it('not when its last reconcile is before the trigger or missing', () => {
    expect(triggered({ lastReconcileTime: '2026-01-01T00:00:04.999Z', phase: 'Progressing' })).toBe(false)
    expect(triggered({})).toBe(false)
  })
})

describe('an item that has failed', () => {
  it('has the known codes of its error, and no other text from the list of codes', () => {
    const lastError = {
      operation: 'Reconcile',
      reason: 'Bad',
      message: 'no',
      lastTransitionTime: TRIGGERED,
      lastUpdateTime: TRIGGERED,
      codes: ['ERR_TIMEOUT', 'canary: a text', 'ERR_UNAUTHORIZED'],
    }
    const view = deployItemView(item('example.org/any', { phase: 'Failed', lastError }), {})
    expect(view).toMatchObject({ reason: 'Bad', codes: ['ERR_TIMEOUT', 'ERR_UNAUTHORIZED'] })
    expect(deployItemView(item('example.org/any', { phase: 'Succeeded', lastError }), {}).codes).toBeUndefined()
  })
})

describe('an item that no deployer has picked up', () => {
  const MOCK = 'landscaper.gardener.cloud/mock'
  const limit = { landscaper: { pickupTimeoutMs: 5000 }, now: () => new Date('2026-01-01T00:00:07.700Z') }

  it.each([
    ['of a type that the run handles', MOCK, [MOCK], undefined],
    ['of a built-in type, for a run that handles all built-in types', MOCK, undefined, undefined],
    ['of a type that only other workers handle', MOCK, ['landscaper.gardener.cloud/kubernetes-manifest'], 3000],
    ['of a type that Pawl has no deployer for', 'example.org/any', undefined, 3000],
    [
      'of a type that Pawl has no deployer for, although the run lists the type',
      'example.org/any',
      ['example.org/any'],
      3000,
    ],
  ])('%s has a pickup timeout only when its deployer is foreign', (_, type, serves, pickupMs) => {
    const run = serves === undefined ? {} : { serves }
    expect(deployItemView(item(type, HANDED_DOWN), run, limit).pickupMs).toBe(pickupMs)
    const isForeign = pickupMs !== undefined
    expect(deployItemView(item(type, {}), run).untouched === true).toBe(isForeign)
  })

  it.each([
    ['has nothing to uninstall', {}, true],
    [
      'has nothing to uninstall when it was only interrupted',
      { phase: 'Failed', lastError: { reason: 'InterruptOperation', message: 'x' } },
      true,
    ],
    [
      'may have something to uninstall when a deployer has claimed it',
      { phase: 'Progressing', jobID: 'a', lastReconcileTime: TRIGGERED },
      false,
    ],
    [
      'may have something to uninstall when one of its jobs has ended',
      { phase: 'Failed', lastReconcileTime: TRIGGERED },
      false,
    ],
    ['may have something to uninstall when it has a job', { jobID: 'a' }, false],
  ])('of a type that this run handles %s, once it is being deleted', (_, status, untouched) => {
    const one = item(MOCK, status as NonNullable<DeployItem['status']>)
    const deleted = { ...one, metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
    expect(deployItemView(deleted, {}).untouched === true).toBe(untouched)
    expect(deployItemView(one, {}).untouched).toBeUndefined()
  })
})

describe('an item with skipUninstallIfClusterRemoved', () => {
  const viewed = (annotation: string | undefined, spec: object = {}) => {
    const made = item('example.org/any', {})
    const annotations = annotation === undefined ? {} : { 'landscaper.gardener.cloud/clustername': annotation }
    const skips = { target: { name: 'berry.kubeconfig' }, onDelete: { skipUninstallIfClusterRemoved: true } }
    const object = { ...made, metadata: { ...made.metadata, annotations }, spec: { ...made.spec, ...skips, ...spec } }
    return deployItemView(object, {}).cluster
  }

  it('has the Shoot and the Target of its cluster in its view', () => {
    expect(viewed('berry')).toEqual({ shoot: 'berry', target: 'berry.kubeconfig' })
  })

  it.each([
    ['has no cluster name', undefined, {}],
    ['has an invalid cluster name', '../../secrets', {}],
    ['has a cluster name that is too long', 'a'.repeat(254), {}],
    ['has the option set to false', 'berry', { onDelete: { skipUninstallIfClusterRemoved: false } }],
    ['has an invalid Target name', 'berry', { target: { name: '../x' } }],
  ])('is uninstalled like other items when it %s', (_, annotation, spec) => {
    expect(viewed(annotation, spec)).toBeUndefined()
  })
})
