import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../../../activities/kube/client.ts'
import { intentFor } from '../../../../../activities/landscaper/deploy/objects/apply-object.ts'
import { creation, patchChange, update } from '../../../../../activities/landscaper/deploy/objects/changes.ts'
import { itemLabel } from '../../../../../activities/landscaper/deploy/objects/ownership-labels.ts'
import { OWNERSHIP_LABELS } from '../../../../../activities/landscaper/deploy/manifest/ownership-labels.ts'
import type { UpdateStrategy } from '../../../../../activities/landscaper/deploy/objects/manifest.ts'
import { configMap, manifest, objectOf } from '../manifest/manifests.ts'

type Fields = Readonly<Record<string, unknown>>

const marks = (strategy: UpdateStrategy = 'update', item = 'item') => ({ strategy, ownership: OWNERSHIP_LABELS, item })

/** What a server would have made of it, with what a server adds. */
function stored(object: unknown, around: Fields = {}, strategy: Parameters<typeof marks>[0] = 'update'): KubeObject {
  const { metadata, ...rest } = creation(manifest(object, around), marks(strategy)) as unknown as KubeObject
  return { ...rest, metadata: { ...metadata, uid: 'u', resourceVersion: '5' } }
}

const annotationsOf = (change: ReturnType<typeof update>) =>
  (change?.body['metadata'] as { annotations?: Fields } | undefined)?.annotations

describe('the label of an item', () => {
  it('is its name, or for a long name its beginning and a hash', () => {
    expect(itemLabel('a'.repeat(63))).toBe('a'.repeat(63))
    const long = [itemLabel('a'.repeat(64)), itemLabel('a'.repeat(65))]
    expect(new Set(long).size).toBe(2)
    for (const label of long) expect(label).toMatch(/^[a-z0-9][a-z0-9-]{61}[a-z0-9]$/)
  })
})

describe('a binding to which a user has added a subject', () => {
  const alice = { kind: 'User', name: 'alice', apiGroup: 'rbac.authorization.k8s.io' }
  const roleRef = { kind: 'Role', name: 'r' }
  const binding = objectOf('rbac.authorization.k8s.io/v1', 'RoleBinding', { roleRef, subjects: [alice] })

  it.each([
    ['update', [alice]],
    ['patch', [alice]],
    ['mergeOverwrite', undefined],
    ['merge', undefined],
  ] as const)(
    'loses that subject with the strategies update and patch, and keeps it with the merge strategies: %s',
    (strategy, subjects) => {
      const grown = { ...stored(binding, {}, strategy), subjects: [alice, { ...alice, name: 'mallory' }] }
      expect(update(grown, manifest(binding), marks(strategy))?.body['subjects']).toEqual(subjects)
    },
  )
})

describe.each(['update', 'patch', 'merge', 'mergeOverwrite'] as const)('strategy %s', (strategy) => {
  it('writes nothing when the object matches the manifest, even when other clients have added fields', () => {
    const live = stored(configMap('a'), {}, strategy)
    const grown = {
      ...live,
      status: { ready: true },
      data: { ...(live['data'] as Fields), added: 'by somebody' },
      metadata: { ...live.metadata, annotations: { ...live.metadata.annotations, other: 'x' }, finalizers: ['f'] },
    }
    expect(update(grown, manifest(configMap('a')), marks(strategy))).toBeUndefined()
  })

  it('takes over an object of another item', () => {
    const change = update(stored(configMap('a'), {}, strategy), manifest(configMap('a')), marks(strategy, 'other'))
    expect(change?.body['metadata']).toMatchObject({ labels: { [OWNERSHIP_LABELS.label]: 'other' } })
  })

  it('writes with the uid and the resourceVersion of the object that it has read', () => {
    const change = update(
      stored(configMap('a'), {}, strategy),
      manifest(configMap('a', { a: '2', b: '3' })),
      marks(strategy),
    )
    expect(change?.body['metadata']).toMatchObject({ uid: 'u', resourceVersion: '5' })
  })
})

describe('strategy update', () => {
  it('keeps finalizers, owners, status and the annotations of the creation', () => {
    const around = { annotateBeforeCreate: { born: 'yes', lost: 'x' } }
    const first = stored(configMap('a'), around)
    const owners = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p' }]
    const annotations = { born: 'changed', foreign: 'x' }
    const live = {
      ...first,
      status: { s: 1 },
      metadata: { ...first.metadata, finalizers: ['f'], ownerReferences: owners, annotations },
    }
    const change = update(live, manifest(configMap('a', { a: '2' }), around), marks())
    expect(change?.body).toMatchObject({ status: { s: 1 }, metadata: { finalizers: ['f'], ownerReferences: owners } })
    expect(annotationsOf(change)).toEqual({ born: 'changed', [OWNERSHIP_LABELS.hash]: expect.any(String) as string })
  })

  it('keeps selector and pod labels of a Job', () => {
    const job = (spec: Fields) => objectOf('batch/v1', 'Job', { spec })
    const given = {
      selector: { matchLabels: { 'controller-uid': 'c' } },
      template: { metadata: { labels: { app: 'j', 'controller-uid': 'c' } }, spec: { x: 1 } },
    }
    const live = { ...stored(job({})), spec: { ...given, parallelism: 1 } }
    const wanted = job({ parallelism: 2, template: { metadata: { labels: { app: 'new' } }, spec: { x: 1 } } })
    expect(update(live, manifest(wanted), marks())?.body['spec']).toEqual({ parallelism: 2, ...given })
  })

  it('keeps the fields that the cluster has set in a Service, unless the manifest changes them', () => {
    const service = (spec: Fields) => objectOf('v1', 'Service', { spec })
    const addresses = { clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'], ipFamilies: ['IPv4'] }
    const external = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' }
    const allocated = [
      { port: 80, protocol: 'TCP', nodePort: 30080 },
      { port: 81, nodePort: 30081 },
    ]
    const given = { ...external, ...addresses, healthCheckNodePort: 31000, ports: allocated }
    const live = { ...stored(service({})), spec: given }
    const spec = (wanted: Fields) => update(live, manifest(service(wanted)), marks())?.body['spec']
    const ports = [{ port: 80 }, { port: 82 }]
    expect(spec({ ...external, ports })).toEqual({ ...given, ports: [{ port: 80, nodePort: 30080 }, { port: 82 }] })
    expect(spec({ type: 'ClusterIP', ports })).toEqual({ type: 'ClusterIP', ...addresses, ports })
    expect(spec({ clusterIP: 'None', ports })).toEqual({ clusterIP: 'None', ports })
    expect(spec({ type: 'ExternalName', externalName: 'x' })).toEqual({ type: 'ExternalName', externalName: 'x' })
  })

  it('keeps the secrets of a ServiceAccount and the volume of a claim', () => {
    const account = objectOf('v1', 'ServiceAccount')
    const liveAccount = { ...stored(account), secrets: [{ name: 't' }] }
    const change = update(liveAccount, manifest({ ...account, automountServiceAccountToken: true }), marks())
    expect(change?.body['secrets']).toEqual([{ name: 't' }])

    const storage = (amount: string) => ({ resources: { requests: { storage: amount } } })
    const claim = (amount: string) => objectOf('v1', 'PersistentVolumeClaim', { spec: storage(amount) })
    const bound = { volumeName: 'v', storageClassName: 'fast' }
    const liveClaim = { ...stored(claim('1Gi')), spec: { ...storage('1Gi'), ...bound } }
    const spec = (amount: string) => update(liveClaim, manifest(claim(amount)), marks())?.body['spec']
    expect(spec('1024Mi')).toMatchObject({ volumeName: 'v' })
    expect(spec('2Gi')).toEqual({ ...storage('2Gi'), ...bound })
  })

  it('leaves the injected parts of a Pod', () => {
    const pod = (image: string) => objectOf('v1', 'Pod', { spec: { containers: [{ name: 'app', image }] } })
    const spec = (image: string) => ({
      nodeName: 'node',
      volumes: [{ name: 'token' }],
      containers: [{ name: 'app', image, volumeMounts: [{ name: 'token' }] }, { name: 'sidecar' }],
    })
    const live = { ...stored(pod('a')), spec: spec('a') }
    expect(update(live, manifest(pod('a')), marks())).toBeUndefined()
    expect(update(live, manifest(pod('b')), marks())?.body['spec']).toEqual(spec('b'))
  })
})

describe('an object that Landscaper has applied', () => {
  const managed = (manager: string, fieldsV1: Readonly<Record<string, Fields>>) => ({
    manager,
    operation: 'Update',
    fieldsV1,
  })
  const label = { 'f:labels': { [`f:${OWNERSHIP_LABELS.label}`]: {} } }

  it('loses the fields of Landscaper that the manifest lacks, and keeps the fields of others', () => {
    const { metadata, ...rest } = stored(configMap('a', { a: '1', former: '2', others: '3' }))
    const managedFields = [
      managed('landscaper', { 'f:metadata': label, 'f:data': { 'f:a': {}, 'f:former': {} } }),
      managed('kubectl', { 'f:data': { 'f:others': {} } }),
    ]
    const live = { ...rest, metadata: { ...metadata, annotations: {}, managedFields } }
    expect(update(live, manifest(configMap('a')), marks())?.body['data']).toEqual({ a: '1', others: '3' })
    expect(update(live, manifest(configMap('a')), marks('replace'))?.body['data']).toEqual({ a: '1' })
  })
})

describe('the rules of an aggregated role', () => {
  it('stay as the controller has aggregated them when the manifest has no rules', () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }
    const role = objectOf('rbac.authorization.k8s.io/v1', 'ClusterRole', { rules: [], aggregationRule })
    const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
    const change = update({ ...stored(role), rules }, manifest(role), marks())
    expect(change?.probe?.body['rules']).toEqual(rules)
  })
})

describe('strategy patch', () => {
  it('sends the difference, with null for removed fields, and without fields of the server', () => {
    const before = stored(configMap('a', { a: '1', b: '2' }), {}, 'patch')
    const live = {
      ...before,
      status: { s: 1 },
      metadata: { ...before.metadata, managedFields: [{}], creationTimestamp: 't' },
    }
    const change = update(live, manifest(configMap('a', { a: '1', c: '3' })), marks('patch'))
    expect(change).toEqual({
      verb: 'PATCH',
      body: {
        data: { b: null, c: '3' },
        metadata: {
          annotations: { [OWNERSHIP_LABELS.hash]: expect.any(String) as string },
          uid: 'u',
          resourceVersion: '5',
        },
      },
    })
  })
})

describe('strategy mergeOverwrite', () => {
  it('replaces a list as a whole if the manifest removes an element', () => {
    const thing = (...names: readonly string[]) =>
      objectOf('a.io/v1', 'Thing', { spec: { list: names.map((name) => ({ name })) } })
    const live = stored(thing('a', 'b'), {}, 'mergeOverwrite')
    const change = update(live, manifest(thing('a')), marks('mergeOverwrite'))
    expect(change?.body['spec']).toEqual({ list: [{ name: 'a' }] })
  })
})

describe('the patches around deployment', () => {
  it('override fields, never the identity of the object or its version', () => {
    const live = stored(configMap('a'))
    const patch = {
      kind: 'Secret',
      status: { x: 1 },
      metadata: { name: 'other', uid: 'x', annotations: { note: 'y' } },
      data: { a: '2' },
    }
    const change = patchChange(live, patch)
    expect(change?.body).toMatchObject({
      kind: 'ConfigMap',
      data: { a: '2' },
      metadata: { name: 'a', uid: 'u', resourceVersion: '5' },
    })
    expect(annotationsOf(change)).toMatchObject({ note: 'y' })
    expect(change?.body['status']).toBeUndefined()
    expect(patchChange({ ...live, data: { a: '2' } }, { data: { a: '2' } })).toBeUndefined()
  })
})

describe('an existing object of policy immutable', () => {
  it('is left, and skipped when it is of another item and was not created by this one', () => {
    const ours = stored(configMap('a'))
    const foreign = { ...ours, metadata: { ...ours.metadata, labels: { [OWNERSHIP_LABELS.label]: 'other' } } }
    const intent = (live: KubeObject, ...own: readonly string[]) =>
      intentFor(manifest(configMap('a'), {}, 'immutable'), live, { marks: marks(), own: new Set(own) })
    expect([intent(ours), intent(foreign), intent(foreign, 'u')]).toEqual(['leave', 'skip', 'leave'])
  })
})
