// What a query of a controller in level mode selects, and what it returns of the objects: picked fields, views, owned
// objects. Against an API server that the test controls, and a real journal.

import { beforeEach, describe, expect, inject, it } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { defineLevel, levelMode, nop, type QueryData } from '../../workflows/kit/index.ts'
import { base, map, MAP, maps, marks, owner, shop, SHOP, target, useLevelStage } from './level-stage.ts'

const kind = 'v1/ConfigMap'
const queries = {
  viewed: {
    kind,
    many: true,
    view: ({ metadata, data }: KubeObject) => (data === undefined ? undefined : metadata.name),
  },
  broken: {
    kind,
    many: true,
    view: () => {
      throw new Error('no such field')
    },
  },
} as const
const controller = defineLevel({ name: 'shop', target, plan: nop, queries })

const stage = useLevelStage(inject('servers').databaseUrl, { controllers: new Map([['shop', levelMode(controller)]]) })
const { listing, subscriptions } = stage
beforeEach(() => {
  stage.api.put(SHOP, shop({ spec: { selector: { matchLabels: { app: 'web' } }, namespaces: ['n', 'other'] } }))
})

const named = (name: string, metadata: object = {}, data: object = { key: 'x' }) =>
  map(data, { name, uid: `uid-${name}`, resourceVersion: '7', ...metadata })
const observe = async (state: string, query: QueryData) => (await stage.observe({ [state]: query }))?.states[state]
/** The fault of a state that the pass cannot read. */
const faultOf = async (state: string, query: QueryData) =>
  (await stage.observe({ [state]: query }))?.unreadable?.[state]
const namesOf = (found: unknown) => (found as readonly KubeObject[]).map(({ metadata }) => metadata.name)

describe('a state of thousands of objects', () => {
  const many = Array.from({ length: 5000 }, (_, index) => named(`m-${index}`, {}, { key: 'x'.repeat(2000) }))
  const inPages = () =>
    listing(({ query }) => {
      const start = Number(query['continue'] ?? '0')
      const next = start + Number(query['limit'] ?? many.length)
      return { items: many.slice(start, next), ...(next < many.length && { next: String(next) }) }
    })

  it('fits if the query picks fields, and is read in pages', async () => {
    const asked = inPages()
    const found = (await observe('some', { kind, many: true, pick: ['data.other'] })) as readonly object[]
    expect(found).toHaveLength(5000)
    expect(found[4999]).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'm-4999', namespace: 'n', uid: 'uid-m-4999', resourceVersion: '7' },
    })
    expect(asked).toHaveLength(10)
    expect(asked[9]?.query).toEqual({ limit: '500', continue: '4500' })
  })

  it('fits if a view reduces it; otherwise its fault says how to reduce it', async () => {
    inPages()
    expect(await observe('viewed', { kind, many: true, viewed: true })).toHaveLength(5000)
    const message = 'use narrower selectors, or fewer fields by pick or view'
    const fault = { code: 'StatesTooLarge', message: expect.stringContaining(message) as string }
    expect(await faultOf('some', { kind, many: true })).toMatchObject(fault)
    const refresh = { ...base, state: 'some', query: { ...maps, query: { kind, many: true } as const } }
    await expect(stage.act.refreshLevel(refresh)).rejects.toMatchObject({ type: 'StatesTooLarge' })
  })
})

describe('a view', () => {
  it('omits objects for which it returns undefined', async () => {
    listing(() => ({ items: [named('a'), { metadata: named('b').metadata }] }))
    expect(await observe('viewed', { kind, many: true, viewed: true })).toEqual(['a'])
  })

  it('that throws causes a final fault that names the object', async () => {
    listing(() => ({ items: [named('a')] }))
    expect(await faultOf('broken', { kind, many: true, viewed: true })).toEqual({
      code: 'ViewFailed',
      retryable: false,
      message: 'the view of state broken throws for ConfigMap n/a: no such field',
    })
  })
})

describe('a state', () => {
  it('is selected by the label selector and the namespaces in the spec of the target', async () => {
    const asked = listing(({ path }) => ({ items: [named(path.includes('/other/') ? 'b' : 'a')] }))
    const query = { kind, many: true, labelsFrom: 'spec.selector', namespacesFrom: 'spec.namespaces' } as const
    expect(namesOf(await observe('some', query))).toEqual(['a', 'b'])
    expect(asked.map(({ query: { labelSelector } }) => labelSelector)).toEqual(['app=web', 'app=web'])
    const all = ['n', 'other'].map((namespace) => `shop ConfigMap ${namespace} * app=web`)
    expect((await subscriptions()).toSorted()).toEqual(all)
  })

  it('may combine a name with label selectors, with many, or with all namespaces', async () => {
    const asked = listing(() => ({ items: [named('a')] }))
    expect(await observe('one', { kind, name: 'a', labels: { app: 'web' } })).toMatchObject({ metadata: { name: 'a' } })
    expect(await observe('all', { kind, many: true, name: 'a', namespace: '*' })).toHaveLength(1)
    expect(asked.map(({ query }) => query)).toEqual([
      { labelSelector: 'app=web', fieldSelector: 'metadata.name=a' },
      { fieldSelector: 'metadata.name=a' },
    ])
    expect(asked[1]?.path).toBe('/api/v1/configmaps')
    expect(await subscriptions()).toEqual(['shop ConfigMap * a'])
    stage.api.put(MAP, named('a'))
    stage.api.intercept = () => undefined
    expect(await observe('list', { kind, many: true, name: 'a' })).toHaveLength(1)
    expect(await observe('list', { kind, many: true, name: 'b' })).toEqual([])
  })

  it('that is owned by label contains only objects with both the owner label and the owner annotation', async () => {
    const items = [named('a', marks), named('b', { labels: marks.labels }), named('c', { ownerReferences: [owner] })]
    const asked = listing(() => ({ items }))
    expect(namesOf(await observe('some', { kind, many: true, namespace: '*', owned: 'label' }))).toEqual(['a'])
    expect(asked[0]?.query).toEqual({ labelSelector: 'pawl.dev/owner-uid=uid-shop' })
  })
})

describe('a single owned state that is selected by labels', () => {
  const query = { kind, labels: { app: 'web' }, owned: true } as const

  it('is the object that the target owns, even if the labels select other objects', async () => {
    listing(() => ({ items: [named('a'), named('b', { ownerReferences: [owner] })] }))
    expect(await observe('one', query)).toMatchObject({ metadata: { name: 'b' } })
    listing(() => ({ items: [] }))
    expect(await observe('one', query)).toBeUndefined()
  })

  it('is a fault if the target does not own the selected object, and the target subscribes to this object', async () => {
    const asked = listing(() => ({ items: [named('a')] }))
    expect(await faultOf('one', query)).toEqual({
      code: 'StateNotOwned',
      retryable: false,
      message:
        'state one of Shop n/shop: ConfigMap n/a is owned by nobody; expected the Shop; to adopt the object, remove owned from the state',
    })
    expect(await subscriptions()).toEqual(['shop ConfigMap n a'])
    // The state is read a second time after the subscription.
    expect(asked).toHaveLength(2)
  })
})
