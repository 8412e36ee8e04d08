// A Shop, the target of a controller in level mode, and a ConfigMap that it may own: as objects, as inputs of the
// activities, and on a stage with an API server that the test controls and a real journal.

import { beforeEach } from 'vitest'

import type { Deps } from '../../activities/deps.ts'
import { createActivities } from '../../activities/index.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import {
  type ApplyInput,
  CONTENT,
  type ObservedObject,
  type ObserveInput,
  OWNER_ANNOTATION,
  OWNER_UID_LABEL,
  type QueryData,
  type WantedObject,
} from '../../workflows/kit/index.ts'
import type { Request } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

export const SHOP = '/apis/example.com/v1/namespaces/n/shops/shop'
export const MAPS = '/api/v1/namespaces/n/configmaps'
export const MAP = `${MAPS}/a`

export const by = { workflowID: 'shop/uid-shop', runID: 'run', pass: 1 }
export const subject = { kind: 'Shop', uid: 'uid-shop', namespace: 'n', name: 'shop' }
export const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
export const base = { by, subject, target }
export const maps = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
export const owner = { apiVersion: 'example.com/v1', kind: 'Shop', name: 'shop', uid: 'uid-shop', controller: true }
export const stranger = { ...owner, name: 'other', uid: 'uid-other' }
/** The metadata of an object that the Shop owns by label. */
export const marks = {
  labels: { [OWNER_UID_LABEL]: 'uid-shop' },
  annotations: { [OWNER_ANNOTATION]: 'Shop.example.com/n/shop' },
}

export const shop = (change: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Shop',
  spec: { ref: 'a' },
  ...change,
  metadata: { name: 'shop', namespace: 'n', uid: 'uid-shop', ...metadata },
})
export const map = (data: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  data,
  metadata: { name: 'a', namespace: 'n', uid: 'uid-a', ...metadata },
})
/** The ConfigMap as an action gives it. */
export const wanted = (data: object, metadata: object = {}): WantedObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  data,
  metadata: { name: 'a', ...metadata },
})
/** The object as a pass has observed it. */
export const observed = (object: KubeObject | undefined) => object as unknown as ObservedObject

/** Renewed for each test of the calling file. The worker follows ConfigMaps. */
export function useLevelStage(databaseUrl: string, more: Partial<Deps> = {}) {
  const current = useWriteStage(databaseUrl)
  const followed = [{ ...maps, projection: [], hashed: [CONTENT] }]
  let deps: Deps
  let act: ReturnType<typeof createActivities>
  /** Replaces dependencies of the activities. */
  const configure = (change: Partial<Deps>) => {
    deps = { ...current().deps, followed, ...more, ...change }
    act = createActivities(deps, [])
  }
  beforeEach(() => configure({}))
  return {
    configure,
    stored: (path = MAP) => current().api.objects.get(path),
    writes: () => current().api.requests.filter((request) => !request.startsWith('GET')),
    get act() {
      return act
    },
    get api() {
      return current().api
    },
    get deps() {
      return deps
    },
    apply: async (object: WantedObject, how: Partial<ApplyInput> = {}) =>
      await act.applyLevel({ ...base, resource: maps, object, ...how }),
    events: () => [...current().api.objects.values()].filter(({ kind }) => kind === 'Event'),
    /** Stores the ConfigMap with the Shop as its owner, unless the metadata says otherwise. */
    putMap: (data: object, metadata: object = { ownerReferences: [owner] }) =>
      current().api.put(MAP, map(data, metadata)),
    /** Makes a change just before the API server handles the next write whose path ends like this, once. */
    race: (change: () => void, path = '') => {
      current().api.intercept = (request) => {
        if (request.method !== 'GET' && request.path.endsWith(path)) {
          current().api.intercept = () => undefined
          change()
        }
        return undefined
      }
    },
    /** Answers each list of ConfigMaps with `answer`. @returns the requests of the lists. */
    listing: (answer: (request: Request) => { readonly items: readonly KubeObject[]; readonly next?: string }) => {
      const asked: Request[] = []
      current().api.intercept = (request) => {
        if (request.method !== 'GET' || !request.path.endsWith('/configmaps')) return undefined
        asked.push(request)
        const { items, next } = answer(request)
        return { status: 200, body: { metadata: { resourceVersion: '1000', continue: next }, items } }
      }
      return asked
    },
    /** The target and the states of these queries, or their faults. */
    observe: async (queries: Readonly<Record<string, QueryData>>, more: Partial<ObserveInput> = {}) => {
      const all = Object.entries(queries).map(([state, query]) => [state, { ...maps, query }] as const)
      return await act.observeLevel({ ...base, queries: Object.fromEntries(all), ...more })
    },
    subscriptions: async () => {
      const rows = await deps.db.selectFrom('subscription').selectAll().orderBy('name').execute()
      return rows.map(({ controller, kind, namespace, name, traits }) =>
        [controller, kind, namespace, name, ...traits].join(' '),
      )
    },
  }
}
