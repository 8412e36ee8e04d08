// Writes of actions in level mode: owners, objects in the way, and concurrent writers. Against an API server that the
// test controls, and a real journal.

import { beforeEach, describe, expect, inject, it } from 'vitest'

import type { Deps } from '../../activities/deps.ts'
import { createActivities } from '../../activities/index.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import {
  type ApplyInput,
  CONTENT,
  OWNER_ANNOTATION,
  type ObservedObject,
  OWNER_UID_LABEL,
  type StatusInput,
  type TargetEvent,
  type WantedObject,
} from '../../workflows/kit/index.ts'
import { refusal, type TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const SHOPS = '/apis/example.com/v1/namespaces/n/shops'
const MAPS = '/api/v1/namespaces/n/configmaps'

const stage = useWriteStage(inject('servers').databaseUrl)
let api: TinyApi
let deps: Deps
let act: ReturnType<typeof createActivities>
beforeEach(async () => {
  ;({ api } = stage())
  const followed = [{ apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', projection: [], hashed: [CONTENT] }]
  deps = { ...stage().deps, followed }
  await deps.db.deleteFrom('subscription').execute()
  act = createActivities(deps, [])
})

const by = { workflowID: 'shop/uid-shop', runID: 'run', pass: 1 }
const subject = { kind: 'Shop', uid: 'uid-shop', namespace: 'n', name: 'shop' }
const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const base = { by, subject, target }
const maps = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const owner = { apiVersion: 'example.com/v1', kind: 'Shop', name: 'shop', uid: 'uid-shop', controller: true }
const marks = {
  labels: { [OWNER_UID_LABEL]: 'uid-shop' },
  annotations: { [OWNER_ANNOTATION]: 'Shop.example.com/n/shop' },
}

const map = (data: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  data,
  metadata: { name: 'a', namespace: 'n', uid: 'uid-a', ...metadata },
})
const wanted = (data: object, metadata: object = {}): WantedObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  data,
  metadata: { name: 'a', ...metadata },
})
const apply = async (object: WantedObject, how: Partial<ApplyInput> = {}) =>
  await act.applyLevel({ ...base, resource: maps, object, ...how })
const observed = (object: KubeObject | undefined) => object as unknown as ObservedObject
const stored = (path = `${MAPS}/a`) => api.objects.get(path)
const writes = () => api.requests.filter((request) => !request.startsWith('GET'))
const subscriptions = async () => {
  const rows = await deps.db.selectFrom('subscription').selectAll().execute()
  return rows.map(({ controller, kind, namespace, name }) => [controller, kind, namespace, name].join(' '))
}

/** Makes a change just before the API server handles the next write, once. */
function race(change: () => void): void {
  api.intercept = ({ method }) => {
    if (method !== 'GET') {
      api.intercept = () => undefined
      change()
    }
    return undefined
  }
}

describe('a create in a namespace that is being deleted', () => {
  const details = { causes: [{ reason: 'NamespaceTerminating' }] }
  beforeEach(() => {
    const body = { reason: 'Forbidden', message: 'unable to create new content', details }
    api.intercept = ({ method }) => (method === 'POST' ? { status: 403, body } : undefined)
  })

  it('is a final fault in the namespace of the target', async () => {
    const message = expect.stringContaining('ConfigMap n/a: namespace "n" is being deleted') as string
    const fault = { type: 'NamespaceTerminating', nonRetryable: true, message }
    await expect(apply(wanted({}))).rejects.toMatchObject(fault)
    await expect(act.createLevel({ ...base, resource: maps, object: wanted({}) })).rejects.toMatchObject(fault)
  })

  it('is retried in another namespace, which may be recreated', async () => {
    const elsewhere = apply(wanted({}, { namespace: 'other' }), { elsewhere: true })
    await expect(elsewhere).rejects.toMatchObject({ type: 'NamespaceTerminating', nonRetryable: false })
  })
})

describe('an object that an action applies', () => {
  it('omits fields that the action sets to null, and is not written again for them', async () => {
    const object = { ...wanted({ key: 'x', gone: null }), list: [{ a: 1, b: null }] }
    await apply(object)
    await apply(object)
    expect(stored()).toMatchObject({ data: { key: 'x' }, list: [{ a: 1 }] })
    expect(stored()?.['data']).not.toHaveProperty('gone')
    expect(JSON.stringify(stored())).not.toContain('null')
    expect(writes()).toEqual(['POST n/configmaps'])
  })

  it('has its finalizers in addition to finalizers of other controllers, until they are released', async () => {
    await apply(wanted({}, { finalizers: ['example.com/a'], annotations: { note: 'ours' } }))
    expect(stored()?.metadata).toMatchObject({ finalizers: ['example.com/a'], annotations: { note: 'ours' } })
    api.put(`${MAPS}/a`, map({}, { ownerReferences: [owner], finalizers: ['theirs'] }))
    await apply(wanted({}, { finalizers: ['example.com/a'] }))
    expect(stored()?.metadata.finalizers).toEqual(['theirs', 'example.com/a'])
    const release = { ...base, resource: maps, object: observed(stored()), finalizer: 'example.com/a' }
    expect(await act.releaseLevel(release)).toBe('released')
    expect(await act.releaseLevel(release)).toBe('released')
    expect(stored()?.metadata.finalizers).toEqual(['theirs'])
    api.objects.clear()
    expect(await act.releaseLevel(release)).toBe('gone')
  })

  it.each([
    ['reported as gone when its last finalizer is released', {}, 'gone'],
    ['reported as released while its deletion grace period runs', { deletionGracePeriodSeconds: 30 }, 'released'],
  ])('is %s', async (_, metadata, answer) => {
    const going = { deletionTimestamp: 'now', finalizers: ['example.com/a'], ...metadata }
    api.put(`${MAPS}/a`, map({}, { ownerReferences: [owner], ...going }))
    const release = { ...base, resource: maps, object: observed(stored()), finalizer: 'example.com/a' }
    expect(await act.releaseLevel(release)).toBe(answer)
  })

  it('gets no finalizer while it is being deleted, because the server would reject it', async () => {
    api.put(`${MAPS}/a`, map({ key: 'x' }, { ownerReferences: [owner], deletionTimestamp: 'now', finalizers: ['b'] }))
    await apply(wanted({ key: 'x' }, { finalizers: ['example.com/a'] }))
    expect(writes()).toEqual([])
  })

  it('has no owner reference with owner none, and is found again by its owner annotation', async () => {
    await apply(wanted({ key: '1' }), { owner: 'none' })
    expect(stored()?.metadata).not.toHaveProperty('ownerReferences')
    expect(stored()?.metadata.annotations).toEqual(marks.annotations)
    // Another Shop with the same name, created later.
    await apply(wanted({ key: '2' }), { owner: 'none', subject: { ...subject, uid: 'uid-new' } })
    expect(stored()?.['data']).toEqual({ key: '2' })
    await expect(apply(wanted({ key: '3' }), { owner: 'none', subject: { ...subject, name: 'x' } })).rejects.toThrow(
      'belongs to nobody',
    )
  })

  it('has owner label and annotation instead of an owner reference in another namespace', async () => {
    await apply(wanted({ key: '1' }, { namespace: 'other' }), { elsewhere: true })
    const elsewhere = '/api/v1/namespaces/other/configmaps/a'
    expect(stored(elsewhere)?.metadata).toMatchObject({ namespace: 'other', ...marks })
    expect(stored(elsewhere)?.metadata).not.toHaveProperty('ownerReferences')
    await apply(wanted({ key: '1' }, { namespace: 'other' }), { elsewhere: true })
    expect(writes()).toEqual(['POST other/configmaps'])
  })
})

describe('an object that is only created', () => {
  const create = async (data: object) => await act.createLevel({ ...base, resource: maps, object: wanted(data) })

  it('is created if it does not exist, and otherwise stays unchanged', async () => {
    expect(await create({ key: '1' })).toBe('created')
    expect(await create({ key: '2' })).toBe('exists')
    expect(stored()).toMatchObject({ data: { key: '1' }, metadata: { ownerReferences: [owner] } })
    expect(await subscriptions()).toEqual([])
  })

  it('is subscribed to if it exists and the target does not own it', async () => {
    api.put(`${MAPS}/a`, map({}))
    expect(await create({ key: '1' })).toBe('exists')
    expect(await subscriptions()).toEqual(['shop ConfigMap n a'])
  })

  /**
   * Makes the first `times` creates fail because another writer's object has the name. That object is deleted each
   * time, just before the read that follows the subscription.
   */
  const heldFor = (times: number) => {
    api.put(`${MAPS}/a`, map({ key: 'theirs' }))
    let [gets, held] = [0, 1]
    api.intercept = ({ method, path }) => {
      if (method === 'POST' && stored() === undefined && held < times) {
        held++
        api.put(`${MAPS}/a`, map({ key: 'theirs' }))
      }
      // The refused create causes the first read; the second read follows the subscription.
      if (method === 'GET' && path === `${MAPS}/a` && ++gets % 2 === 0) api.objects.delete(path)
      return undefined
    }
  }

  it('is read again after the subscription, and created if it is gone', async () => {
    heldFor(2)
    expect(await create({ key: 'ours' })).toBe('created')
    expect(stored()).toMatchObject({ data: { key: 'ours' }, metadata: { ownerReferences: [owner] } })
  })

  it('is a retryable fault after other writers have created and deleted it 3 times', async () => {
    heldFor(100)
    const message = 'ConfigMap n/a was made and removed by others 3 times while it was created'
    await expect(create({ key: 'ours' })).rejects.toMatchObject({ type: 'Conflict', nonRetryable: false, message })
    expect(writes()).toHaveLength(3)
  })
})

describe('an object in the way', () => {
  it('stays unchanged unless the action adopts it, and the subject subscribes to it', async () => {
    api.put(`${MAPS}/a`, map({ key: 'by hand' }))
    await expect(apply(wanted({ key: 'ours' }))).rejects.toMatchObject({
      type: 'NotOwned',
      nonRetryable: true,
      message: 'ConfigMap n/a is there and belongs to nobody; expected it to be made for Shop n/shop, or `adopt: true`',
    })
    expect(await subscriptions()).toEqual(['shop ConfigMap n a'])
    expect(writes()).toEqual([])
    await apply(wanted({ key: 'ours' }), { adopt: true })
    expect(stored()?.metadata.ownerReferences).toEqual([owner])
  })

  it('is read again after the subscription, because no event reports an earlier change', async () => {
    api.put(`${MAPS}/a`, map({ key: 'theirs' }, { ownerReferences: [{ ...owner, uid: 'x' }] }))
    let gets = 0
    api.intercept = ({ method, path }) => {
      if (method === 'GET' && path === `${MAPS}/a` && ++gets === 2) api.objects.delete(path)
      return undefined
    }
    expect(await apply(wanted({ key: 'ours' }))).toBe('applied')
    expect(stored()?.['data']).toEqual({ key: 'ours' })
  })

  it('is a retryable fault if the worker does not follow its kind', async () => {
    act = createActivities({ ...deps, followed: [] }, [])
    api.put(`${MAPS}/a`, map({ key: 'by hand' }))
    await expect(apply(wanted({ key: 'ours' }))).rejects.toMatchObject({ type: 'NotOwned', nonRetryable: false })
    expect(await subscriptions()).toEqual([])
  })

  it('is detected even if it appears between the read and the write', async () => {
    api.put(`${MAPS}/a`, map({ key: 'old' }, { ownerReferences: [owner] }))
    race(() => api.put(`${MAPS}/a`, map({ key: 'theirs' }, { ownerReferences: [{ ...owner, uid: 'x' }] })))
    await expect(apply(wanted({ key: 'ours' }))).rejects.toMatchObject({ type: 'OwnedByAnother' })
    expect(stored()?.['data']).toEqual({ key: 'theirs' })
  })
})

describe('an object that is expected in one version', () => {
  it('is written only in that version, and the write succeeds if the object already has the fields', async () => {
    const before = api.put(`${MAPS}/a`, map({ key: '1' }, { ownerReferences: [owner] }))
    const expected = observed(before)
    expect(await apply(wanted({ key: '2' }), { expected })).toBe('applied')
    expect(await apply(wanted({ key: '2' }), { expected })).toBe('applied')
    expect(await apply(wanted({ key: '3' }), { expected })).toBe('changed')
    expect(stored()?.['data']).toEqual({ key: '2' })
  })

  it('is neither written nor recreated if another writer changes or deletes it before the write', async () => {
    const expected = observed(api.put(`${MAPS}/a`, map({ key: '1' }, { ownerReferences: [owner] })))
    race(() => api.put(`${MAPS}/a`, map({ key: 'theirs' }, { ownerReferences: [owner] })))
    expect(await apply(wanted({ key: '2' }), { expected })).toBe('changed')
    expect(stored()?.['data']).toEqual({ key: 'theirs' })
    api.objects.clear()
    expect(await apply(wanted({ key: '2' }), { expected })).toBe('changed')
    expect(stored()).toBeUndefined()
  })
})

describe('conditions of a status', () => {
  it('are written by type, and concurrent changes of other conditions stay', async () => {
    const condition = (type: string, status: string) => ({ type, status })
    const shop = (conditions: object[]): KubeObject => ({
      apiVersion: 'example.com/v1',
      kind: 'Shop',
      status: { conditions },
      metadata: { name: 'shop', namespace: 'n', uid: 'uid-shop' },
    })
    api.put(`${SHOPS}/shop`, shop([condition('Theirs', 'Unknown'), condition('Ours', 'False')]))
    race(() => api.put(`${SHOPS}/shop`, shop([condition('Theirs', 'True'), condition('Ours', 'False')])))
    const input: StatusInput = { ...base, version: '1', status: {}, conditions: [condition('Ours', 'True')] }
    const version = await act.writeLevelStatus(input)
    expect(stored(`${SHOPS}/shop`)?.['status']).toEqual({
      conditions: [condition('Theirs', 'True'), condition('Ours', 'True')],
    })
    expect(version).toBe(stored(`${SHOPS}/shop`)?.metadata.resourceVersion)
    expect(await act.writeLevelStatus(input)).toBe(version)
    expect(writes()).toHaveLength(2)
    await act.writeLevelStatus({ ...input, conditions: [{ type: 'Ours', status: null }] })
    expect(stored(`${SHOPS}/shop`)?.['status']).toEqual({ conditions: [condition('Theirs', 'True')] })
  })
})

describe('a value of a Secret', () => {
  const gaps = [{ at: ['data', 'url'], parts: ['to:', { secret: 'db', key: 'password' }, '!'] }]
  const secret = (data: object): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    data,
    metadata: { name: 'db', namespace: 'n', uid: 'uid-db' },
  })
  const SECRET = '/api/v1/namespaces/n/secrets/db'
  const password = Buffer.from('canary').toString('base64')

  it('is filled in when an action writes an object, and is written again when the value changes', async () => {
    api.put(SECRET, secret({ password }))
    await apply(wanted({ url: '' }), { gaps })
    await apply(wanted({ url: '' }), { gaps })
    expect(stored()?.['data']).toEqual({ url: 'to:canary!' })
    api.put(SECRET, secret({ password: Buffer.from('new').toString('base64') }))
    await apply(wanted({ url: '' }), { gaps })
    expect(stored()?.['data']).toEqual({ url: 'to:new!' })
    expect(writes()).toEqual(['POST n/configmaps', 'PATCH configmaps/a'])
    const patch = { ...base, resource: maps, object: observed(stored()), fenced: false }
    await act.patchLevel({ ...patch, patch: { data: { other: '' } }, gaps: [{ ...gaps[0]!, at: ['data', 'other'] }] })
    expect(stored()?.['data']).toEqual({ url: 'to:new!', other: 'to:new!' })
  })

  it('can be written to another Secret, which is not written again if it is unchanged', async () => {
    api.put(SECRET, secret({ password }))
    const object = { ...wanted({}), kind: 'Secret', data: undefined, stringData: { key: '' } }
    const input = { resource: { ...maps, kind: 'Secret', plural: 'secrets' } }
    const inKey = [{ ...gaps[0]!, at: ['stringData', 'key'] }]
    await apply(object, { ...input, gaps: inKey })
    await apply(object, { ...input, gaps: inKey })
    const made = stored('/api/v1/namespaces/n/secrets/a')
    expect(made?.['data']).toEqual({ key: Buffer.from('to:canary!').toString('base64') })
    expect(made).not.toHaveProperty('stringData')
    expect(writes()).toEqual(['POST n/secrets'])
  })

  it('causes a retryable fault if it is missing, or a final fault and a subscription if the worker follows Secrets', async () => {
    const message = 'Secret n/db is not there; expected it with the value that is wanted for Shop n/shop'
    await expect(apply(wanted({ url: '' }), { gaps })).rejects.toMatchObject({
      type: 'SecretNotFound',
      nonRetryable: false,
      message,
    })
    api.put(SECRET, secret({}))
    const kind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets', projection: [], hashed: [] }
    act = createActivities({ ...deps, followed: [kind] }, [])
    await expect(apply(wanted({ url: '' }), { gaps })).rejects.toMatchObject({
      type: 'SecretNotFound',
      nonRetryable: true,
      message: message.replace('is not there', 'has no key password'),
    })
    expect(await subscriptions()).toEqual(['shop Secret n db'])
    expect(writes()).toEqual([])
  })

  it('is not read from another namespace, and appears in no message and no journal row', async () => {
    const elsewhere = [{ at: ['data', 'url'], parts: [{ secret: 'db', key: 'password', namespace: 'other' }] }]
    await expect(apply(wanted({ url: '' }), { gaps: elsewhere })).rejects.toMatchObject({ type: 'OtherNamespace' })
    api.put(SECRET, secret({ password }))
    const body = {
      kind: 'Status',
      status: 'Failure',
      reason: 'BadRequest',
      message: `"canary" or ${password} is wrong`,
    }
    api.intercept = ({ method }) => (method === 'GET' ? undefined : { status: 400, body })
    const redactedMessage = { message: expect.stringContaining('"***" or *** is wrong') as string }
    await expect(apply(wanted({ url: '' }), { gaps })).rejects.toMatchObject(redactedMessage)
    const object = observed(api.put(`${MAPS}/b`, map({}, { name: 'b', uid: 'uid-b' })))
    const patch = { ...base, resource: maps, object, patch: { data: { url: '' } }, gaps, fenced: false }
    await expect(act.patchLevel(patch)).rejects.toMatchObject(redactedMessage)
    await deps.journal.flush(base.by.workflowID)
    const rows = await deps.db.selectFrom('action').select('error').execute()
    expect(rows).toHaveLength(2)
    expect(JSON.stringify(rows)).not.toMatch(/canary|Y2FuYXJ5/)
  })
})

describe('an Event that an action records', () => {
  const tell = async (event: Partial<TargetEvent> = {}, runID = 'run') =>
    await act.eventLevel({
      ...base,
      by: { ...by, runID },
      event: { type: 'Normal', reason: 'Opened', message: 'the shop is open', ...event },
    })
  const events = () => [...api.objects.values()].filter(({ kind }) => kind === 'Event')

  it('is recorded once on the target, even if several passes and runs repeat it, unless its type or occasion differs', async () => {
    await tell()
    await tell()
    await tell({}, 'later')
    expect(events()).toMatchObject([
      {
        type: 'Normal',
        reason: 'Opened',
        message: 'the shop is open',
        source: { component: 'pawl-shop' },
        involvedObject: { kind: 'Shop', name: 'shop', namespace: 'n', uid: 'uid-shop', apiVersion: 'example.com/v1' },
      },
    ])
    await tell({ occasion: 'tomorrow' })
    await tell({ type: 'Warning' })
    expect(events()).toHaveLength(3)
  })

  it('has annotations, which do not make it a different Event', async () => {
    await tell({ annotations: { 'example.com/shop': '{"open":true}' } })
    await tell({ annotations: { 'example.com/shop': '{"open":false}' } })
    await tell()
    expect(events().map(({ metadata }) => metadata.annotations)).toEqual([{ 'example.com/shop': '{"open":true}' }])
  })

  it('is recorded before the write that carries it, in the order of the action', async () => {
    const told = ['Opened', 'Renamed'].map((reason) => ({ event: { type: 'Normal', reason, message: 'm' } as const }))
    await apply(wanted({}), { told })
    expect(events().map((event) => event['reason'])).toEqual(['Opened', 'Renamed'])
    expect(writes()).toEqual(['POST n/events', 'POST n/events', 'POST n/configmaps'])
  })

  it('that the API server rejects does not fail the action', async () => {
    api.intercept = ({ method }) => (method === 'POST' ? refusal(403, 'Forbidden') : undefined)
    await tell()
    expect(events()).toEqual([])
  })
})
