// Observations of a pass in level mode: selectors, picked fields, views, and faults of states that the pass cannot
// read. Against an API server that the test controls, and a real journal.

import { beforeEach, describe, expect, inject, it } from 'vitest'

import type { Deps } from '../../activities/deps.ts'
import { createActivities } from '../../activities/index.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import {
  CONTENT,
  defineLevel,
  levelMode,
  type LevelQuery,
  OWNER_ANNOTATION,
  nop,
  OWNER_UID_LABEL,
  type QueryData,
} from '../../workflows/kit/index.ts'
import type { Request, TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const MAPS = '/api/v1/namespaces/n/configmaps'

const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const views = { long: ({ metadata, data }: KubeObject) => (data === undefined ? undefined : metadata.name) }
const controller = defineLevel({
  name: 'shop',
  target,
  plan: nop,
  queries: {
    viewed: { kind: 'v1/ConfigMap', many: true, view: views.long },
    broken: {
      kind: 'v1/ConfigMap',
      many: true,
      view: () => {
        throw new Error('no such field')
      },
    },
  },
})

const stage = useWriteStage(inject('servers').databaseUrl)
let api: TinyApi
let deps: Deps
let act: ReturnType<typeof createActivities>
beforeEach(async () => {
  ;({ api } = stage())
  const followed = [{ apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', projection: [], hashed: [CONTENT] }]
  deps = { ...stage().deps, followed, controllers: new Map([['shop', levelMode(controller)]]) }
  await deps.db.deleteFrom('subscription').execute()
  act = createActivities(deps, [])
  api.put('/apis/example.com/v1/namespaces/n/shops/shop', {
    apiVersion: 'example.com/v1',
    kind: 'Shop',
    spec: { selector: { matchLabels: { app: 'web' } }, namespaces: ['n', 'other'] },
    metadata: { name: 'shop', namespace: 'n', uid: 'uid-shop' },
  })
})

const by = { workflowID: 'shop/uid-shop', runID: 'run', pass: 1 }
const subject = { kind: 'Shop', uid: 'uid-shop', namespace: 'n', name: 'shop' }
const maps = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const owner = { apiVersion: 'example.com/v1', kind: 'Shop', name: 'shop', uid: 'uid-shop', controller: true }
const kind = 'v1/ConfigMap'

const map = (name: string, metadata: object = {}, data: object = { key: 'x' }): KubeObject => ({
  data,
  metadata: { name, namespace: 'n', uid: `uid-${name}`, resourceVersion: '7', ...metadata },
})
const observe = async (state: string, query: QueryData) => {
  const queries: Record<string, LevelQuery> = { [state]: { ...maps, query } }
  return (await act.observeLevel({ by, subject, target, queries }))?.states[state]
}
/** Returns the fault of a state that the pass cannot read. */
const faultOf = async (state: string, query: QueryData) => {
  const queries: Record<string, LevelQuery> = { [state]: { ...maps, query } }
  return (await act.observeLevel({ by, subject, target, queries }))?.unreadable?.[state]
}
/** Answers each list request with `answer`. @returns the requests of the lists. */
function listing(answer: (request: Request) => { readonly items: readonly KubeObject[]; readonly next?: string }) {
  const asked: Request[] = []
  api.intercept = (request) => {
    if (request.method !== 'GET' || !request.path.endsWith('/configmaps')) return undefined
    asked.push(request)
    const { items, next } = answer(request)
    return { status: 200, body: { metadata: { resourceVersion: '500', continue: next }, items } }
  }
  return asked
}
const subscriptions = async () => {
  const rows = await deps.db.selectFrom('subscription').selectAll().orderBy('name').execute()
  return rows.map(({ namespace, name }) => `${namespace} ${name}`)
}

describe('a state of thousands of objects', () => {
  const many = Array.from({ length: 5000 }, (_, index) => map(`m-${index}`, {}, { key: 'x'.repeat(2000) }))
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
    expect(await faultOf('some', { kind, many: true })).toMatchObject({
      code: 'StatesTooLarge',
      message: expect.stringContaining('expected narrower selectors, or less of each object by pick or view') as string,
    })
    const refresh = { by, subject, target, state: 'some', query: { ...maps, query: { kind, many: true } as const } }
    await expect(act.refreshLevel(refresh)).rejects.toMatchObject({ type: 'StatesTooLarge' })
  })
})

describe('a view', () => {
  it('omits objects for which it returns undefined', async () => {
    listing(() => ({ items: [map('a'), { metadata: map('b').metadata }] }))
    expect(await observe('viewed', { kind, many: true, viewed: true })).toEqual(['a'])
  })

  it('that throws causes a final fault that names the object', async () => {
    listing(() => ({ items: [map('a')] }))
    expect(await faultOf('broken', { kind, many: true, viewed: true })).toEqual({
      code: 'ViewFailed',
      retryable: false,
      message: 'the view of state broken throws on ConfigMap n/a: no such field',
    })
  })
})

describe('a state', () => {
  it('is selected by the label selector and the namespaces in the spec of the target', async () => {
    const asked = listing(({ path }) => ({ items: [map(path.includes('/other/') ? 'b' : 'a')] }))
    const query = { kind, many: true, labelsFrom: 'spec.selector', namespacesFrom: 'spec.namespaces' } as const
    expect(await observe('some', query)).toMatchObject([{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }])
    expect(asked.map(({ query: { labelSelector } }) => labelSelector)).toEqual(['app=web', 'app=web'])
    expect((await subscriptions()).toSorted()).toEqual(['n *', 'other *'])
  })

  it('may combine a name with label selectors, with many, or with all namespaces', async () => {
    const asked = listing(() => ({ items: [map('a')] }))
    expect(await observe('one', { kind, name: 'a', labels: { app: 'web' } })).toMatchObject({ metadata: { name: 'a' } })
    expect(await observe('all', { kind, many: true, name: 'a', namespace: '*' })).toHaveLength(1)
    expect(asked.map(({ query }) => query)).toEqual([
      { labelSelector: 'app=web', fieldSelector: 'metadata.name=a' },
      { fieldSelector: 'metadata.name=a' },
    ])
    expect(asked[1]?.path).toBe('/api/v1/configmaps')
    expect(await subscriptions()).toEqual(['* a'])
    api.put(`${MAPS}/a`, map('a'))
    api.intercept = () => undefined
    expect(await observe('list', { kind, many: true, name: 'a' })).toHaveLength(1)
    expect(await observe('list', { kind, many: true, name: 'b' })).toEqual([])
  })

  it('that is owned by label contains only objects with both the owner label and the owner annotation', async () => {
    const marks = {
      labels: { [OWNER_UID_LABEL]: 'uid-shop' },
      annotations: { [OWNER_ANNOTATION]: 'Shop.example.com/n/shop' },
    }
    const items = [map('a', marks), map('b', { labels: marks.labels }), map('c', { ownerReferences: [owner] })]
    const asked = listing(() => ({ items }))
    const query = { kind, many: true, namespace: '*', owned: 'label' } as const
    expect(await observe('some', query)).toMatchObject([{ metadata: { name: 'a' } }])
    expect(asked[0]?.query).toEqual({ labelSelector: 'pawl.dev/owner-uid=uid-shop' })
  })
})

describe('a single owned state that is selected by labels', () => {
  const query = { kind, labels: { app: 'web' }, owned: true } as const

  it('is the object that the target owns, even if the labels select other objects', async () => {
    listing(() => ({ items: [map('a'), map('b', { ownerReferences: [owner] })] }))
    expect(await observe('one', query)).toMatchObject({ metadata: { name: 'b' } })
    listing(() => ({ items: [] }))
    expect(await observe('one', query)).toBeUndefined()
  })

  it('is a fault if the target does not own the selected object, and the target subscribes to this object', async () => {
    const asked = listing(() => ({ items: [map('a')] }))
    expect(await faultOf('one', query)).toEqual({
      code: 'StateNotOwned',
      retryable: false,
      message: 'state one of Shop n/shop: ConfigMap n/a is owned by nobody, expected the Shop',
    })
    expect(await subscriptions()).toEqual(['n a'])
    // The state is read a second time after the subscription.
    expect(asked).toHaveLength(2)
  })
})
