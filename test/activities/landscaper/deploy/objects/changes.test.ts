import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../../../activities/kube/client.ts'
import { intentFor } from '../../../../../activities/landscaper/deploy/objects/apply-object.ts'
import { creation, patchChange, update } from '../../../../../activities/landscaper/deploy/objects/changes.ts'
import { itemLabel } from '../../../../../activities/landscaper/deploy/objects/ownership-labels.ts'
import { OWNERSHIP_LABELS } from '../../../../../activities/landscaper/deploy/manifest/ownership-labels.ts'
import { POLICIES, type UpdateStrategy } from '../../../../../activities/landscaper/deploy/objects/manifest.ts'
import { configMap, manifest } from '../manifest/manifests.ts'

type Fields = Readonly<Record<string, unknown>>

const marks = (strategy: UpdateStrategy = 'update', item = 'item') => ({ strategy, ownership: OWNERSHIP_LABELS, item })

/** What a server would have made of it, with what a server adds. */
function stored(object: unknown, around: Fields = {}, strategy: Parameters<typeof marks>[0] = 'update'): KubeObject {
  const { metadata, ...rest } = creation(manifest(object, around), marks(strategy)) as unknown as KubeObject
  return { ...rest, metadata: { ...metadata, uid: 'u', resourceVersion: '5' } }
}

const annotationsOf = (change: ReturnType<typeof update>) =>
  (change?.body['metadata'] as { annotations?: Fields } | undefined)?.annotations

describe('an object that is created', () => {
  it('has the label, the hash and the annotations for its creation', () => {
    const { metadata } = creation(
      manifest(configMap('a'), { annotateBeforeCreate: { born: 'yes' } }),
      marks(),
    ) as unknown as KubeObject
    expect(metadata.labels).toEqual({ [OWNERSHIP_LABELS.label]: 'item' })
    expect(metadata.annotations).toEqual({
      born: 'yes',
      [OWNERSHIP_LABELS.hash]: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    })
  })
})

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
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'b', namespace: 'n' },
    roleRef: { kind: 'Role', name: 'r' },
    subjects: [alice],
  }

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
  it('removes fields that the manifest no longer has', () => {
    const change = update(stored(configMap('a', { a: '1', b: '2' })), manifest(configMap('a', { a: '1' })), marks())
    expect(change).toMatchObject({ verb: 'PUT', body: { data: { a: '1' } } })
    expect(change?.body['data']).toEqual({ a: '1' })
  })

  it('restores fields that another client has changed', () => {
    const live = { ...stored(configMap('a')), data: { a: 'drifted' } }
    expect(update(live, manifest(configMap('a')), marks())?.body['data']).toEqual({ a: '1' })
  })

  it('replaces an object that another tool applied', () => {
    const live: KubeObject = {
      ...configMap('a', { a: '1', b: '2' }),
      metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '5' },
    }
    expect(update(live, manifest(configMap('a')), marks())?.body['data']).toEqual({ a: '1' })
  })

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

  it('accepts the result of patchAfterDeployment as applied', () => {
    const around = { patchAfterDeployment: { data: { a: 'patched', c: 'new' } } }
    const live = { ...stored(configMap('a'), around), data: { a: 'patched', c: 'new' } }
    expect(update(live, manifest(configMap('a'), around), marks())).toBeUndefined()
    expect(update({ ...live, data: { a: 'other' } }, manifest(configMap('a'), around), marks())).toBeDefined()
  })

  it('keeps selector and pod labels of a Job', () => {
    const job = (spec: Fields) => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j', namespace: 'n' },
      spec,
    })
    const template = { metadata: { labels: { app: 'j', 'controller-uid': 'c' } }, spec: { x: 1 } }
    const live = {
      ...stored(job({})),
      spec: { selector: { matchLabels: { 'controller-uid': 'c' } }, template, parallelism: 1 },
    }
    const wanted = job({ parallelism: 2, template: { metadata: { labels: { app: 'new' } }, spec: { x: 1 } } })
    expect(update(live, manifest(wanted), marks())?.body['spec']).toEqual({
      parallelism: 2,
      selector: { matchLabels: { 'controller-uid': 'c' } },
      template,
    })
  })

  it('keeps the fields that the cluster has set in a Service, unless the manifest changes them', () => {
    const service = (spec: Fields) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's', namespace: 'n' },
      spec,
    })
    const given = {
      type: 'LoadBalancer',
      clusterIP: '10.0.0.7',
      clusterIPs: ['10.0.0.7'],
      ipFamilies: ['IPv4'],
      externalTrafficPolicy: 'Local',
      healthCheckNodePort: 31000,
      ports: [
        { port: 80, protocol: 'TCP', nodePort: 30080 },
        { port: 81, nodePort: 30081 },
      ],
    }
    const live = { ...stored(service({})), spec: given }
    const spec = (wanted: Fields) => update(live, manifest(service(wanted)), marks())?.body['spec']
    const ports = [{ port: 80 }, { port: 82 }]
    expect(spec({ type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports })).toEqual({
      ...given,
      ports: [{ port: 80, nodePort: 30080 }, { port: 82 }],
    })
    expect(spec({ type: 'ClusterIP', ports })).toEqual({
      type: 'ClusterIP',
      clusterIP: '10.0.0.7',
      clusterIPs: ['10.0.0.7'],
      ipFamilies: ['IPv4'],
      ports,
    })
    expect(spec({ clusterIP: 'None', ports })).toEqual({ clusterIP: 'None', ports })
    expect(spec({ type: 'ExternalName', externalName: 'x' })).toEqual({ type: 'ExternalName', externalName: 'x' })
  })

  it('keeps the secrets of a ServiceAccount and the volume of a claim', () => {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 's', namespace: 'n' } }
    const liveAccount = { ...stored(account), secrets: [{ name: 't' }] }
    const change = update(liveAccount, manifest({ ...account, automountServiceAccountToken: true }), marks())
    expect(change?.body['secrets']).toEqual([{ name: 't' }])

    const claim = (storage: string) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'c', namespace: 'n' },
      spec: { resources: { requests: { storage } } },
    })
    const liveClaim = {
      ...stored(claim('1Gi')),
      spec: { ...claim('1Gi').spec, volumeName: 'v', storageClassName: 'fast' },
    }
    expect(update(liveClaim, manifest(claim('1024Mi')), marks())?.body['spec']).toMatchObject({ volumeName: 'v' })
    expect(update(liveClaim, manifest(claim('2Gi')), marks())?.body['spec']).toEqual({
      ...claim('2Gi').spec,
      volumeName: 'v',
      storageClassName: 'fast',
    })
  })

  it('leaves the injected parts of a Pod', () => {
    const pod = (image: string) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'n' },
      spec: { containers: [{ name: 'app', image }] },
    })
    const spec = {
      nodeName: 'node',
      volumes: [{ name: 'token' }],
      containers: [{ name: 'app', image: 'a', volumeMounts: [{ name: 'token' }] }, { name: 'sidecar' }],
    }
    const live = { ...stored(pod('a')), spec }
    expect(update(live, manifest(pod('a')), marks())).toBeUndefined()
    expect(update(live, manifest(pod('b')), marks())?.body['spec']).toEqual({
      ...spec,
      containers: [{ name: 'app', image: 'b', volumeMounts: [{ name: 'token' }] }, { name: 'sidecar' }],
    })
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
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'r' },
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    }
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

describe('strategy merge', () => {
  it('adds missing fields and changes no existing ones', () => {
    const live = stored(configMap('a', { a: 'live', empty: '' }), {}, 'merge')
    const change = update(live, manifest(configMap('a', { a: 'wanted', b: 'new', empty: 'filled' })), marks('merge'))
    expect(change?.body['data']).toEqual({ a: 'live', b: 'new', empty: 'filled' })
    expect(annotationsOf(change)).toEqual({})
  })
})

describe('strategy mergeOverwrite', () => {
  it('changes and adds fields, and leaves the others', () => {
    const live = stored(configMap('a', { a: 'live', extra: 'x' }), {}, 'mergeOverwrite')
    const change = update(live, manifest(configMap('a', { a: 'wanted', b: 'new' })), marks('mergeOverwrite'))
    expect(change?.body['data']).toEqual({ a: 'wanted', b: 'new', extra: 'x' })
  })

  it('replaces a list as a whole if the manifest removes an element', () => {
    const kind = (names: readonly string[]) => ({
      apiVersion: 'a.io/v1',
      kind: 'Thing',
      metadata: { name: 't', namespace: 'n' },
      spec: { list: names.map((name) => ({ name })) },
    })
    const change = update(
      stored(kind(['a', 'b']), {}, 'mergeOverwrite'),
      manifest(kind(['a'])),
      marks('mergeOverwrite'),
    )
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

describe('a policy and an existing object', () => {
  it('together determine the change', () => {
    const ours = stored(configMap('a'))
    const foreign = { ...ours, metadata: { ...ours.metadata, labels: { [OWNERSHIP_LABELS.label]: 'other' } } }
    const own = new Set<string | undefined>()
    const intents = POLICIES.map((policy) => {
      const one = manifest(configMap('a'), {}, policy)
      return [policy, intentFor(one, ours, { marks: marks(), own }), intentFor(one, foreign, { marks: marks(), own })]
    })
    expect(intents).toEqual([
      ['manage', 'update', 'update'],
      ['fallback', 'update', 'skip'],
      ['keep', 'update', 'update'],
      ['ignore', 'skip', 'skip'],
      ['immutable', 'leave', 'skip'],
    ])
    const known = new Set([foreign.metadata.uid])
    expect(intentFor(manifest(configMap('a'), {}, 'immutable'), foreign, { marks: marks(), own: known })).toBe('leave')
  })
})
