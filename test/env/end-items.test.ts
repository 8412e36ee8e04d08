// Tests activities that end items without a deployer, for an interrupt or a pickup timeout, in races with other
// clients: against an API server that the test drives, and a real journal. Source: spec/landscaper.md 2.10, 2.11.

import { MANAGED_BY_LABEL, OPERATION_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import type { LandscaperActivities } from '../../activities/landscaper/wing.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { ownerReference } from '../../activities/kube/owners.ts'
import { deployer as mockDeployer } from '../../activities/landscaper/deploy/mock/deployer.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { refusal, type TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { activitiesOf, landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'

const BASE = `/apis/${executionKind.apiVersion}/namespaces/n`
const EXECUTION = `${BASE}/executions/exec`
const LONG_AGO = '2029-12-31T23:59:50Z'
const NOW = '2030-01-01T00:00:00.000Z'
const JOB = 'job-2'
const BEFORE = { jobID: 'job-1', jobIDFinished: 'job-1', phase: 'Succeeded' }
const TRIGGERED = { ...BEFORE, jobID: JOB, jobIDGenerationTime: LONG_AGO }

const stage = useWriteStage(inject('servers').databaseUrl)
let api: TinyApi
let act: LandscaperActivities

/** Statuses by item name: another client writes such a status just before the activity's next write to the item. */
let race: Readonly<Record<string, object>> = {}

beforeEach(() => {
  api = stage().api
  act = activitiesOf(landscaperDeps(stage().deps, { pickupTimeoutMs: 2000 }))
  race = {}
  const annotations = { [OPERATION_ANNOTATION]: 'interrupt' }
  const metadata = { name: 'exec', namespace: 'n', uid: 'uid-exec', generation: 1, annotations }
  api.put(EXECUTION, { apiVersion: executionKind.apiVersion, kind: 'Execution', metadata, spec: {}, status: TRIGGERED })
  api.intercept = ({ method, path }) => {
    if (method === 'GET' && path === `${BASE}/deployitems`) return { status: 200, body: { items: items() } }
    const name = path.split('/')[7] ?? ''
    const status = race[name]
    if (method !== 'PATCH' || status === undefined) return undefined
    race = {}
    put(name, status)
    return undefined
  }
})

const items = () => [...api.objects.values()].filter(({ kind }) => kind === 'DeployItem')
const statusOf = (name: string) => api.objects.get(`${BASE}/deployitems/${name}`)?.['status']
const isInterrupted = () => api.objects.get(EXECUTION)?.metadata.annotations?.[OPERATION_ANNOTATION] !== undefined
const writes = () => api.requests.filter((request) => /^PATCH (deployitems|executions|\w+\/status|exec)/.test(request))

function put(name: string, status: object, { type = 'example.org/foreign', metadata = {} } = {}): KubeObject {
  const owner = ownerReference(executionKind, { name: 'exec', uid: 'uid-exec' })
  const labels = { [MANAGED_BY_LABEL]: 'exec' }
  const place = { name, namespace: 'n', uid: `uid-${name}`, ownerReferences: [owner], labels }
  const own = { ...place, finalizers: ['x'], ...metadata }
  const object = { apiVersion: deployItemKind.apiVersion, kind: 'DeployItem', metadata: own, spec: { type }, status }
  return api.put(`${BASE}/deployitems/${name}`, object)
}

/** The input of a pass that has observed the current versions of the objects. */
function input(objects: readonly KubeObject[]) {
  return {
    by: { workflowID: 'execution/uid-exec/job-2', runID: 'run', pass: 1 },
    subject: { kind: 'Execution', uid: 'uid-exec', namespace: 'n', name: 'exec' },
    jobID: JOB,
    version: api.objects.get(EXECUTION)?.metadata.resourceVersion ?? '',
    items: objects.map(({ metadata, status }) => ({
      uid: metadata.uid ?? '',
      name: metadata.name,
      version: metadata.resourceVersion ?? '',
      finalizers: ['x'],
      jobID: (status as { jobID?: string }).jobID,
    })),
  }
}

const ERROR = {
  operation: 'InterruptOperation',
  reason: 'InterruptOperation',
  message: 'operation was interrupted',
  codes: [],
  lastTransitionTime: NOW,
  lastUpdateTime: NOW,
}

/** The input of a pass that has observed the interrupt annotation of the Execution. */
function asking(given: Parameters<typeof input>[0]) {
  const { version, jobID, ...items } = input(given)
  return { ...items, jobID, request: { version, jobID } }
}

describe('an interrupt', () => {
  it('ends items in one write each, triggered or not, and then goes off the execution', async () => {
    const old = {
      lastError: { ...ERROR, message: 'old' },
      lastErrors: [ERROR],
      transitionTimes: { initTime: LONG_AGO },
    }
    const leaving = { type: mockDeployer.type, metadata: { deletionTimestamp: NOW } }
    const given = [
      put('fresh', { ...BEFORE, ...old }),
      put('taken', { ...TRIGGERED, ...old }),
      put('gone', TRIGGERED, leaving),
    ]
    const result = await act.interruptExecution(asking(given))
    const end = { jobID: JOB, jobIDFinished: JOB, phase: 'Failed', lastError: ERROR }
    expect(statusOf('fresh')).toEqual({
      ...end,
      firstError: ERROR,
      lastErrors: [ERROR],
      transitionTimes: { finishedTime: NOW },
    })
    expect(statusOf('taken')).toMatchObject({
      ...end,
      lastErrors: [ERROR, ERROR],
      firstError: ERROR,
      transitionTimes: { initTime: LONG_AGO, finishedTime: NOW },
    })
    expect(statusOf('gone')).toMatchObject({ ...end, phase: 'DeleteFailed' })
    expect(writes()).toHaveLength(4)
    expect(isInterrupted()).toBe(false)
    expect(result).toMatchObject({ failures: [], gone: [], target: { interruptRequested: false } })
  })

  it('leaves an end that came meanwhile, and a job that came meanwhile', async () => {
    const given = [put('done', TRIGGERED), put('next', TRIGGERED)]
    const ended = { ...TRIGGERED, jobIDFinished: JOB, phase: 'Succeeded' }
    race = { done: ended }
    put('next', { ...TRIGGERED, jobID: 'job-3' })
    const { items: after } = await act.interruptExecution(asking(given))
    expect(statusOf('done')).toEqual(ended)
    expect(statusOf('next')).toMatchObject({ jobID: 'job-3', phase: 'Succeeded' })
    expect(after.map(({ name, jobIDFinished }) => [name, jobIDFinished]).toSorted()).toEqual([
      ['done', JOB],
      ['next', 'job-1'],
    ])
  })

  it('ends items whose job has begun since the pass looked, by their own first writes', async () => {
    const given = [put('looked', BEFORE), put('raced', BEFORE)]
    const begun = { ...TRIGGERED, phase: 'Progressing', transitionTimes: { initTime: NOW } }
    const asked = asking(given)
    put('looked', begun)
    race = { raced: begun }
    await act.interruptExecution(asked)
    for (const name of ['looked', 'raced'])
      expect(statusOf(name)).toMatchObject({ jobID: JOB, jobIDFinished: JOB, phase: 'Failed', lastError: ERROR })
    expect(isInterrupted()).toBe(false)
  })

  it('is there until its items are ended, and repeated after a crash ends nothing twice', async () => {
    const given = [put('one', TRIGGERED)]
    const served = api.intercept
    api.intercept = (request) => (request.path === EXECUTION ? refusal(500, 'InternalError') : served(request))
    await expect(act.interruptExecution(asking(given))).rejects.toMatchObject({
      type: 'InternalError',
      nonRetryable: false,
    })
    expect(isInterrupted()).toBe(true)

    api.intercept = served
    const before = writes().length
    expect((await act.interruptExecution(asking(given))).target).toMatchObject({ interruptRequested: false })
    expect(writes().slice(before)).toEqual(['PATCH executions/exec'])
    expect(isInterrupted()).toBe(false)
  })

  it('stays on the execution while an item cannot be ended', async () => {
    const given = [put('one', TRIGGERED), put('two', TRIGGERED)]
    const served = api.intercept
    api.intercept = (request) => (request.path.includes('/one/') ? refusal(422, 'Invalid') : served(request))
    const result = await act.interruptExecution(asking(given))
    expect(result).toMatchObject({ failures: [{ object: 'one', code: 'Invalid' }], target: undefined })
    expect(statusOf('two')).toMatchObject({ phase: 'Failed' })
    expect(isInterrupted()).toBe(true)
  })

  it('is not taken off another job', async () => {
    const given = input([])
    const execution = api.objects.get(EXECUTION)!
    api.put(EXECUTION, { ...execution, status: { ...TRIGGERED, jobID: 'job-3' } })
    expect(await act.forgetInterrupt(given)).toBeUndefined()
    expect(isInterrupted()).toBe(true)
  })
})

describe('an item that waits for its deployer', () => {
  it('is ended when it has waited too long', async () => {
    await act.endUnclaimedItems(input([put('late', TRIGGERED)]))
    expect(statusOf('late')).toMatchObject({
      jobIDFinished: JOB,
      phase: 'Failed',
      lastError: {
        operation: 'WaitingForPickup',
        reason: 'PickupTimeout',
        codes: ['ERR_TIMEOUT'],
        message:
          'spec.type: no deployer has started items of type "example.org/foreign" for 10s (--pickup-timeout: 2s); start its deployer, ' +
          'or use a type that Pawl deploys: landscaper.gardener.cloud/kubernetes-manifest, landscaper.gardener.cloud/mock',
      },
    })
  })

  it.each([
    ['a deployer takes it up just then', { ...TRIGGERED, lastReconcileTime: NOW, phase: 'Progressing' }],
    ['it was triggered again just then', { ...TRIGGERED, jobIDGenerationTime: NOW }],
  ])('is left alone when %s', async (_, status) => {
    const given = [put('late', TRIGGERED)]
    race = { late: status }
    const { items: after } = await act.endUnclaimedItems(input(given))
    expect(statusOf('late')).toEqual(status)
    expect(after).toHaveLength(1)
  })

  it.each([
    ['has not waited long enough', { ...TRIGGERED, jobIDGenerationTime: '2029-12-31T23:59:59Z' }, {}],
    ['is of a type that Pawl serves', TRIGGERED, { type: mockDeployer.type }],
    ['was triggered by hand, nobody knows when', { ...BEFORE, jobID: JOB }, {}],
  ])('is not ended when it %s', async (_, status, options) => {
    await act.endUnclaimedItems(input([put('item', status, options)]))
    expect(statusOf('item')).toEqual(status)
  })
})
