// Writes of actions in level mode: owners, objects in the way, concurrent writers, and patches of objects of other
// owners. Against an API server that the test controls, and a real journal.

import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { describe, expect, inject, it } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import type { ObjectPatch, WantedObject } from '../../workflows/kit/index.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import {
  base,
  by,
  map,
  MAP,
  maps,
  marks,
  observed,
  owner,
  shop,
  SHOP,
  stranger,
  subject,
  target,
  useLevelStage,
  wanted,
} from './level-stage.ts'

const stage = useLevelStage(inject('servers').databaseUrl)
const { apply, putMap, race, stored, subscriptions, writes } = stage
const create = async (data: object) => await stage.act.createLevel({ ...base, resource: maps, object: wanted(data) })

describe('an object that is applied', () => {
  it('is created once with the target as owner and without null fields, and is not written again', async () => {
    const object = { ...wanted({ key: 'x', gone: null }, { labels: { app: 'shop' } }), list: [{ a: 1, b: null }] }
    await apply(object)
    await apply(object)
    expect(stored()).toMatchObject({ metadata: { labels: { app: 'shop' }, ownerReferences: [owner] } })
    expect([stored()?.['data'], stored()?.['list']]).toEqual([{ key: 'x' }, [{ a: 1 }]])
    expect(writes()).toEqual(['POST n/configmaps'])
    const actions = await stage.deps.db.selectFrom('action').select(['object', 'verb', 'field_manager']).execute()
    expect(actions).toEqual([{ object: 'ConfigMap/n/a', verb: 'create', field_manager: 'pawl-shop' }])
  })

  it('gets its fields despite concurrent writes, and keeps the fields of other writers', async () => {
    putMap({ key: 'old' })
    race(() => putMap({ key: 'old', theirs: 'new' }))
    await apply(wanted({ key: 'ours' }))
    expect(stored()?.['data']).toEqual({ key: 'ours', theirs: 'new' })
    expect(writes()).toEqual(['PATCH configmaps/a', 'PATCH configmaps/a'])
  })

  it.each(['created', 'patched'])(
    'is %s with strict field validation; an unknown field is a final fault',
    async (how) => {
      if (how === 'patched') putMap({ key: 'old' })
      stage.api.intercept = ({ method, query }) =>
        method !== 'GET' && query['fieldValidation'] === 'Strict' ? refusal(400, 'BadRequest') : undefined
      const message = expect.stringMatching(/^ConfigMap n\/a: .*400/) as string
      await expect(apply(wanted({ key: 'x' }))).rejects.toMatchObject({
        type: 'BadRequest',
        nonRetryable: true,
        message,
      })
    },
  )

  it.each<[string, WantedObject, object?]>([
    ['OtherNamespace', wanted({}, { namespace: 'kube-system' })],
    // Garbage collection would not delete it.
    [
      'OtherNamespace',
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } },
      { plural: 'nodes', withoutNamespace: true },
    ],
    ['InvalidName', wanted({}, { name: '..' })],
    ['InvalidName', wanted({}, { name: 'a/../b' })],
  ])('is rejected without a request: %s, %j', async (type, object, resource) => {
    const how = { resource: { ...maps, kind: object.kind, ...resource } }
    await expect(apply(object, how)).rejects.toMatchObject({ type, nonRetryable: true })
    expect(stage.api.requests).toEqual([])
  })

  it('may be the target itself, which gets no owner reference', async () => {
    stage.api.put(SHOP, shop())
    await apply(
      { ...target, metadata: { name: 'shop', labels: { seen: 'yes' } } },
      {
        resource: target,
      },
    )
    expect(stored(SHOP)?.metadata).toMatchObject({ labels: { seen: 'yes' } })
    expect(stored(SHOP)?.metadata.ownerReferences).toBeUndefined()
  })

  it('has no owner reference with owner none, and is found again by its owner annotation', async () => {
    await apply(wanted({ key: '1' }), { owner: 'none' })
    expect(stored()?.metadata).not.toHaveProperty('ownerReferences')
    expect(stored()?.metadata.annotations).toEqual(marks.annotations)
    // Another Shop with the same name, created later.
    await apply(wanted({ key: '2' }), { owner: 'none', subject: { ...subject, uid: 'uid-new' } })
    expect(stored()?.['data']).toEqual({ key: '2' })
    await expect(apply(wanted({ key: '3' }), { owner: 'none', subject: { ...subject, name: 'x' } })).rejects.toThrow(
      'does not own it',
    )
  })

  it('has owner label and annotation instead of an owner reference in another namespace', async () => {
    const write = async () => await apply(wanted({ key: '1' }, { namespace: 'other' }), { elsewhere: true })
    await write()
    await write()
    const elsewhere = stored('/api/v1/namespaces/other/configmaps/a')?.metadata
    expect(elsewhere).toMatchObject({ namespace: 'other', ...marks })
    expect(elsewhere).not.toHaveProperty('ownerReferences')
    expect(writes()).toEqual(['POST other/configmaps'])
  })
})

describe('finalizers of an object that is applied', () => {
  const held = (metadata: object = {}) => wanted({}, { finalizers: ['example.com/a'], ...metadata })
  const release = async (object = stored()) =>
    await stage.act.releaseLevel({ ...base, resource: maps, object: observed(object), finalizer: 'example.com/a' })

  it('are added to finalizers of other controllers, until they are released', async () => {
    await apply(held({ annotations: { note: 'ours' } }))
    expect(stored()?.metadata).toMatchObject({ finalizers: ['example.com/a'], annotations: { note: 'ours' } })
    const object = putMap({}, { ownerReferences: [owner], finalizers: ['theirs'] })
    await apply(held())
    expect(stored()?.metadata.finalizers).toEqual(['theirs', 'example.com/a'])
    expect([await release(object), await release(object)]).toEqual(['released', 'released'])
    expect(stored()?.metadata.finalizers).toEqual(['theirs'])
    stage.api.objects.clear()
    expect(await release(object)).toBe('gone')
  })

  it.each([
    ['gone when the last one is released', {}, 'gone'],
    ['released while its deletion grace period runs', { deletionGracePeriodSeconds: 30 }, 'released'],
  ])('report the object as %s', async (_, metadata, answer) => {
    putMap({}, { ownerReferences: [owner], deletionTimestamp: 'now', finalizers: ['example.com/a'], ...metadata })
    expect(await release()).toBe(answer)
  })

  it('are not added during the deletion of the object, because the server would reject them', async () => {
    putMap({}, { ownerReferences: [owner], deletionTimestamp: 'now', finalizers: ['b'] })
    await apply(held())
    expect(writes()).toEqual([])
  })
})

describe('an object that is only created', () => {
  it('is created if it does not exist, and otherwise stays unchanged', async () => {
    expect(await create({ key: '1' })).toBe('created')
    expect(await create({ key: '2' })).toBe('exists')
    expect(stored()).toMatchObject({ data: { key: '1' }, metadata: { ownerReferences: [owner] } })
    expect(await subscriptions()).toEqual([])
  })

  it('is subscribed to if it exists and the target does not own it', async () => {
    putMap({}, {})
    expect(await create({ key: '1' })).toBe('exists')
    expect(await subscriptions()).toEqual(['shop ConfigMap n a'])
  })

  /**
   * Makes the first `times` creates fail because another writer's object has the name. That object is deleted each
   * time, just before the read that follows the subscription.
   */
  const heldFor = (times: number) => {
    putMap({ key: 'theirs' }, {})
    let [gets, held] = [0, 1]
    stage.api.intercept = ({ method, path }) => {
      if (method === 'POST' && stored() === undefined && held < times) {
        held++
        putMap({ key: 'theirs' }, {})
      }
      // The refused create causes the first read; the second read follows the subscription.
      if (method === 'GET' && path === MAP && ++gets % 2 === 0) stage.api.objects.delete(path)
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
    const message = 'ConfigMap n/a: other clients created and deleted the object during 3 attempts; it was not created'
    await expect(create({ key: 'ours' })).rejects.toMatchObject({ type: 'Conflict', nonRetryable: false, message })
    expect(writes()).toHaveLength(3)
  })
})

describe('an object in the way', () => {
  const foreign = { ownerReferences: [stranger] }

  it('stays unchanged unless the action adopts it, and the subject subscribes to it', async () => {
    putMap({ key: 'by hand' }, {})
    await expect(apply(wanted({ key: 'ours' }))).rejects.toMatchObject({ type: 'NotOwned', nonRetryable: true })
    expect(await subscriptions()).toEqual(['shop ConfigMap n a'])
    expect(writes()).toEqual([])
    await apply(wanted({ key: 'ours' }), { adopt: true })
    expect(stored()?.metadata.ownerReferences).toEqual([owner])
  })

  it('is a retryable fault if the worker does not follow its kind, because no event would wake the target', async () => {
    stage.configure({ followed: [] })
    putMap({ key: 'theirs' }, foreign)
    const message = 'ConfigMap n/a: found owner Shop other; expected no owner, or Shop n/shop'
    const fault = { type: 'OwnedByAnother', nonRetryable: false, message }
    await expect(apply(wanted({ key: 'ours' }))).rejects.toMatchObject(fault)
    expect([await subscriptions(), writes()]).toEqual([[], []])
  })

  it('is read again after the subscription, because no event reports an earlier change', async () => {
    putMap({ key: 'theirs' }, foreign)
    let gets = 0
    stage.api.intercept = ({ method, path }) => {
      if (method === 'GET' && path === MAP && ++gets === 2) stage.api.objects.delete(path)
      return undefined
    }
    expect(await apply(wanted({ key: 'ours' }))).toBe('applied')
    expect(stored()?.['data']).toEqual({ key: 'ours' })
  })

  it('is detected even if it appears between the read and the write, and adopted then with adopt', async () => {
    putMap({ key: 'old' })
    race(() => putMap({ key: 'theirs' }, foreign))
    await expect(apply(wanted({ key: 'ours' }))).rejects.toMatchObject({ type: 'OwnedByAnother' })
    expect(stored()?.['data']).toEqual({ key: 'theirs' })
    stage.api.objects.clear()
    race(() => putMap({ theirs: 'kept' }, {}))
    await apply(wanted({ key: 'ours' }), { adopt: true })
    expect(stored()).toMatchObject({ data: { key: 'ours', theirs: 'kept' }, metadata: { ownerReferences: [owner] } })
  })
})

describe('an object that is expected in one version', () => {
  it('is written only in that version, and the write succeeds if the object already has the fields', async () => {
    const expected = observed(putMap({ key: '1' }))
    expect(await apply(wanted({ key: '2' }), { expected })).toBe('applied')
    expect(await apply(wanted({ key: '2' }), { expected })).toBe('applied')
    expect(await apply(wanted({ key: '3' }), { expected })).toBe('changed')
    expect(stored()?.['data']).toEqual({ key: '2' })
  })

  it('is neither written nor recreated if another writer changes or deletes it before the write', async () => {
    const expected = observed(putMap({ key: '1' }))
    race(() => putMap({ key: 'theirs' }))
    expect(await apply(wanted({ key: '2' }), { expected })).toBe('changed')
    expect(stored()?.['data']).toEqual({ key: 'theirs' })
    stage.api.objects.clear()
    expect(await apply(wanted({ key: '2' }), { expected })).toBe('changed')
    expect(stored()).toBeUndefined()
  })
})

describe('a create in a namespace that is being deleted', () => {
  const details = { causes: [{ reason: 'NamespaceTerminating' }] }
  const body = { reason: 'Forbidden', message: 'unable to create new content', details }

  it('is a final fault in the namespace of the target, and is retried in another one, which may be recreated', async () => {
    stage.api.intercept = ({ method }) => (method === 'POST' ? { status: 403, body } : undefined)
    const message = expect.stringContaining('ConfigMap n/a: namespace "n" is being deleted') as string
    const fault = { type: 'NamespaceTerminating', nonRetryable: true, message }
    await expect(apply(wanted({}))).rejects.toMatchObject(fault)
    await expect(create({})).rejects.toMatchObject(fault)
    const elsewhere = apply(wanted({}, { namespace: 'other' }), { elsewhere: true })
    await expect(elsewhere).rejects.toMatchObject({ type: 'NamespaceTerminating', nonRetryable: false })
  })
})

describe('an activity that is cancelled or has timed out', () => {
  it.each([
    ['the cancellation arrives between its read and its write', 0, true],
    ['its timeout has passed, even if no cancellation has arrived', 60_001, false],
  ])('writes nothing if %s', async (_, agoMs, isCancelled) => {
    const abort = new AbortController()
    stage.api.intercept = () => {
      if (isCancelled) abort.abort()
      return undefined
    }
    const info = { scheduledTimestampMs: Date.now() - agoMs, scheduleToCloseTimeoutMs: 60_000 }
    const context = { cancellationSignal: abort.signal, info } as unknown as Context
    const applying = asyncLocalStorage.run(context, () => apply(wanted({ key: 'value' })))
    await expect(applying).rejects.toMatchObject({ type: 'CutOff', nonRetryable: true })
    expect(writes()).toEqual([])
  })
})

describe('an object that is removed', () => {
  const remove = async (object: KubeObject) =>
    await stage.act.removeLevel({ ...base, resource: maps, object: observed(object) })

  it('is deleted in the observed version, and counts as removed if it does not exist', async () => {
    const object = putMap({})
    expect(await remove(object)).toBe('removed')
    expect(stored()).toBeUndefined()
    expect(await remove(object)).toBe('removed')
  })

  it('stays if it has changed since, or if another object has its name', async () => {
    const object = putMap({})
    putMap({ new: 'yes' })
    expect(await remove(object)).toBe('changed')
    putMap({ other: 'yes' }, { uid: 'uid-b' })
    expect(await remove(object)).toBe('removed')
    expect(stored()?.['data']).toEqual({ other: 'yes' })
  })
})

describe('a cluster-scoped object', () => {
  it('is applied and removed for a cluster-scoped target', async () => {
    const global = {
      by: { ...by, workflowID: 'rack/uid-rack' },
      subject: { kind: 'Rack', uid: 'uid-rack', namespace: '', name: 'rack' },
      target: { apiVersion: 'example.com/v1', kind: 'Rack', plural: 'racks' },
      resource: { apiVersion: 'v1', kind: 'Node', plural: 'nodes', withoutNamespace: true } as const,
    }
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a', labels: { rack: 'one' } } }
    await stage.act.applyLevel({ ...global, object })
    await stage.act.applyLevel({ ...global, object })
    const node = stored('/api/v1/nodes/a')
    expect(node?.metadata).toMatchObject({
      labels: { rack: 'one' },
      ownerReferences: [{ kind: 'Rack', name: 'rack', uid: 'uid-rack', controller: true }],
    })
    expect(await stage.act.removeLevel({ ...global, object: observed(node) })).toBe('removed')
    expect(writes()).toEqual(['POST v1/nodes', 'DELETE nodes/a'])
    await stage.deps.journal.flush(global.by.workflowID)
    const actions = await stage.deps.db.selectFrom('action').select(['object', 'verb']).orderBy('verb').execute()
    expect(actions).toEqual(['create', 'delete'].map((verb) => ({ object: 'Node//a', verb })))
  })
})

describe('a patch of an object that the target does not own', () => {
  const patch = async (object: KubeObject, fields: ObjectPatch, fenced = false) =>
    await stage.act.patchLevel({ ...base, resource: maps, object: observed(object), patch: fields, fenced })
  const put = (data: object, status?: object, metadata: object = {}) =>
    stage.api.put(MAP, { ...map(data, metadata), ...(status && { status }) })
  const both = { data: { ours: 'x' }, status: { seen: 'ours' } }

  it('writes only its own fields, keeps concurrent changes of other writers, and cannot set owner references', async () => {
    const object = put({ theirs: '1' })
    race(() => put({ theirs: '2' }))
    expect(await patch(object, { data: { ours: 'x' }, metadata: { annotations: { seen: 'yes' } } })).toBe('patched')
    expect(stored()).toMatchObject({ data: { theirs: '2', ours: 'x' }, metadata: { annotations: { seen: 'yes' } } })
    expect(stored()?.metadata).not.toHaveProperty('ownerReferences')
    const before = writes().length
    expect(await patch(object, { data: { ours: 'x' } })).toBe('patched')
    expect(writes()).toHaveLength(before)
    const forged = { metadata: { ownerReferences: [owner] } } as ObjectPatch
    await expect(patch(object, forged)).rejects.toMatchObject({ type: 'InvalidPatch', nonRetryable: true })
  })

  it('is not sent for another object of the same name, or, if fenced, for another version', async () => {
    const object = put({ theirs: '1' })
    put({ theirs: '2' })
    expect(await patch(object, { data: { ours: 'x' } }, true)).toBe('changed')
    put({ theirs: '2' }, undefined, { uid: 'uid-b' })
    expect(await patch(object, { data: { ours: 'x' } })).toBe('changed')
    expect(writes()).toEqual([])
  })

  it('writes status fields by a second request to the status endpoint', async () => {
    expect(await patch(put({}), both, true)).toBe('patched')
    expect(writes()).toEqual(['PATCH configmaps/a', 'PATCH a/status'])
    expect(stored()).toMatchObject(both)
  })

  const theirs = { data: { theirs: '2', ours: 'x' }, status: { seen: 'theirs' } }
  it.each([
    ['overwrites no change between its first request and its status request', '/status', theirs, 'changed'],
    ['overwrites no status if another writer made the change of its first request', '', theirs, 'changed'],
    ['accepts that another writer has made all its changes', '', both, 'patched'],
  ])('with a fence %s', async (_, path, change, answer) => {
    const object = put({ theirs: '1' })
    race(() => put(change.data, change.status), path)
    expect(await patch(object, both, true)).toBe(answer)
    expect(stored()).toMatchObject(change)
  })

  it('without a fence writes its status fields, and keeps concurrent changes of other writers', async () => {
    const object = put({ theirs: '1' })
    race(() => put({ theirs: '2', ours: 'x' }, { theirs: 'yes' }), '/status')
    expect(await patch(object, both)).toBe('patched')
    expect(stored()).toMatchObject({ data: { theirs: '2' }, status: { seen: 'ours', theirs: 'yes' } })
  })
})
