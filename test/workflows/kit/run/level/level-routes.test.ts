import { describe, expect, it } from 'vitest'

import {
  CONTENT,
  type DeclaredWrite,
  defineLevel,
  type GroupKind,
  groupKindText,
  hashedContent,
  type LevelController,
  levelKinds,
  levelRoutes,
  OWNER_ANNOTATION,
  nop,
  OWNER_UID_LABEL,
  path,
  type RoutedEvent,
  type Routing,
  type StateQuery,
  type Selection,
  subscriptionsOf,
  textAt,
} from '../../../../../workflows/kit/index.ts'

const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops', projection: [path('status.phase')] }
const queries = {
  pods: { kind: 'v1/Pod', many: true, owned: true },
  settings: { kind: 'v1/ConfigMap', name: '${target.spec.settings}' },
  nodes: { kind: 'v1/Node', many: true },
  sisters: { kind: 'example.com/v1/Shop', many: true, labels: { sister: 'yes' } },
} as const satisfies Record<string, StateQuery>
const shop = defineLevel({ name: 'shop', target, queries, plan: nop })

const owned = (kind = 'Shop', apiVersion = 'example.com/v1') => ({
  metadata: { ownerReferences: [{ apiVersion, kind, name: 'corner', uid: 'uid-corner', controller: true }] },
})
const route = (event: Partial<RoutedEvent>, controller: LevelController = shop): Routing => {
  const whole: RoutedEvent = {
    group: event.kind === 'Shop' ? 'example.com' : '',
    kind: 'Pod',
    uid: 'u',
    namespace: 'ns',
    name: 'x',
    resourceVersion: 1,
    type: 'MODIFIED',
    projection: {},
    previous: {},
    ...event,
  }
  return levelRoutes(controller).byKind[groupKindText(whole)]?.(whole) ?? { ignored: 'no route' }
}
const owner = { controller: 'shop', uid: 'uid-corner', namespace: 'ns', name: 'corner', mode: 'start' }

describe('the routes of a controller in level mode', () => {
  it('start a run only for objects that its predicate accepts before or after the event', () => {
    const isHot = (object: object) => textAt(object, path('status.phase')) === 'Hot'
    const picky = defineLevel({ name: 'shop', target, queries: {}, plan: nop, predicate: isHot })
    const phase = (of: string) => ({ status: { phase: of } })
    const started = [{ uid: 'u', cause: 'changed' }]
    const [hot, cold] = [phase('Hot'), phase('Cold')]
    expect(route({ kind: 'Shop', projection: hot, previous: cold }, picky)).toMatchObject({ routes: started })
    expect(route({ kind: 'Shop', projection: cold, previous: hot }, picky)).toMatchObject({ routes: started })
    const rejected = { ignored: 'predicate of controller shop' }
    expect(route({ kind: 'Shop', projection: cold, previous: cold }, picky)).toEqual(rejected)
    expect(route({ kind: 'Shop', projection: cold, previous: undefined }, picky)).toEqual(rejected)
  })

  it('start a run for every event of its objects, also for the deletion', () => {
    const own = { controller: 'shop', uid: 'u', namespace: 'ns', name: 'x', mode: 'start' }
    const deletion = { projection: { metadata: { deletionTimestamp: 'now' } } }
    expect(route({ kind: 'Shop', previous: undefined })).toEqual({ routes: [{ ...own, cause: 'first seen' }] })
    expect(route({ kind: 'Shop' })).toEqual({ routes: [{ ...own, cause: 'changed' }] })
    expect(route({ kind: 'Shop', ...deletion })).toEqual({ routes: [{ ...own, cause: 'deletion' }] })
    expect(route({ kind: 'Shop', type: 'DELETED' })).toEqual({ routes: [{ ...own, cause: 'deleted' }] })
  })

  it('start a run for the current and the previous controlling owner of an observed object', () => {
    expect(route({ projection: owned() })).toEqual({ routes: [{ ...owner, cause: 'Pod x changed' }] })
    expect(route({ type: 'DELETED', projection: owned(), previous: owned() })).toEqual({
      routes: [{ ...owner, cause: 'Pod x deleted' }],
    })
    expect(route({ previous: owned() })).toEqual({ routes: [{ ...owner, cause: 'Pod x changed' }] })
  })

  it('recognize an owner by kind and group, in any version', () => {
    expect(route({ projection: owned('Shop', 'example.com/v2') })).toHaveProperty('routes')
    for (const other of [owned('Shop', 'other.com/v1'), owned('ShopSet')]) {
      expect(route({ projection: other })).toEqual({ ignored: 'no Shop of shop owns or selects it' })
    }
  })

  it('ignore a kind with the same name in another group', () => {
    for (const other of [
      { group: 'other.com', kind: 'Shop' },
      { group: 'other.com', kind: 'Pod' },
    ])
      expect(route({ ...other, projection: owned() })).toEqual({ ignored: 'no route' })
  })

  it('start a run for the owner in label and annotation where the controller may write such objects', () => {
    const place = { controller: 'shop', uid: 'uid-corner', namespace: 'home', name: 'corner', mode: 'start' }
    const marked = (made: string) => ({
      projection: {
        metadata: { labels: { [OWNER_UID_LABEL]: 'uid-corner' }, annotations: { [OWNER_ANNOTATION]: made } },
      },
    })
    const wakes = { routes: [{ ...place, cause: 'Pod x changed' }] }
    const declared = (...writes: readonly DeclaredWrite[]) =>
      defineLevel({ name: 'shop', target, queries, plan: nop, writes })
    const here = declared({ kind: 'v1/Pod', namespaces: ['ns'] })
    expect(route(marked('Shop.example.com/home/corner'), here)).toEqual(wakes)
    expect(route({ ...marked('Shop.example.com/home/corner'), namespace: 'home' })).toEqual(wakes)
    const templated = declared({ kind: 'v1/Pod', namespaces: ['${settings.place}'] })
    expect(route(marked('Shop.example.com/home/corner'), templated)).toEqual(wakes)
    const elsewhere = [shop, declared('v1/Pod'), declared({ kind: 'v1/Pod', namespaces: ['other'] })]
    for (const other of elsewhere)
      expect(route(marked('Shop.example.com/home/corner'), other)).toEqual({
        ignored: 'no Shop of shop owns or selects it',
      })
    for (const other of ['Shop.other.com/home/corner', 'Shop.example.com/corner', 'Shop.example.com/a/b/c'])
      expect(route(marked(other), here)).toEqual({ ignored: 'no Shop of shop owns or selects it' })
  })

  it('ignore kinds that it does not observe', () => {
    expect(route({ kind: 'Secret', projection: owned() })).toEqual({ ignored: 'no route' })
  })
})

describe('the subscriptions of a query', () => {
  const own = { group: 'example.com', kind: 'Shop' }
  const core = (kind: string) => ({ group: '', kind })
  const selection = { namespace: 'ns', name: undefined, labelSelector: '', fieldSelector: '', controller: undefined }
  const subscribed = (query: StateQuery, of: GroupKind, one: Selection) => subscriptionsOf(query, of, [one])

  it('name an object if the query does, owned or not, and otherwise all objects of the kind', () => {
    const named = { ...selection, name: 'a' }
    expect(subscribed(queries.settings, core('ConfigMap'), named)).toEqual([
      { group: '', kind: 'ConfigMap', namespace: 'ns', name: 'a', traits: [] },
    ])
    expect(subscribed({ ...queries.settings, owned: true }, core('ConfigMap'), named)).toHaveLength(1)
    expect(subscribed(queries.sisters, own, selection)).toEqual([{ ...own, namespace: 'ns', name: '*', traits: [] }])
    const anywhere = { ...selection, namespace: undefined }
    expect(subscribed(queries.nodes, core('Node'), anywhere)).toEqual([
      { ...core('Node'), namespace: '*', name: '*', traits: [] },
    ])
    const selected = { ...selection, labelSelector: 'sister=yes' }
    expect(subscribed(queries.sisters, own, selected)).toMatchObject([{ name: '*', traits: ['sister=yes'] }])
    expect(subscribed(queries.sisters, own, { ...selected, name: 'a' })).toMatchObject([{ name: 'a', traits: [] }])
  })

  it('contain each value of a field, and the whole kind for very many values', () => {
    const about: StateQuery = { kind: 'v1/Event', many: true, fieldsFrom: { reason: 'spec.reasons' } }
    const valued = (count: number) =>
      Array.from({ length: count }, (_, at): Selection => {
        return { ...selection, fieldSelector: `reason=r${at}`, fromFields: { reason: `r${at}` } }
      })
    const traits = (count: number) =>
      subscriptionsOf(about, core('Event'), valued(count)).map((subscription) => subscription.traits)
    expect(traits(2)).toEqual([['.reason=r0'], ['.reason=r1']])
    expect(traits(50)).toHaveLength(50)
    expect(traits(51)).toEqual([[]])
  })

  it('are empty for a list of owned objects, because routes cover them', () => {
    expect(subscribed(queries.pods, core('Pod'), selection)).toEqual([])
  })
})

describe('the kinds that the bridge watches for a controller in level mode', () => {
  it('are its target kind and the kinds of its queries, each once, with a hash of the content', () => {
    expect(levelKinds(shop)).toEqual([
      {
        apiVersion: 'example.com/v1',
        kind: 'Shop',
        plural: 'shops',
        projection: [path('status.phase')],
        hashed: [[]],
        indexKeys: { fields: [] },
      },
      { apiVersion: 'v1', kind: 'Pod', plural: 'pods', projection: [], hashed: [[]] },
      { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', projection: [], hashed: [[]] },
      { apiVersion: 'v1', kind: 'Node', plural: 'nodes', withoutNamespace: true, projection: [], hashed: [[]] },
    ])
  })

  it('include the kinds that it writes, with ownership labels where owner references do not reach', () => {
    const writes = ['v1/Service', { kind: 'v1/ConfigMap', namespaces: ['other'] }, 'v1/Namespace']
    const kinds = levelKinds(defineLevel({ name: 'shop', target, queries, plan: nop, writes }))
    const known = Object.fromEntries(kinds.map(({ kind, projection }) => [kind, projection.length]))
    expect(known).toEqual({ Shop: 1, Pod: 0, ConfigMap: 2, Node: 0, Service: 0, Namespace: 2 })
  })

  it('lack kinds that only quiet queries read', () => {
    const nodes = { kind: 'v1/Node', many: true, quiet: true } as const
    const kinds = (of: Record<string, StateQuery>, writes: readonly string[] = []) =>
      levelKinds(defineLevel({ name: 'shop', target, queries: of, plan: nop, writes })).map(({ kind }) => kind)
    expect(kinds({ nodes })).toEqual(['Shop'])
    expect(kinds({ nodes, others: { kind: 'v1/Node', many: true } })).toEqual(['Shop', 'Node'])
    expect(kinds({ nodes }, ['v1/Node'])).toEqual(['Shop', 'Node'])
  })

  it('have index keys if a query that is not quiet selects their objects', () => {
    const pods = { kind: 'v1/Pod', many: true } as const
    const about = { kind: 'v1/Event', many: true, fieldsFrom: { 'involvedObject.name': 'status.targets' } } as const
    const traits = (of: Record<string, StateQuery>) =>
      levelKinds(defineLevel({ name: 'shop', target, queries: of, plan: nop })).flatMap((kind) => kind.indexKeys ?? [])
    expect(traits({ pods: { ...pods, labelsFrom: 'spec.selector' } })).toEqual([{ fields: [] }])
    expect(traits({ pods, about })).toEqual([{ fields: ['involvedObject.name'] }])
    expect(traits({ pods: { ...pods, labels: { a: 'b' }, quiet: true } })).toEqual([])
    expect(traits({ pods: { ...pods, labels: { a: 'b' }, owned: true } })).toEqual([])
  })

  it('have the field selector that all queries of a kind share', () => {
    const warnings = { kind: 'v1/Event', many: true, followed: { type: 'Warning' } } as const
    const followed = (also: Record<string, StateQuery>, writes: readonly string[] = []) =>
      levelKinds(defineLevel({ name: 'shop', target, queries: { warnings, ...also }, plan: nop, writes })).map(
        ({ kind, fields }) => [kind, fields],
      )
    const all = [
      ['Shop', undefined],
      ['Event', undefined],
    ]
    expect(followed({ again: warnings })).toEqual([
      ['Shop', undefined],
      ['Event', { type: 'Warning' }],
    ])
    expect(followed({ events: { kind: 'v1/Event', many: true } })).toEqual(all)
    // The controller needs events of kinds that it writes, and of its targets.
    expect(followed({}, ['v1/Event'])).toEqual(all)
    expect(followed({ own: { kind: 'example.com/v1/Shop', many: true, followed: { a: 'b' } } })[0]).toEqual(all[0])
  })

  it('are hashed over all content except fields that the server maintains', () => {
    const object = {
      metadata: { name: 'a', resourceVersion: '1', generation: 1, managedFields: [], labels: { a: 'b' } },
      data: { key: 'value' },
    }
    const content = (change: object) => hashedContent({ ...object, ...change }, [CONTENT])
    const same = { metadata: { ...object.metadata, resourceVersion: '2', generation: 2, managedFields: [1] } }
    expect(content(same)).toBe(content({}))
    expect(content({ data: { key: 'other' } })).not.toBe(content({}))
    expect(content({ metadata: { ...object.metadata, labels: {} } })).not.toBe(content({}))
  })
})
