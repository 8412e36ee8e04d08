// The target and the states that a pass in level mode receives, and a fault for each state that it cannot read. Against
// an API server that the test controls, and a real journal. Selection and views: level-observation.test.ts.

import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import type { LevelQuery, StateQuery } from '../../workflows/kit/index.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { base, map, MAP, maps, MAPS, owner, shop, SHOP, stranger, useLevelStage, wanted } from './level-stage.ts'

const stage = useLevelStage(inject('servers').databaseUrl)
const { apply, listing, observe, putMap, stored, subscriptions } = stage
beforeEach(() => {
  stage.api.put(SHOP, shop())
})

const named: StateQuery = { kind: 'v1/ConfigMap', name: '${target.spec.ref}' }
const list: StateQuery = { kind: 'v1/ConfigMap', many: true, labels: { app: '${target.metadata.name}' } }
const lists = (...names: readonly string[]) => {
  const items = names.map((name) => map({ key: 'x' }, { name, ...(name === 'owned' && { ownerReferences: [owner] }) }))
  return listing(() => ({ items }))
}
const inTry = async <Result>(attempt: number, body: () => Promise<Result>) =>
  await asyncLocalStorage.run({ info: { attempt } } as unknown as Context, body)

describe('the observation of a pass', () => {
  it('contains the target and its states, and subscribes to these states', async () => {
    putMap({ key: 'value' })
    lists('b', 'owned')
    const found = await observe({ named, list, owned: { ...list, owned: true }, missing: { ...named, name: 'x' } })
    expect(found?.target).toMatchObject({ kind: 'Shop', metadata: { uid: 'uid-shop' } })
    expect(found?.states).toMatchObject({
      named: { kind: 'ConfigMap', data: { key: 'value' } },
      list: [{ metadata: { name: 'b' } }, { metadata: { name: 'owned' } }],
      owned: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'owned' } }],
    })
    expect(found?.states).not.toHaveProperty('missing')
    expect(await subscriptions()).toEqual([
      ...['shop ConfigMap n * app=shop', 'shop ConfigMap n a', 'shop ConfigMap n x'],
    ])
    stage.api.put(SHOP, shop({ spec: { ref: 'z' } }))
    await observe({ named })
    expect(await subscriptions()).toEqual(['shop ConfigMap n z'])
  })

  it('contains all cluster-scoped objects that the target names, and subscribes to each of them', async () => {
    const nodes = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', withoutNamespace: true } as const
    for (const name of ['one', 'two'])
      stage.api.put(`/api/v1/nodes/${name}`, { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: `uid-${name}` } })
    stage.api.put(SHOP, shop({ spec: { nodes: ['one', 'two'], places: ['n', 'other'] } }))
    const query: StateQuery = { kind: 'v1/Node', many: true, namesFrom: 'spec.nodes', namespacesFrom: 'spec.places' }
    const found = await observe({}, { queries: { named: { ...nodes, query } } })
    expect(found?.states).toMatchObject({ named: [{ metadata: { name: 'one' } }, { metadata: { name: 'two' } }] })
    expect(await subscriptions()).toEqual(['shop Node * one', 'shop Node * two'])
  })

  it('leaves the subscriptions unchanged if its activity is cancelled, because another pass may have observed since', async () => {
    await observe({ named })
    stage.api.put(SHOP, shop({ spec: { ref: 'b' } }))
    const abort = new AbortController()
    stage.api.intercept = () => {
      abort.abort()
      return undefined
    }
    const context = { cancellationSignal: abort.signal, info: { attempt: 1 } } as unknown as Context
    await expect(asyncLocalStorage.run(context, () => observe({ named }))).rejects.toMatchObject({ type: 'CutOff' })
    expect(await subscriptions()).toEqual(['shop ConfigMap n a'])
  })

  it('omits lazy states, but subscribes to them, and a refresh reads them', async () => {
    const asked = lists('b')
    expect((await observe({ list: { ...list, lazy: true } }))?.states).toEqual({})
    expect(asked).toEqual([])
    expect(await subscriptions()).toEqual(['shop ConfigMap n * app=shop'])
    const query: LevelQuery = { ...maps, query: { ...list, lazy: true } }
    const refreshed = await stage.act.refreshLevel({ ...base, state: 'list', query })
    expect(refreshed).toMatchObject({ found: [{ metadata: { name: 'b' } }] })
  })

  it('is undefined if the target does not exist or another object has its name', async () => {
    stage.api.put(SHOP, shop({}, { uid: 'uid-new' }))
    expect(await observe({})).toBeUndefined()
    stage.api.objects.clear()
    expect(await observe({})).toBeUndefined()
  })

  it('with evenGone contains the states of a deleted target that need only the name of the target', async () => {
    stage.api.objects.clear()
    const asked = lists('a')
    const metadata = { name: 'shop', namespace: 'n', uid: 'uid-shop' }
    expect(await observe({ list, named }, { evenGone: true })).toEqual({
      isGone: true,
      target: { apiVersion: 'example.com/v1', kind: 'Shop', metadata },
      states: { list: [expect.objectContaining({ data: { key: 'x' } })] },
    })
    const refresh = { ...base, isGone: true as const, state: 'list', query: { ...maps, query: list } }
    expect(await stage.act.refreshLevel(refresh)).toMatchObject({ found: [{ data: { key: 'x' } }] })
    expect(asked).toHaveLength(2)
  })

  it('contains no value of a Secret', async () => {
    stage.api.put('/api/v1/namespaces/n/secrets/a', { ...map({ password: 'Y2FuYXJ5' }), kind: 'Secret' })
    const secrets = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
    const query: StateQuery = { kind: 'v1/Secret', name: 'a' }
    const found = await observe({}, { queries: { secret: { ...secrets, query } } })
    expect(found?.states).toMatchObject({ secret: { data: { password: '' } } })
    expect(JSON.stringify(found)).not.toContain('Y2FuYXJ5')
  })
})

describe('a state that a pass cannot read', () => {
  it('has a fault if it is ambiguous or not owned, next to the other states', async () => {
    lists('b', 'c')
    putMap({}, { ownerReferences: [stranger] })
    stage.api.put(`${MAPS}/d`, map({}))
    const one = { ...list, many: undefined } as unknown as StateQuery
    const found = await observe({ one, mine: { ...named, owned: true }, other: { ...named, name: 'd' } })
    expect(found?.states).toMatchObject({ other: { kind: 'ConfigMap' } })
    const ambiguous = 'state one of Shop n/shop: found 2 objects of kind ConfigMap; expected one'
    const notOwned =
      'state mine of Shop n/shop: ConfigMap n/a is owned by Shop other; expected the Shop; to adopt the object, remove owned from the state'
    expect(found?.unreadable).toEqual({
      one: { code: 'AmbiguousState', message: ambiguous, retryable: false },
      mine: { code: 'StateNotOwned', message: notOwned, retryable: false },
    })
  })

  it.each([
    [403, 'Forbidden', true],
    [404, 'NotFound', true],
    [400, 'BadRequest', false],
  ])('has a fault if the server answers its list with HTTP %d', async (status, code, retryable) => {
    putMap({})
    stage.api.intercept = ({ path }) => (path === MAPS ? refusal(status, code) : undefined)
    const found = await observe({ list, named })
    expect(Object.keys(found?.states ?? {})).toEqual(['named'])
    expect(found?.unreadable).toMatchObject({ list: { code, retryable } })
    expect(found?.unreadable?.['list']?.message).toMatch(new RegExp(`^state list of Shop n/shop: GET .*${status}`))
  })

  it('is read again before a temporary error becomes its fault', async () => {
    stage.api.intercept = ({ path }) => (path === MAPS ? refusal(503, 'ServiceUnavailable') : undefined)
    const fault = { type: 'ServiceUnavailable', nonRetryable: false }
    await expect(inTry(3, () => observe({ list }))).rejects.toMatchObject(fault)
    const { unreadable } = (await inTry(4, () => observe({ list }))) ?? {}
    expect(unreadable).toMatchObject({ list: { code: 'ServiceUnavailable', retryable: true } })
  })

  it('has a fault with its size if it is the largest of too many bytes; the other states are unchanged', async () => {
    // Each character has 3 bytes: the two objects have 520,000 characters, but 1,560,000 bytes.
    listing(() => ({ items: [1, 2].map((index) => map({ big: '大'.repeat(260_000) }, { name: `big-${index}` })) }))
    putMap({ key: 'value' })
    stage.api.put(`${MAPS}/b`, map({ key: 'x'.repeat(700_000) }, { name: 'b' }))
    const found = await observe({ named, list, second: { ...named, name: 'b' } })
    expect(Object.keys(found?.states ?? {})).toEqual(['named', 'second'])
    const message =
      'state list of Shop n/shop has 2 objects of 1561 kB together; the object and its states may have at most 1500 kB together; use narrower selectors, or fewer fields by pick or view'
    expect(found?.unreadable).toEqual({ list: { code: 'StatesTooLarge', retryable: false, message } })
  })

  it('is omitted if it is the largest of states that are too large only together', async () => {
    for (const [name, size] of Object.entries({ a: 400_000, b: 700_000, c: 600_000 }))
      stage.api.put(`${MAPS}/${name}`, map({ key: 'x'.repeat(size) }, { name }))
    const found = await observe({ a: named, b: { ...named, name: 'b' }, c: { ...named, name: 'c' } })
    expect(Object.keys(found?.states ?? {})).toEqual(['a', 'c'])
    const message = expect.stringContaining('has an object of 701 kB') as string
    expect(found?.unreadable).toMatchObject({ b: { code: 'StatesTooLarge', message } })
  })

  it('fails the observation only if the target itself is too large', async () => {
    putMap({ key: 'value' })
    stage.api.put(SHOP, shop({ spec: { ref: 'a', much: '大'.repeat(600_000) } }))
    await expect(observe({ named })).rejects.toMatchObject({
      type: 'StatesTooLarge',
      nonRetryable: true,
      message:
        'Shop n/shop has 1801 kB; the object and its states may have at most 1500 kB together; use a smaller object',
    })
  })
})

describe('the age of an observed list', () => {
  it('is the most recent state before the first subscription, and afterwards at least as new as the journal', async () => {
    const at = { cluster: 'local', api_group: '', kind: 'ConfigMap', uid: 'uid-a', namespace: 'n', name: 'a' }
    const row = { ...at, seq: 7, projection: '{}', updated_at: new Date(), deleted: false, presumed_deleted: false }
    await stage.deps.db
      .insertInto('object')
      .values({ ...row, resource_version: 999 })
      .execute()
    const asked = lists()
    const other = { ...list, labels: { app: 'other' } }
    for (const query of [list, list, other]) await observe({ list: query })
    // On a retry, the previous attempt may have created the subscription, so the list requests the most recent state.
    await inTry(2, () => observe({ list: other }))
    const notOlder = { resourceVersionMatch: 'NotOlderThan', resourceVersion: '999' }
    expect(asked.map(({ query }) => query)).toEqual([
      { labelSelector: 'app=shop' },
      { labelSelector: 'app=shop', ...notOlder },
      { labelSelector: 'app=other' },
      { labelSelector: 'app=other' },
    ])
  })

  it('is at least the age of the writes of the same pass, even before the journal has them', async () => {
    await observe({ list })
    await apply(wanted({ key: 'value' }))
    const version = stored(MAP)?.metadata.resourceVersion
    const asked = lists()
    await observe({ list })
    expect(asked.map(({ query }) => query['resourceVersion'])).toEqual([version])
  })
})

describe('the target, in later steps of a pass', () => {
  const query: LevelQuery = { ...maps, query: { kind: 'v1/ConfigMap', name: '${target.spec.ref}', lazy: true } }
  const refresh = async (version?: string) =>
    await stage.act.refreshLevel({ ...base, ...(version !== undefined && { version }), state: 'one', query })
  const gets = () => stage.api.requests.filter((request) => request === 'GET shops/shop').length

  it('is not read again if the process has the version that the pass has observed', async () => {
    putMap({ key: 'value' })
    const version = (await observe({}))?.target.metadata.resourceVersion ?? ''
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
