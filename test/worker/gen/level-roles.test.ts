import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { defineLevel, type LevelDefinition, nop } from '../../../workflows/kit/index.ts'
import { levelRoles } from '../../../worker/gen/level-roles.ts'
import { genRbac } from '../../../worker/gen/rbac-file.ts'

const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }

interface Document {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly { apiGroups: string[]; resources: string[]; verbs: string[] }[]
  readonly roleRef?: object
  readonly subjects?: readonly object[]
}

/** Each role as `Kind namespace/name` with `resource.group: verbs`. */
function rolesOf(change: Partial<LevelDefinition<Record<string, unknown>, unknown>>, options: object = {}) {
  const shop = defineLevel({ name: 'shop', target, queries: {}, plan: nop, ...change })
  const text = levelRoles([shop], { name: 'shop', namespaces: [], accounts: undefined, ...options })
  const documents = parseAllDocuments(text).map((one) => one.toJS() as Document)
  return Object.fromEntries(
    documents.map(({ kind, metadata: { name, namespace }, rules, roleRef, subjects }) => [
      `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
      rules?.flatMap(({ apiGroups: [group = ''], resources, verbs }) =>
        resources.map((resource) => `${resource}${group === '' ? '' : `.${group}`}: ${verbs.join(' ')}`),
      ) ?? [roleRef, subjects],
    ]),
  )
}

/** Each right once, sorted. */
function rightsIn(documents: readonly Document[]): readonly string[] {
  const rules = documents.flatMap((one) => one.rules ?? [])
  return rules
    .flatMap(({ apiGroups, resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${apiGroups.join()}`)),
    )
    .sort()
}

const SWITCHED = /^(?:\w+ namespaces\.|(?:create|patch|list|watch) contexts\.|\w+ targetsyncs(?:\/\w+)?\.).*$/

const EVENTS = ['events: create']
const WATCH = 'list watch'

describe('the roles of a controller', () => {
  it('allow it to read its objects and patch their status if it declares nothing else', () => {
    expect(rolesOf({})).toEqual({
      'ClusterRole pawl-bridge-shop': [`shops.example.com: ${WATCH}`],
      'ClusterRole pawl-worker-shop': ['shops.example.com: get', 'shops/status.example.com: patch', ...EVENTS],
    })
  })

  it('allow it to patch its objects if it has a finalizer', () => {
    expect(rolesOf({ finalizer: 'example.com/shop' })['ClusterRole pawl-worker-shop']).toContain(
      'shops.example.com: get patch',
    )
  })

  it('allow it to patch objects of a kind without a status subresource', () => {
    const worker = rolesOf({ target: { ...target, statusSubresource: false } })['ClusterRole pawl-worker-shop']
    expect(worker).toEqual(['shops.example.com: get patch', ...EVENTS])
  })

  it('allow the bridge no watch of a kind that only quiet queries read', () => {
    const roles = rolesOf({ queries: { nodes: { kind: 'v1/Node', many: true, quiet: true } } })
    expect(roles['ClusterRole pawl-bridge-shop']).toEqual([`shops.example.com: ${WATCH}`])
    expect(roles['ClusterRole pawl-worker-shop']).toContain('shops.example.com: get')
    expect(JSON.stringify(roles).match(/nodes: [a-z ]+/g)).toEqual(['nodes: list'])
  })

  it('allow `get` for queries by name, `list` for other queries, and writes of the declared kinds', () => {
    const queries = {
      own: { kind: 'v1/ConfigMap', name: '${target.metadata.name}' },
      pods: { kind: 'v1/Pod', many: true as const, labels: { app: 'shop' } },
    }
    expect(rolesOf({ queries, writes: ['v1/ConfigMap', 'apps/v1/Deployment'] })).toEqual({
      'ClusterRole pawl-bridge-shop': [
        ...[`configmaps: ${WATCH}`, `pods: ${WATCH}`, `shops.example.com: ${WATCH}`, `deployments.apps: ${WATCH}`],
      ],
      'ClusterRole pawl-worker-shop': [
        ...['configmaps: get create patch delete', 'pods: list', 'shops.example.com: get'],
        ...['shops/status.example.com: patch', 'shops/finalizers.example.com: update'],
        ...['deployments.apps: get create patch delete', ...EVENTS],
      ],
    })
  })

  it('allow only the declared verbs, and no writes to a read-only target', () => {
    const writes = [{ kind: 'v1/ConfigMap', verbs: ['create', 'patch'] as const }]
    const worker = rolesOf({ target: { ...target, isReadOnly: true }, writes })['ClusterRole pawl-worker-shop']
    expect(worker).toEqual(['shops.example.com: get', 'configmaps: get create patch', ...EVENTS])
  })

  it('cover the given namespaces and the namespaces that the controller names', () => {
    const queries = {
      shared: { kind: 'v1/ConfigMap', name: 'a', namespace: 'kube-public' },
      own: { kind: 'v1/Secret', many: true as const, namespace: '${target.metadata.namespace}' },
      far: { kind: 'v1/Service', name: 'a', namespace: '${target.spec.where}' },
      node: { kind: 'v1/Node', name: 'a' },
    }
    const roles = rolesOf({ queries, writes: [{ kind: 'v1/Pod', namespaces: ['x'] }] }, { namespaces: ['a'] })
    expect(roles).toEqual({
      'ClusterRole pawl-bridge-shop': [`nodes: ${WATCH}`, `services: ${WATCH}`],
      'Role a/pawl-bridge-shop': [`pods: ${WATCH}`, `secrets: ${WATCH}`, `shops.example.com: ${WATCH}`],
      'Role kube-public/pawl-bridge-shop': [`configmaps: ${WATCH}`],
      'Role x/pawl-bridge-shop': [`pods: ${WATCH}`],
      'ClusterRole pawl-worker-shop': ['nodes: get', 'services: get'],
      'Role a/pawl-worker-shop': [
        ...['secrets: list', 'shops.example.com: get', 'shops/status.example.com: patch'],
        ...['shops/finalizers.example.com: update', 'pods: get create patch delete', ...EVENTS],
      ],
      'Role kube-public/pawl-worker-shop': ['configmaps: get'],
      'Role x/pawl-worker-shop': ['pods: get create patch delete'],
    })
  })

  it('are ClusterRoles for the kinds of a query in all namespaces, and Roles for all other rights', () => {
    const queries = { marked: { kind: 'v1/ConfigMap', many: true as const, namespace: '*', owned: 'label' as const } }
    const writes = [{ kind: 'v1/ConfigMap', namespaces: ['x'] }]
    expect(rolesOf({ queries, writes }, { namespaces: ['a'] })).toEqual({
      'ClusterRole pawl-bridge-shop': [`configmaps: ${WATCH}`],
      'Role a/pawl-bridge-shop': [`shops.example.com: ${WATCH}`, `configmaps: ${WATCH}`],
      'Role x/pawl-bridge-shop': [`configmaps: ${WATCH}`],
      'ClusterRole pawl-worker-shop': ['configmaps: list'],
      'Role a/pawl-worker-shop': [
        ...['shops.example.com: get', 'shops/status.example.com: patch', 'shops/finalizers.example.com: update'],
        ...['configmaps: get create patch delete', ...EVENTS],
      ],
      'Role x/pawl-worker-shop': ['configmaps: get create patch delete'],
    })
  })

  it('are ClusterRoles for cluster-scoped objects, whose Events are in the namespace `default`', () => {
    const roles = rolesOf({ target: { ...target, withoutNamespace: true } }, { namespaces: ['a'] })
    expect(Object.keys(roles)).toEqual([
      ...['ClusterRole pawl-bridge-shop', 'ClusterRole pawl-worker-shop', 'Role default/pawl-worker-shop'],
    ])
  })

  it('are bound to the service accounts in the namespace of --accounts', () => {
    const roles = rolesOf({}, { namespaces: ['a'], accounts: 'pawl' })
    expect(roles['RoleBinding a/pawl-worker-shop']).toEqual([
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'pawl-worker-shop' },
      [{ kind: 'ServiceAccount', name: 'pawl-worker', namespace: 'pawl' }],
    ])
    expect(Object.keys(rolesOf({}, { accounts: 'pawl' }))).toContain('ClusterRoleBinding pawl-bridge-shop')
  })
})

describe('the roles of a shipped wing', () => {
  it('are the shipped permissions as Roles in a namespace, without permissions for optional flags', async () => {
    const wish = { name: undefined, wings: ['landscaper'], namespaces: ['a'], accounts: 'pawl' }
    const printed: string[] = []
    const [print, complain] = [(text: string) => printed.push(text), (line: string) => expect.fail(line)]
    expect(await genRbac({ files: [], ...wish, out: undefined, check: false, print, complain })).toBe(0)
    const documents = parseAllDocuments(printed.join('')).map((one) => one.toJS() as Document)
    expect(documents.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`)).toEqual(
      ['bridge', 'worker'].flatMap((one) => [`Role a/pawl-${one}-landscaper`, `RoleBinding a/pawl-${one}-landscaper`]),
    )
    const shipped = await Promise.all(
      ['landscaper/bridge', 'landscaper/worker', 'worker'].map(async (path) => {
        const text = await readFile(join(import.meta.dirname, `../../../deploy/rbac/${path}.yaml`), 'utf8')
        return parseAllDocuments(text).map((one) => one.toJS() as Document)
      }),
    )
    expect(rightsIn(documents)).toEqual(rightsIn(shipped.flat()).filter((right) => !SWITCHED.test(right)))
  })
})
