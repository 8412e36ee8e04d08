// The activities of level mode in their races: against an API server that the test drives, and a real journal.

import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import type { Deps } from '../../activities/deps.ts'
import { createActivities } from '../../activities/index.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import type { ApplyInput, LevelQuery, ObservedObject, StateQuery, WantedObject } from '../../workflows/kit/index.ts'
import type { TestDatabase } from '../activities/journal/test-database.ts'
import { refusal, type TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const TARGETS = '/apis/example.com/v1/namespaces/n/shops'
const MAPS = '/api/v1/namespaces/n/configmaps'

const stage = useWriteStage(inject('servers').databaseUrl)
let api: TinyApi
let deps: Deps
let database: TestDatabase
let act: ReturnType<typeof createActivities>
beforeEach(async () => {
  ;({ api, deps, database } = stage())
  await database.db.deleteFrom('subscription').execute()
  act = createActivities(deps, [])
})

const by = { workflowID: 'shop/uid-shop', runID: 'run', pass: 1 }
const subject = { kind: 'Shop', uid: 'uid-shop', namespace: 'n', name: 'shop' }
const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const base = { by, subject, target }
const maps = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const owner = { apiVersion: 'example.com/v1', kind: 'Shop', name: 'shop', uid: 'uid-shop', controller: true }
const stranger = { ...owner, name: 'other', uid: 'uid-other' }

const shop = (change: object = {}, metadata: object = {}): KubeObject => ({
  ...{ apiVersion: 'example.com/v1', kind: 'Shop', spec: { ref: 'a' }, ...change },
  metadata: { name: 'shop', namespace: 'n', uid: 'uid-shop', ...metadata },
})
const map = (data: object, metadata: object = {}): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
  metadata: { name: 'a', namespace: 'n', uid: 'uid-a', ...metadata },
})
const wanted = (data: object, metadata: object = {}): WantedObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', data },
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

/** Every field is unknown to this server; it says so only when it is asked to. */
function refuseUnknownFields(): void {
  api.intercept = ({ method, query }) =>
    method !== 'GET' && query['fieldValidation'] === 'Strict' ? refusal(400, 'BadRequest') : undefined
}

describe('an object that is applied', () => {
  it('is made once, owned by the target, and not written when it is so already', async () => {
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

  it('loses to nobody in fields that others write meanwhile, nor do they', async () => {
    api.put(`${MAPS}/a`, map({ key: 'old' }, { ownerReferences: [owner] }))
    race(() => api.put(`${MAPS}/a`, map({ key: 'old', theirs: 'new' }, { ownerReferences: [owner] })))
    await apply(wanted({ key: 'ours' }))
    expect(stored()?.['data']).toEqual({ key: 'ours', theirs: 'new' })
    expect(writes()).toEqual(['PATCH configmaps/a', 'PATCH configmaps/a'])
  })

  it('asks the server to refuse fields that its kind does not have, made or changed', async () => {
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

  it('is met where somebody made it meanwhile, and taken when nobody owns it and that is asked for', async () => {
    race(() => api.put(`${MAPS}/a`, map({ theirs: 'kept' })))
    await apply(wanted({ key: 'ours' }), { adopt: true })
    expect(stored()).toMatchObject({ data: { key: 'ours', theirs: 'kept' }, metadata: { ownerReferences: [owner] } })
  })

  it('stays as it is when another object controls it', async () => {
    api.put(`${MAPS}/a`, map({ key: 'theirs' }, { ownerReferences: [stranger] }))
    await expect(apply(wanted({ key: 'ours' }))).rejects.toMatchObject({
      type: 'OwnedByAnother',
      // Nobody follows ConfigMaps here.
      nonRetryable: false,
      message: 'ConfigMap n/a is owned by Shop other; expected nobody, or Shop n/shop',
    })
    expect(writes()).toEqual([])
  })

  it.each([
    ['OtherNamespace', { namespace: 'kube-system' }],
    ['InvalidName', { name: '..' }],
    ['InvalidName', { name: 'a/../b' }],
  ])('is refused without a request: %s', async (type, metadata) => {
    await expect(apply(wanted({}, metadata))).rejects.toMatchObject({ type, nonRetryable: true })
    expect(api.requests).toEqual([])
  })

  it('may be the target itself, which then owns nothing', async () => {
    api.put(`${TARGETS}/shop`, shop())
    const object = { ...target, metadata: { name: 'shop', labels: { seen: 'yes' } } } as WantedObject
    await act.applyLevel({ ...base, resource: target, object })
    expect(stored(`${TARGETS}/shop`)?.metadata).toMatchObject({ labels: { seen: 'yes' } })
    expect(stored(`${TARGETS}/shop`)?.metadata.ownerReferences).toBeUndefined()
  })
})

describe('a call that nobody waits for any more', () => {
  const started = (agoMs: number, { signal }: AbortController = new AbortController()) =>
    ({
      cancellationSignal: signal,
      info: { scheduledTimestampMs: Date.now() - agoMs, scheduleToCloseTimeoutMs: 60_000 },
    }) as unknown as Context
  const cutOff = { type: 'CutOff', nonRetryable: true }

  it('writes nothing when it is told so between its reading and its writing', async () => {
    const abort = new AbortController()
    api.intercept = () => {
      abort.abort()
      return undefined
    }
    const applying = asyncLocalStorage.run(started(0, abort), () => apply(wanted({ key: 'value' })))
    await expect(applying).rejects.toMatchObject(cutOff)
    expect(writes()).toEqual([])
  })

  it('writes nothing after its time by the clock, whoever has not told it yet', async () => {
    const applying = asyncLocalStorage.run(started(60_001), () => apply(wanted({ key: 'value' })))
    await expect(applying).rejects.toMatchObject(cutOff)
    expect(writes()).toEqual([])
  })
})

describe('an object that is removed', () => {
  const remove = async (object: KubeObject) =>
    await act.removeLevel({ ...base, resource: maps, object: object as unknown as ObservedObject })

  it('goes as it was observed, and is gone when it is', async () => {
    const object = api.put(`${MAPS}/a`, map({}))
    expect(await remove(object)).toBe('removed')
    expect(stored()).toBeUndefined()
    expect(await remove(object)).toBe('removed')
  })

  it('stays when it changed since, and when another one has its name', async () => {
    const object = api.put(`${MAPS}/a`, map({}))
    api.put(`${MAPS}/a`, map({ new: 'yes' }))
    expect(await remove(object)).toBe('changed')
    api.put(`${MAPS}/a`, map({ other: 'yes' }, { uid: 'uid-b' }))
    expect(await remove(object)).toBe('removed')
    expect(stored()?.['data']).toEqual({ other: 'yes' })
  })
})

describe('objects of kinds without namespaces', () => {
  const NODES = '/api/v1/nodes'
  const nodes = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', withoutNamespace: true } as const
  const rack = { kind: 'Rack', uid: 'uid-rack', namespace: '', name: 'rack' }
  const racks = { apiVersion: 'example.com/v1', kind: 'Rack', plural: 'racks' }
  const global = { by: { ...by, workflowID: 'rack/uid-rack' }, subject: rack, target: racks, resource: nodes }
  const node = (labels: object = {}): KubeObject => ({
    ...{ apiVersion: 'v1', kind: 'Node' },
    metadata: { name: 'a', uid: 'uid-a', labels: labels as Record<string, string> },
  })
  const acted = async () => await database.db.selectFrom('action').select(['object', 'verb']).orderBy('verb').execute()

  it('are applied and removed by a target that is in none either', async () => {
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

  it('stay when they changed since they were observed', async () => {
    const observed = api.put(`${NODES}/a`, node()) as unknown as ObservedObject
    api.put(`${NODES}/a`, node({ new: 'yes' }))
    expect(await act.removeLevel({ ...global, object: observed })).toBe('changed')
    expect(stored(`${NODES}/a`)?.metadata.labels).toEqual({ new: 'yes' })
  })

  it('are not made for a target that is in a namespace: nothing would collect them', async () => {
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } }
    await expect(act.applyLevel({ ...base, resource: nodes, object })).rejects.toMatchObject({ type: 'OtherNamespace' })
  })
})

describe('the status of a target', () => {
  const write = async (status: Record<string, string | object | null>) =>
    await act.writeLevelStatus({ ...base, version: '1', status: status as Record<string, string | null> })

  it('has the fields of this controller as a whole, and those of others as they left them', async () => {
    api.put(`${TARGETS}/shop`, shop({ status: { ours: { a: 1, b: 2 }, old: 'x', theirs: 'old' } }))
    race(() => api.put(`${TARGETS}/shop`, shop({ status: { ours: { a: 1, b: 2 }, old: 'x', theirs: 'new' } })))
    await write({ ours: { a: 3 }, old: null })
    expect(stored(`${TARGETS}/shop`)?.['status']).toEqual({ ours: { a: 3 }, theirs: 'new' })
  })

  it('is not written when it is so already, or the target is gone or another', async () => {
    api.put(`${TARGETS}/shop`, shop({ status: { ours: 'x' } }))
    await write({ ours: 'x' })
    api.put(`${TARGETS}/shop`, shop({}, { uid: 'uid-new' }))
    await write({ ours: 'y' })
    api.objects.clear()
    await write({ ours: 'y' })
    expect(writes()).toEqual([])
  })

  it('is asked for strictly: a field that the kind does not have is a fault', async () => {
    api.put(`${TARGETS}/shop`, shop())
    refuseUnknownFields()
    await expect(write({ ours: 'x' })).rejects.toMatchObject({
      ...{ type: 'BadRequest', nonRetryable: true },
      message: expect.stringMatching(/^status of Shop n\/shop: .*400/) as string,
    })
  })

  it('says so when the kind has no endpoint for it', async () => {
    api.put(`${TARGETS}/shop`, shop())
    api.intercept = ({ path }) => (path.endsWith('/status') ? refusal(404, 'NotFound') : undefined)
    await expect(write({ ours: 'x' })).rejects.toMatchObject({ type: 'NoStatusEndpoint', nonRetryable: true })
  })
})

describe('the finalizer of a controller', () => {
  it('is put on beside those of others and taken off alone, once each', async () => {
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

describe('what a pass observes', () => {
  const named: StateQuery = { kind: 'v1/ConfigMap', name: '${target.spec.ref}' }
  const list: StateQuery = { kind: 'v1/ConfigMap', many: true, labels: { app: '${target.metadata.name}' } }
  const observe = async (queries: Record<string, StateQuery>, resource = maps) => {
    const all = Object.entries(queries).map(([state, query]): [string, LevelQuery] => [state, { ...resource, query }])
    return await act.observeLevel({ ...base, queries: Object.fromEntries(all) })
  }
  const listed = (...items: KubeObject[]) => {
    const queries: string[] = []
    api.intercept = ({ method, path }) => {
      if (method !== 'GET' || path !== MAPS) return undefined
      queries.push(path)
      return { status: 200, body: { metadata: { resourceVersion: '500' }, items } }
    }
    return queries
  }
  const subscriptions = async () => {
    const rows = await database.db.selectFrom('subscription').selectAll().orderBy('name').execute()
    return rows.map(({ controller, job_id, kind, namespace, name }) =>
      [controller, job_id, kind, namespace, name].join(' '),
    )
  }

  beforeEach(() => {
    api.put(`${TARGETS}/shop`, shop())
  })

  it('is the target with its states, and what it subscribed to are those', async () => {
    api.put(`${MAPS}/a`, map({ key: 'value' }))
    listed(map({}, { name: 'b' }), map({}, { name: 'c', ownerReferences: [owner] }))
    const observed = await observe({ named, list, owned: { ...list, owned: true }, missing: { ...named, name: 'x' } })
    expect(observed?.target).toMatchObject({ kind: 'Shop', metadata: { uid: 'uid-shop' } })
    expect(observed?.states).toMatchObject({
      named: { kind: 'ConfigMap', data: { key: 'value' } },
      list: [{ metadata: { name: 'b' } }, { metadata: { name: 'c' } }],
      owned: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }],
    })
    expect(observed?.states).not.toHaveProperty('missing')
    expect(await subscriptions()).toEqual(['shop  ConfigMap n *', 'shop  ConfigMap n a', 'shop  ConfigMap n x'])
    api.put(`${TARGETS}/shop`, shop({ spec: { ref: 'z' } }))
    await observe({ named })
    expect(await subscriptions()).toEqual(['shop  ConfigMap n z'])
  })

  it('is nothing when the target is gone or another one has its name', async () => {
    api.put(`${TARGETS}/shop`, shop({}, { uid: 'uid-new' }))
    expect(await observe({})).toBeUndefined()
    api.objects.clear()
    expect(await observe({})).toBeUndefined()
  })

  it('has the fault of a state that is several, is not owned, or that nobody lets it read, beside the others', async () => {
    listed(map({}, { name: 'b' }), map({}, { name: 'c' }))
    api.put(`${MAPS}/a`, map({}, { ownerReferences: [stranger] }))
    api.put(`${MAPS}/d`, map({}))
    const observed = await observe({
      one: { ...list, many: undefined } as unknown as StateQuery,
      mine: { ...named, owned: true },
      other: { ...named, name: 'd' },
    })
    expect(observed?.states).toMatchObject({ other: { kind: 'ConfigMap' } })
    expect(observed?.unreadable).toEqual({
      one: {
        code: 'AmbiguousState',
        message: 'state one of Shop n/shop: found 2 objects of kind ConfigMap, expected one',
        retryable: false,
      },
      mine: {
        code: 'StateNotOwned',
        message: 'state mine of Shop n/shop: ConfigMap n/a is owned by Shop other, expected the Shop',
        retryable: false,
      },
    })
  })

  it.each([
    [403, 'Forbidden', true],
    [404, 'NotFound', true],
    [400, 'BadRequest', false],
  ])('has the fault of a list that the server answers with %d', async (status, code, retryable) => {
    api.put(`${MAPS}/a`, map({}))
    api.intercept = ({ path }) => (path === MAPS ? refusal(status, code) : undefined)
    const observed = await observe({ list, named })
    expect(Object.keys(observed?.states ?? {})).toEqual(['named'])
    expect(observed?.unreadable).toMatchObject({ list: { code, retryable } })
    expect(observed?.unreadable?.['list']?.message).toMatch(new RegExp(`^state list of Shop n/shop: GET .*${status}`))
  })

  it('is tried again before what may be over in a moment is the fault of its state', async () => {
    api.intercept = ({ path }) => (path === MAPS ? refusal(503, 'ServiceUnavailable') : undefined)
    const inTry = async (attempt: number) => {
      const context = { info: { attempt } } as unknown as Context
      return await asyncLocalStorage.run(context, async () => await observe({ list }))
    }
    await expect(inTry(3)).rejects.toMatchObject({ type: 'ServiceUnavailable', nonRetryable: false })
    expect((await inTry(4))?.unreadable).toMatchObject({ list: { code: 'ServiceUnavailable', retryable: true } })
  })

  it('holds no value of a Secret', async () => {
    const secrets = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
    api.put('/api/v1/namespaces/n/secrets/a', { ...map({ password: 'Y2FuYXJ5' }), kind: 'Secret' })
    const observed = await observe({ secret: { kind: 'v1/Secret', name: 'a' } }, secrets)
    expect(observed?.states).toMatchObject({ secret: { data: { password: '' } } })
    expect(JSON.stringify(observed)).not.toContain('Y2FuYXJ5')
  })

  it('has the fault of its largest states where Temporal could not take all, with their sizes, and the others whole', async () => {
    // Of three bytes each: half a million characters.
    listed(...[1, 2].map((index) => map({ big: '大'.repeat(260_000) }, { name: `big-${index}` })))
    api.put(`${MAPS}/a`, map({ key: 'value' }))
    api.put(`${MAPS}/b`, map({ key: 'x'.repeat(700_000) }, { name: 'b' }))
    const observed = await observe({ named, list, second: { ...named, name: 'b' } })
    expect(Object.keys(observed?.states ?? {})).toEqual(['named', 'second'])
    expect(observed?.unreadable).toEqual({
      list: {
        ...{ code: 'StatesTooLarge', retryable: false },
        message:
          'state list of Shop n/shop has 2 objects of 1561 kB together; an object and its states have room for 1500 kB: expected narrower selectors, or less of each object by pick or view',
      },
    })
  })

  it('loses the larger ones of states that are too large only together, and no more of them than it must', async () => {
    for (const [name, size] of Object.entries({ a: 400_000, b: 700_000, c: 600_000 }))
      api.put(`${MAPS}/${name}`, map({ key: 'x'.repeat(size) }, { name }))
    const observed = await observe({ a: named, b: { ...named, name: 'b' }, c: { ...named, name: 'c' } })
    expect(Object.keys(observed?.states ?? {})).toEqual(['a', 'c'])
    expect(observed?.unreadable).toMatchObject({
      b: { code: 'StatesTooLarge', message: expect.stringContaining('has an object of 701 kB') as string },
    })
  })

  it('is refused whole only when the target itself is too large', async () => {
    api.put(`${MAPS}/a`, map({ key: 'value' }))
    api.put(`${TARGETS}/shop`, shop({ spec: { ref: 'a', much: '大'.repeat(600_000) } }))
    await expect(observe({ named })).rejects.toMatchObject({
      ...{ type: 'StatesTooLarge', nonRetryable: true },
      message: 'Shop n/shop has 1801 kB; an object and its states have room for 1500 kB: expected less in it',
    })
  })

  it('is as new as the store where nothing was subscribed to before, and then not older than what the journal knows', async () => {
    const at = {
      cluster: 'local',
      api_group: '',
      kind: 'ConfigMap',
      uid: 'uid-a',
      namespace: 'n',
      name: 'a',
      resource_version: 999,
    }
    const row = { ...at, seq: 7, projection: '{}', updated_at: new Date(), deleted: false, presumed_deleted: false }
    await database.db.insertInto('object').values(row).execute()
    const asked: Readonly<Record<string, string>>[] = []
    api.intercept = ({ method, path, query }) => {
      if (method !== 'GET' || path !== MAPS) return undefined
      asked.push(query)
      return { status: 200, body: { metadata: { resourceVersion: '1000' }, items: [] } }
    }
    for (let pass = 1; pass <= 2; pass++) await observe({ list })
    const labelSelector = 'app=shop'
    const notOlder = { resourceVersionMatch: 'NotOlderThan', resourceVersion: '999' }
    expect(asked).toEqual([{ labelSelector }, { labelSelector, ...notOlder }])
  })
})
