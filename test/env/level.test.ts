// Writes of the activities in level mode, and their races: objects, status and finalizers. Against an API server that
// the test controls, and a real journal.

import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import { createActivities } from '../../activities/index.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import type { ApplyInput, ObservedObject, WantedObject } from '../../workflows/kit/index.ts'
import type { TestDatabase } from '../activities/journal/test-database.ts'
import { refusal, type TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { base, by, map, MAPS, maps, owner, shop, stranger, target, TARGETS } from './level-shop.ts'

const stage = useWriteStage(inject('servers').databaseUrl)
let api: TinyApi
let database: TestDatabase
let act: ReturnType<typeof createActivities>
beforeEach(async () => {
  const { deps, ...rest } = stage()
  ;({ api, database } = rest)
  await database.db.deleteFrom('subscription').execute()
  act = createActivities(deps, [])
})

const wanted = (data: object, metadata: object = {}): WantedObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  data,
  metadata: { name: 'a', ...metadata },
})
const apply = async (object: WantedObject, how: Partial<ApplyInput> = {}) =>
  await act.applyLevel({ ...base, resource: maps, object, ...how })
const stored = (path = `${MAPS}/a`) => api.objects.get(path)
const writes = () => api.requests.filter((request) => !request.startsWith('GET'))

/** Something else happens just before the next write is served, once. */
function race(change: () => void): void {
  api.intercept = ({ method }) => {
    if (method !== 'GET') {
      api.intercept = () => undefined
      change()
    }
    return undefined
  }
}

/** Rejects all writes with strict field validation, as if the server knew none of their fields. */
function refuseUnknownFields(): void {
  api.intercept = ({ method, query }) =>
    method !== 'GET' && query['fieldValidation'] === 'Strict' ? refusal(400, 'BadRequest') : undefined
}

describe('an object that is applied', () => {
  it('is created once with the target as owner, and is not written again if it is unchanged', async () => {
    await apply(wanted({ key: 'value' }, { labels: { app: 'shop' } }))
    await apply(wanted({ key: 'value' }, { labels: { app: 'shop' } }))
    expect(stored()).toMatchObject({
      data: { key: 'value' },
      metadata: { labels: { app: 'shop' }, ownerReferences: [owner] },
    })
    expect(writes()).toEqual(['POST n/configmaps'])
    const actions = await database.db.selectFrom('action').select(['object', 'verb', 'field_manager']).execute()
    expect(actions).toEqual([{ object: 'ConfigMap/n/a', verb: 'create', field_manager: 'pawl-shop' }])
  })

  it('gets its fields despite concurrent writes, and keeps the fields of other writers', async () => {
    api.put(`${MAPS}/a`, map({ key: 'old' }, { ownerReferences: [owner] }))
    race(() => api.put(`${MAPS}/a`, map({ key: 'old', theirs: 'new' }, { ownerReferences: [owner] })))
    await apply(wanted({ key: 'ours' }))
    expect(stored()?.['data']).toEqual({ key: 'ours', theirs: 'new' })
    expect(writes()).toEqual(['PATCH configmaps/a', 'PATCH configmaps/a'])
  })

  it('is created and patched with strict field validation', async () => {
    refuseUnknownFields()
    const dropped = {
      type: 'BadRequest',
      nonRetryable: true,
      message: expect.stringMatching(/^ConfigMap n\/a: .*400/) as string,
    }
    await expect(apply(wanted({ key: 'value' }))).rejects.toMatchObject(dropped)
    api.put(`${MAPS}/a`, map({ key: 'old' }, { ownerReferences: [owner] }))
    await expect(apply(wanted({ key: 'value' }))).rejects.toMatchObject(dropped)
  })

  it('is adopted if another writer created it meanwhile without an owner and the action sets adopt', async () => {
    race(() => api.put(`${MAPS}/a`, map({ theirs: 'kept' })))
    await apply(wanted({ key: 'ours' }), { adopt: true })
    expect(stored()).toMatchObject({ data: { key: 'ours', theirs: 'kept' }, metadata: { ownerReferences: [owner] } })
  })

  it('stays unchanged if another object controls it', async () => {
    api.put(`${MAPS}/a`, map({ key: 'theirs' }, { ownerReferences: [stranger] }))
    await expect(apply(wanted({ key: 'ours' }))).rejects.toMatchObject({
      type: 'OwnedByAnother',
      // Retryable: the bridge does not watch ConfigMaps here, so a change of the object would not wake the target.
      nonRetryable: false,
      message: 'ConfigMap n/a is owned by Shop other; expected nobody, or Shop n/shop',
    })
    expect(writes()).toEqual([])
  })

  it.each([
    ['OtherNamespace', { namespace: 'kube-system' }],
    ['InvalidName', { name: '..' }],
    ['InvalidName', { name: 'a/../b' }],
  ])('is rejected without a request: %s', async (type, metadata) => {
    await expect(apply(wanted({}, metadata))).rejects.toMatchObject({ type, nonRetryable: true })
    expect(api.requests).toEqual([])
  })

  it('may be the target itself, which gets no owner reference', async () => {
    api.put(`${TARGETS}/shop`, shop())
    const object = { ...target, metadata: { name: 'shop', labels: { seen: 'yes' } } } as WantedObject
    await act.applyLevel({ ...base, resource: target, object })
    expect(stored(`${TARGETS}/shop`)?.metadata).toMatchObject({ labels: { seen: 'yes' } })
    expect(stored(`${TARGETS}/shop`)?.metadata.ownerReferences).toBeUndefined()
  })
})

describe('an activity that is cancelled or has timed out', () => {
  const started = (agoMs: number, { signal }: AbortController = new AbortController()) =>
    ({
      cancellationSignal: signal,
      info: { scheduledTimestampMs: Date.now() - agoMs, scheduleToCloseTimeoutMs: 60_000 },
    }) as unknown as Context
  const cutOff = { type: 'CutOff', nonRetryable: true }

  it('writes nothing if the cancellation arrives between its read and its write', async () => {
    const abort = new AbortController()
    api.intercept = () => {
      abort.abort()
      return undefined
    }
    const applying = asyncLocalStorage.run(started(0, abort), () => apply(wanted({ key: 'value' })))
    await expect(applying).rejects.toMatchObject(cutOff)
    expect(writes()).toEqual([])
  })

  it('writes nothing after its timeout, even if no cancellation has arrived', async () => {
    const applying = asyncLocalStorage.run(started(60_001), () => apply(wanted({ key: 'value' })))
    await expect(applying).rejects.toMatchObject(cutOff)
    expect(writes()).toEqual([])
  })
})

describe('an object that is removed', () => {
  const remove = async (object: KubeObject) =>
    await act.removeLevel({ ...base, resource: maps, object: object as unknown as ObservedObject })

  it('is deleted in the observed version, and counts as removed if it does not exist', async () => {
    const object = api.put(`${MAPS}/a`, map({}))
    expect(await remove(object)).toBe('removed')
    expect(stored()).toBeUndefined()
    expect(await remove(object)).toBe('removed')
  })

  it('stays if it has changed since, or if another object has its name', async () => {
    const object = api.put(`${MAPS}/a`, map({}))
    api.put(`${MAPS}/a`, map({ new: 'yes' }))
    expect(await remove(object)).toBe('changed')
    api.put(`${MAPS}/a`, map({ other: 'yes' }, { uid: 'uid-b' }))
    expect(await remove(object)).toBe('removed')
    expect(stored()?.['data']).toEqual({ other: 'yes' })
  })
})

describe('cluster-scoped objects', () => {
  const NODES = '/api/v1/nodes'
  const nodes = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', withoutNamespace: true } as const
  const rack = { kind: 'Rack', uid: 'uid-rack', namespace: '', name: 'rack' }
  const racks = { apiVersion: 'example.com/v1', kind: 'Rack', plural: 'racks' }
  const global = { by: { ...by, workflowID: 'rack/uid-rack' }, subject: rack, target: racks, resource: nodes }
  const node = (labels: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a', uid: 'uid-a', labels: labels as Record<string, string> },
  })
  const acted = async () => {
    await stage().deps.journal.flush(global.by.workflowID)
    return await database.db.selectFrom('action').select(['object', 'verb']).orderBy('verb').execute()
  }

  it('are applied and removed for a cluster-scoped target', async () => {
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', labels: { rack: 'one' } } }
    const label = async () => await act.applyLevel({ ...global, object })
    await label()
    await label()
    expect(stored(`${NODES}/a`)?.metadata).toMatchObject({
      labels: { rack: 'one' },
      ownerReferences: [{ kind: 'Rack', name: 'rack', uid: 'uid-rack', controller: true }],
    })
    const observed = stored(`${NODES}/a`) as unknown as ObservedObject
    expect(await act.removeLevel({ ...global, object: observed })).toBe('removed')
    expect(writes()).toEqual(['POST v1/nodes', 'DELETE nodes/a'])
    expect(await acted()).toEqual([
      { object: 'Node//a', verb: 'create' },
      { object: 'Node//a', verb: 'delete' },
    ])
  })

  it('stay if they have changed since the observation', async () => {
    const observed = api.put(`${NODES}/a`, node()) as unknown as ObservedObject
    api.put(`${NODES}/a`, node({ new: 'yes' }))
    expect(await act.removeLevel({ ...global, object: observed })).toBe('changed')
    expect(stored(`${NODES}/a`)?.metadata.labels).toEqual({ new: 'yes' })
  })

  it('are not created for a namespaced target, because garbage collection would not delete them', async () => {
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } }
    await expect(act.applyLevel({ ...base, resource: nodes, object })).rejects.toMatchObject({ type: 'OtherNamespace' })
  })
})

describe('the status of a target', () => {
  const write = async (status: Record<string, string | object | null>) =>
    await act.writeLevelStatus({ ...base, version: '1', status: status as Record<string, string | null> })

  it('gets each field of this controller as a whole, and keeps concurrent changes of other writers', async () => {
    api.put(`${TARGETS}/shop`, shop({ status: { ours: { a: 1, b: 2 }, old: 'x', theirs: 'old' } }))
    race(() => api.put(`${TARGETS}/shop`, shop({ status: { ours: { a: 1, b: 2 }, old: 'x', theirs: 'new' } })))
    await write({ ours: { a: 3 }, old: null })
    expect(stored(`${TARGETS}/shop`)?.['status']).toEqual({ ours: { a: 3 }, theirs: 'new' })
  })

  it('is not written if it is unchanged, or if the target is deleted or replaced', async () => {
    api.put(`${TARGETS}/shop`, shop({ status: { ours: 'x' } }))
    await write({ ours: 'x' })
    api.put(`${TARGETS}/shop`, shop({}, { uid: 'uid-new' }))
    expect(await write({ ours: 'y' })).toBeUndefined()
    api.objects.clear()
    expect(await write({ ours: 'y' })).toBeUndefined()
    expect(writes()).toEqual([])
  })

  it('is sent with strict field validation, and an unknown field is a fault', async () => {
    api.put(`${TARGETS}/shop`, shop())
    refuseUnknownFields()
    await expect(write({ ours: 'x' })).rejects.toMatchObject({
      type: 'BadRequest',
      nonRetryable: true,
      message: expect.stringMatching(/^status of Shop n\/shop: .*400/) as string,
    })
  })

  it('causes the fault NoStatusEndpoint if the kind has no status endpoint', async () => {
    api.put(`${TARGETS}/shop`, shop())
    api.intercept = ({ path }) => (path.endsWith('/status') ? refusal(404, 'NotFound') : undefined)
    await expect(write({ ours: 'x' })).rejects.toMatchObject({ type: 'NoStatusEndpoint', nonRetryable: true })
  })
})

describe('the finalizer of a controller', () => {
  it('is added and removed once each, and finalizers of other controllers stay', async () => {
    api.put(`${TARGETS}/shop`, shop({}, { finalizers: ['theirs'] }))
    const finalize = async (guarded: boolean) =>
      await act.finalizeLevel({ ...base, version: '1', finalizer: 'example.com/hold', guarded })
    race(() => api.put(`${TARGETS}/shop`, shop({}, { finalizers: ['theirs', 'new'] })))
    expect((await finalize(true))?.metadata.finalizers).toEqual(['theirs', 'new', 'example.com/hold'])
    await finalize(true)
    expect((await finalize(false))?.metadata.finalizers).toEqual(['theirs', 'new'])
    await finalize(false)
    expect(writes()).toEqual(['PATCH shops/shop', 'PATCH shops/shop', 'PATCH shops/shop'])
  })
})
