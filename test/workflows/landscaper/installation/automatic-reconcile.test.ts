// When an Installation starts a job by itself. Source: spec/landscaper.md 2.12.

import { describe, expect, it } from 'vitest'
import { installationRun } from '../../../../workflows/landscaper/installation/routes.ts'

const ENDED = '2026-03-01T10:00:00Z'
const BEGAN = '2026-03-01T09:00:00Z'
const NOW = '2026-03-01T12:00:00Z'
const OPERATION = 'landscaper.gardener.cloud/operation'

interface Given {
  readonly spec?: object
  readonly status?: object
  readonly metadata?: object
}

function wanted(automaticReconcile: object, { spec, status, metadata }: Given = {}) {
  const idle = { jobID: 'job', jobIDFinished: 'job', phase: 'Succeeded', observedGeneration: 3 }
  const run = installationRun({
    metadata: { generation: 3, ...metadata },
    spec: { automaticReconcile, ...spec },
    status: { ...idle, transitionTimes: { finishedTime: ENDED }, ...status },
  })
  if ('none' in run) return run.none
  const { notBefore = 0 } = run
  return { cause: run.cause, at: new Date(notBefore).toISOString(), ...run.onBegin?.(NOW) }
}

const failed = (automaticReconcileStatus?: object) => ({ status: { phase: 'Failed', automaticReconcileStatus } })
const counted = (numberOfReconciles: number, onFailed: boolean, generation = 3) => ({
  generation,
  onFailed,
  numberOfReconciles,
  lastReconcileTime: BEGAN,
})
const AT_ONCE = '1970-01-01T00:00:00.000Z'
const IDLE = 'installation is idle and not triggered'

describe('after a success', () => {
  it.each([
    ['a day after the end of the job', {}, undefined, '2026-03-02T10:00:00.000Z'],
    ['at the interval', { interval: '90m' }, undefined, '2026-03-01T11:30:00.000Z'],
    ['at the interval after the last one', { interval: '90m' }, counted(0, false), '2026-03-01T10:30:00.000Z'],
    [
      'at the end of the job again, when the last one retried',
      { interval: '90m' },
      counted(4, true),
      '2026-03-01T11:30:00.000Z',
    ],
    [
      'at the next time of the crontab',
      { cronSpec: '30 8 * * *', interval: '1s' },
      undefined,
      '2026-03-02T08:30:00.000Z',
    ],
    ['in its time zone', { cronSpec: 'TZ=Europe/Berlin 30 8 * * *' }, undefined, '2026-03-02T07:30:00.000Z'],
    ['no sooner than a second after', { interval: '0s' }, undefined, '2026-03-01T10:00:01.000Z'],
  ])('a job comes %s', (_, succeededReconcile, automaticReconcileStatus, at) => {
    expect(wanted({ succeededReconcile }, { status: { automaticReconcileStatus } })).toEqual({
      cause: 'automatic reconcile',
      at,
      automaticReconcileStatus: { generation: 3, numberOfReconciles: 0, onFailed: false, lastReconcileTime: NOW },
    })
  })

  it('does not start automatically if only failures are retried, and vice versa', () => {
    expect(wanted({ failedReconcile: {} })).toBe(IDLE)
    expect(wanted({ succeededReconcile: {} }, failed())).toBe(IDLE)
  })
})

describe('after a failure', () => {
  it.each([
    ['at once', {}, undefined, AT_ONCE, 1],
    ['at once, when the last ones followed successes', {}, counted(0, false), AT_ONCE, 1],
    ['at once, when the spec was another one', {}, counted(7, true, 2), AT_ONCE, 1],
    ['five minutes after the one before', {}, counted(1, true), '2026-03-01T09:05:00.000Z', 2],
    ['at the interval', { interval: '1h', numberOfReconciles: 3 }, counted(2, true), '2026-03-01T10:00:00.000Z', 3],
    ['at the next time of the crontab', { cronSpec: '@hourly' }, counted(1, true), '2026-03-01T10:00:00.000Z', 2],
  ])('a job comes %s', (...[, failedReconcile, status, at, numberOfReconciles]) => {
    expect(wanted({ failedReconcile }, failed(status))).toEqual({
      cause: 'automatic reconcile after a failure',
      at,
      automaticReconcileStatus: { generation: 3, numberOfReconciles, onFailed: true, lastReconcileTime: NOW },
    })
  })

  it('starts also after a failed deletion', () => {
    const metadata = { deletionTimestamp: ENDED, generation: 3 }
    const status = { phase: 'DeleteFailed' }
    expect(wanted({ failedReconcile: {} }, { metadata, status })).toMatchObject({ at: AT_ONCE })
  })

  it('does not start after the configured number of retries', () => {
    expect(wanted({ failedReconcile: { numberOfReconciles: 2 } }, failed(counted(2, true)))).toBe(
      'Pawl retried it 2 times',
    )
    expect(wanted({ failedReconcile: { numberOfReconciles: 0 } }, failed())).toBe('Pawl retried it 0 times')
  })
})

describe('an interrupt annotation on an idle root', () => {
  it('does not prevent an automatic job', () => {
    const found = wanted({ succeededReconcile: {} }, { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
    expect(found).toMatchObject({ cause: 'automatic reconcile' })
  })
})

describe('nothing starts by itself', () => {
  const both = { succeededReconcile: {}, failedReconcile: {} }

  it.each<[string, Given]>([
    ['that runs', { status: { jobID: 'next' } }],
    ['that was edited', { metadata: { generation: 4 } }],
    ['that is to be left alone', { metadata: { annotations: { 'landscaper.gardener.cloud/ignore': 'true' } } }],
    ['for which something else was asked', { metadata: { annotations: { [OPERATION]: 'test' } } }],
    ['that has had no job', { status: { phase: undefined, jobID: undefined, jobIDFinished: undefined } }],
    ['that has a parent', { metadata: { ownerReferences: [ownerReference()] } }],
  ])('of one %s', (_, given) => {
    const found = wanted(both, given)
    expect(typeof found === 'string' ? found : found.cause).not.toMatch(/automatic/)
  })

  it.each([
    [
      { cronSpec: 'whenever' },
      'spec.automaticReconcile.succeededReconcile.cronSpec: found 1 field; expected a schedule such as "0 4 * * *"',
    ],
    [
      { cronSpec: '0 0 30 2 *' },
      'spec.automaticReconcile.succeededReconcile.cronSpec: no time matches; expected a schedule such as "0 4 * * *"',
    ],
    [
      { cronSpec: 'TZ=Mars/Base 0 0 * * *' },
      'spec.automaticReconcile.succeededReconcile.cronSpec: no time matches; expected a schedule such as "0 4 * * *"',
    ],
    [
      { interval: 'soon' },
      'spec.automaticReconcile.succeededReconcile.interval: not a duration; expected one such as 5m',
    ],
  ])('by %j, which means no time', (succeededReconcile, none) => {
    expect(wanted({ succeededReconcile })).toBe(none)
  })
})

describe('a requested job', () => {
  const annotations = { [OPERATION]: 'reconcile' }
  const status = { automaticReconcileStatus: counted(2, true) }

  it('restarts the count', () => {
    expect(wanted({}, { metadata: { annotations }, status })).toMatchObject({
      cause: 'reconcile annotation',
      automaticReconcileStatus: null,
    })
  })

  it('continues the count if the request is a retry', () => {
    const retry = { ...annotations, 'landscaper.gardener.cloud/reconcile-reason': 'retry' }
    expect(wanted({}, { metadata: { annotations: retry }, status })).not.toHaveProperty('automaticReconcileStatus')
  })
})

function ownerReference() {
  const apiVersion = 'landscaper.gardener.cloud/v1alpha1'
  return { apiVersion, kind: 'Installation', uid: 'parent', name: 'parent', controller: true }
}
