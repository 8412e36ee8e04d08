// The target and the states that a pass in level mode receives, and a fault for each state that it cannot read. Against
// an API server that the test controls, and a real journal. Selection and views: level-observation.test.ts.

import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import { createActivities } from '../../activities/index.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import type { LevelQuery, StateQuery } from '../../workflows/kit/index.ts'
import type { TestDatabase } from '../activities/journal/test-database.ts'
import { refusal, type TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { base, map, MAPS, maps, owner, shop, stranger, TARGETS } from './level-shop.ts'

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

describe('the observation of a pass', () => {
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
    return rows.map(({ controller, job_id, kind, namespace, name, traits }) =>
      [controller, job_id, kind, namespace, name, ...traits].join(' '),
    )
  }

  beforeEach(() => {
    api.put(`${TARGETS}/shop`, shop())
  })

  it('contains the target and its states, and subscribes to these states', async () => {
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
    expect(await subscriptions()).toEqual([
      'shop  ConfigMap n * app=shop',
      'shop  ConfigMap n a',
      'shop  ConfigMap n x',
    ])
    api.put(`${TARGETS}/shop`, shop({ spec: { ref: 'z' } }))
    await observe({ named })
    expect(await subscriptions()).toEqual(['shop  ConfigMap n z'])
  })

  it('contains all cluster-scoped objects that the target names, and subscribes to each of them', async () => {
    const nodes = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', withoutNamespace: true } as const
    for (const name of ['one', 'two'])
      api.put(`/api/v1/nodes/${name}`, { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: `uid-${name}` } })
    api.put(`${TARGETS}/shop`, shop({ spec: { nodes: ['one', 'two'], places: ['n', 'other'] } }))
    const named: StateQuery = { kind: 'v1/Node', many: true, namesFrom: 'spec.nodes', namespacesFrom: 'spec.places' }
    const observed = await observe({ named }, nodes)
    expect(observed?.states).toMatchObject({ named: [{ metadata: { name: 'one' } }, { metadata: { name: 'two' } }] })
    expect(await subscriptions()).toEqual(['shop  Node * one', 'shop  Node * two'])
  })

  it('leaves the subscriptions unchanged if its activity is cancelled, because another pass may have observed since', async () => {
    await observe({ named })
    api.put(`${TARGETS}/shop`, shop({ spec: { ref: 'b' } }))
    const abort = new AbortController()
    api.intercept = () => {
      abort.abort()
      return undefined
    }
    const context = { cancellationSignal: abort.signal, info: { attempt: 1 } } as unknown as Context
    await expect(asyncLocalStorage.run(context, () => observe({ named }))).rejects.toMatchObject({ type: 'CutOff' })
    expect(await subscriptions()).toEqual(['shop  ConfigMap n a'])
  })

  it('omits lazy states, but subscribes to them, and a refresh reads them', async () => {
    const lists = listed(map({}, { name: 'b' }))
    const observed = await observe({ list: { ...list, lazy: true } })
    expect(observed?.states).toEqual({})
    expect(lists).toEqual([])
    expect(await subscriptions()).toEqual(['shop  ConfigMap n * app=shop'])
    const query: LevelQuery = { ...maps, query: { ...list, lazy: true } }
    expect(await act.refreshLevel({ ...base, state: 'list', query })).toMatchObject({
      found: [{ metadata: { name: 'b' } }],
    })
  })

  it('is undefined if the target does not exist or another object has its name', async () => {
    api.put(`${TARGETS}/shop`, shop({}, { uid: 'uid-new' }))
    expect(await observe({})).toBeUndefined()
    api.objects.clear()
    expect(await observe({})).toBeUndefined()
  })

  it('with evenGone contains the states of a deleted target that need only the name of the target', async () => {
    api.objects.clear()
    const found = listed(map({ key: 'x' }))
    const queries = { list: { ...maps, query: list }, named: { ...maps, query: named } }
    const observed = await act.observeLevel({ ...base, queries, evenGone: true })
    expect(observed).toEqual({
      isGone: true,
      target: {
        apiVersion: 'example.com/v1',
        kind: 'Shop',
        metadata: { name: 'shop', namespace: 'n', uid: 'uid-shop' },
      },
      states: { list: [expect.objectContaining({ data: { key: 'x' } })] },
    })
    const again = await act.refreshLevel({ ...base, isGone: true, state: 'list', query: queries.list })
    expect(again).toMatchObject({ found: [{ data: { key: 'x' } }] })
    expect(found).toHaveLength(2)
  })

  it('contains a fault for each state that is ambiguous or not owned, in addition to the other states', async () => {
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
  ])('contains a fault for a list that the server answers with HTTP %d', async (status, code, retryable) => {
    api.put(`${MAPS}/a`, map({}))
    api.intercept = ({ path }) => (path === MAPS ? refusal(status, code) : undefined)
    const observed = await observe({ list, named })
    expect(Object.keys(observed?.states ?? {})).toEqual(['named'])
    expect(observed?.unreadable).toMatchObject({ list: { code, retryable } })
    expect(observed?.unreadable?.['list']?.message).toMatch(new RegExp(`^state list of Shop n/shop: GET .*${status}`))
  })

  it('is retried before a temporary error becomes the fault of its state', async () => {
    api.intercept = ({ path }) => (path === MAPS ? refusal(503, 'ServiceUnavailable') : undefined)
    const inTry = async (attempt: number) => {
      const context = { info: { attempt } } as unknown as Context
      return await asyncLocalStorage.run(context, async () => await observe({ list }))
    }
    await expect(inTry(3)).rejects.toMatchObject({ type: 'ServiceUnavailable', nonRetryable: false })
    expect((await inTry(4))?.unreadable).toMatchObject({ list: { code: 'ServiceUnavailable', retryable: true } })
  })

  it('contains no value of a Secret', async () => {
    const secrets = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
    api.put('/api/v1/namespaces/n/secrets/a', { ...map({ password: 'Y2FuYXJ5' }), kind: 'Secret' })
    const observed = await observe({ secret: { kind: 'v1/Secret', name: 'a' } }, secrets)
    expect(observed?.states).toMatchObject({ secret: { data: { password: '' } } })
    expect(JSON.stringify(observed)).not.toContain('Y2FuYXJ5')
  })

  it('that is too large for Temporal contains a fault with the size for its largest state, and the other states unchanged', async () => {
    // Each character has 3 bytes: the two objects have 520,000 characters, but 1,560,000 bytes.
    listed(...[1, 2].map((index) => map({ big: '大'.repeat(260_000) }, { name: `big-${index}` })))
    api.put(`${MAPS}/a`, map({ key: 'value' }))
    api.put(`${MAPS}/b`, map({ key: 'x'.repeat(700_000) }, { name: 'b' }))
    const observed = await observe({ named, list, second: { ...named, name: 'b' } })
    expect(Object.keys(observed?.states ?? {})).toEqual(['named', 'second'])
    expect(observed?.unreadable).toEqual({
      list: {
        code: 'StatesTooLarge',
        retryable: false,
        message:
          'state list of Shop n/shop has 2 objects of 1561 kB together; an object and its states have room for 1500 kB: expected narrower selectors, or less of each object by pick or view',
      },
    })
  })

  it('omits the largest of states that are too large only together, and no more than necessary', async () => {
    for (const [name, size] of Object.entries({ a: 400_000, b: 700_000, c: 600_000 }))
      api.put(`${MAPS}/${name}`, map({ key: 'x'.repeat(size) }, { name }))
    const observed = await observe({ a: named, b: { ...named, name: 'b' }, c: { ...named, name: 'c' } })
    expect(Object.keys(observed?.states ?? {})).toEqual(['a', 'c'])
    expect(observed?.unreadable).toMatchObject({
      b: { code: 'StatesTooLarge', message: expect.stringContaining('has an object of 701 kB') as string },
    })
  })

  it('fails as a whole only if the target itself is too large', async () => {
    api.put(`${MAPS}/a`, map({ key: 'value' }))
    api.put(`${TARGETS}/shop`, shop({ spec: { ref: 'a', much: '大'.repeat(600_000) } }))
    await expect(observe({ named })).rejects.toMatchObject({
      type: 'StatesTooLarge',
      nonRetryable: true,
      message: 'Shop n/shop has 1801 kB; an object and its states have room for 1500 kB: expected less in it',
    })
  })

  it('reads the most recent state before the first subscription, and afterwards a state at least as new as the journal', async () => {
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
    await observe({ list: { ...list, labels: { app: 'other' } } })
    const labelSelector = 'app=shop'
    const notOlder = { resourceVersionMatch: 'NotOlderThan', resourceVersion: '999' }
    expect(asked).toEqual([{ labelSelector }, { labelSelector, ...notOlder }, { labelSelector: 'app=other' }])
    // On a retry, the previous attempt may have created the subscription, so the list requests the most recent state.
    const further = { info: { attempt: 2 } } as unknown as Context
    await asyncLocalStorage.run(further, () => observe({ list: { ...list, labels: { app: 'other' } } }))
    expect(asked.slice(3)).toEqual([{ labelSelector: 'app=other' }])
  })

  it('is at least as new as the writes of the same pass, even before the journal has them', async () => {
    await observe({ list })
    const object = { apiVersion: 'v1', kind: 'ConfigMap', data: { key: 'value' }, metadata: { name: 'a' } }
    await act.applyLevel({ ...base, resource: maps, object })
    const version = api.objects.get(`${MAPS}/a`)?.metadata.resourceVersion
    const asked: string[] = []
    api.intercept = ({ method, path, query }) => {
      if (method !== 'GET' || path !== MAPS) return undefined
      asked.push(query['resourceVersion'] ?? '')
      return { status: 200, body: { metadata: { resourceVersion: '1000' }, items: [] } }
    }
    await observe({ list })
    expect(asked).toEqual([version])
  })
})

describe('the target, in later steps of a pass', () => {
  const query: LevelQuery = { ...maps, query: { kind: 'v1/ConfigMap', name: '${target.spec.ref}', lazy: true } }
  const refresh = async (version?: string) =>
    await act.refreshLevel({ ...base, ...(version !== undefined && { version }), state: 'one', query })
  const gets = () => api.requests.filter((request) => request === 'GET shops/shop').length

  it('is not read again if the process has the version that the pass has observed', async () => {
    api.put(`${MAPS}/a`, map({ key: 'value' }))
    api.put(`${TARGETS}/shop`, shop({ spec: { ref: 'a' } }))
    const observed = await act.observeLevel({ ...base, queries: {} })
    const version = observed?.target.metadata.resourceVersion ?? ''
    const before = gets()
    expect(await refresh(version)).toMatchObject({ found: { data: { key: 'value' } } })
    expect(gets()).toBe(before)
    // The target is read again if another process has written the observed version, or if the run does not pass a
    // version, as runs of a previous release do.
    await refresh(String(Number(version) + 1))
    await refresh()
    expect(gets()).toBe(before + 2)
  })
})
