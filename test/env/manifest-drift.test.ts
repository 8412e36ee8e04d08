// What a second job makes of an object that others have changed since the first: what `kubectl apply --server-side --force-conflicts` makes of a twin
// with the same history (drift-stage.ts).

import { describe, expect, inject, it } from 'vitest'

import { useTargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'
import { DRIFTER, type Fields, type OtherWrite, type Sample, Twins, useTwins } from './drift-stage.ts'

const stage = useTargetStage(inject('servers').kubeconfigPath, 'manifest-drift')
useTwins(stage)

const map = (data: Fields, metadata: Fields = {}): Sample => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
const drifter = (spec: Fields): Sample => ({ apiVersion: DRIFTER, kind: 'Drifter', spec })
const LABELS = { app: 'drifts' }
const named = (...names: readonly string[]) => names.map((name) => ({ name, image: `example/${name}:1` }))
const deployment = (pod: Fields, spec: Fields = {}): Sample => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  spec: {
    replicas: 0,
    selector: { matchLabels: LABELS },
    template: { metadata: { labels: LABELS }, spec: { containers: named('main'), ...pod } },
    ...spec,
  },
})
const inPod = (pod: Fields): Fields => ({ spec: { template: { spec: pod } } })
const service = (spec: Fields): Sample => ({ apiVersion: 'v1', kind: 'Service', spec: { selector: LABELS, ...spec } })
const rule = (resource: string) => ({ apiGroups: [''], resources: [resource], verbs: ['get'] })
const role = (...resources: readonly string[]): Sample => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  rules: resources.map(rule),
})
const policy = (spec: Fields): Sample => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  spec: { podSelector: {}, ...spec },
})

const MAIN = { name: 'main', image: 'example/main:1' }
const DRIFTS: readonly (readonly [string, Sample, OtherWrite])[] = [
  ['an entry whose null the server made a text', map({ a: null, b: '1' }), { patch: { data: { a: null } } }],
  [
    'empty values of a custom resource that were removed',
    drifter({ text: '', none: {}, list: [], zero: 0, no: false }),
    { patch: { spec: { text: null, none: null, list: null, zero: null, no: null } } },
  ],
  [
    'init containers in another order',
    deployment({ initContainers: named('a', 'b') }),
    { patch: inPod({ initContainers: named('b', 'a') }) },
  ],
  [
    'tolerations that were added beside an empty list',
    deployment({ tolerations: [] }),
    { patch: inPod({ tolerations: [{ operator: 'Exists' }] }) },
  ],
  [
    'a default that the manifest says',
    deployment({ terminationGracePeriodSeconds: 30 }),
    { patch: inPod({ terminationGracePeriodSeconds: 5 }) },
  ],
  [
    'a default that the manifest has as null',
    deployment({ dnsPolicy: null }),
    { patch: inPod({ dnsPolicy: 'Default' }) },
  ],
  [
    'an amount',
    deployment({ containers: [{ ...MAIN, resources: { limits: { cpu: '1000m' } } }] }),
    { patch: inPod({ containers: [{ ...MAIN, resources: { limits: { cpu: '2' } } }] }) },
  ],
  ['rules in another order', role('pods', 'secrets'), { patch: { rules: [rule('secrets'), rule('pods')] } }],
  ['rules that were added beside none', role(), { patch: { rules: [rule('secrets')] } }],
  ['an ingress rule that was added beside none', policy({ ingress: [] }), { patch: { spec: { ingress: [{}] } } }],
  [
    'a selector that was narrowed',
    policy({ podSelector: {} }),
    { patch: { spec: { podSelector: { matchLabels: { a: 'b' } } } } },
  ],
  [
    'a selector of a Service that was narrowed',
    service({ ports: [{ port: 80 }] }),
    { patch: { spec: { selector: { track: 'canary' } } } },
  ],
]

describe('a second job', () => {
  it.each(DRIFTS)('restores %s', async (title, sample, write) => {
    const twins = new Twins(stage, nameOf(title), { sample })
    await twins.job()
    await twins.apply()
    const before = await twins.ours()
    expect(before).toEqual(await twins.twin())
    expect(await twins.change(write)).toBe(true)
    expect(await twins.ours()).not.toEqual(before)
    await twins.job()
    await twins.apply()
    expect(await twins.ours()).toEqual(before)
    await twins.expectAlike()
  })
})

const scaled: OtherWrite = { subresource: 'scale', by: 'kube-controller-manager', patch: { spec: { replicas: 3 } } }
const web = (image: string) =>
  deployment({ nodeSelector: { nowhere: 'true' }, containers: [{ ...MAIN, image }] }, { replicas: undefined })
const SIDECAR = { name: 'sidecar', image: 'example/sidecar:1' }

/** What others have added, and what of it is there once the manifest was edited. */
const ADDITIONS: readonly (readonly [string, Sample, OtherWrite, Sample])[] = [
  ['the replicas that an autoscaler has set', web('example/main:1'), scaled, web('example/main:2')],
  [
    'a container',
    deployment({}),
    { patch: inPod({ containers: [SIDECAR, MAIN] }) },
    deployment({ containers: [{ ...MAIN, image: 'example/main:2' }] }),
  ],
  [
    'a port of the same number',
    service({ ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] }),
    {
      patch: {
        spec: {
          ports: [
            { name: 'dns', port: 53, protocol: 'UDP' },
            { name: 'tcp', port: 53 },
          ],
        },
      },
    },
    service({ ports: [{ name: 'dns', port: 53, protocol: 'UDP', targetPort: 5353 }] }),
  ],
  [
    'a key, a label, an annotation and a finalizer',
    map({ a: '1' }, { finalizers: ['drift.example/ours'] }),
    {
      patch: {
        metadata: {
          labels: { 'of.others/x': '' },
          annotations: { 'of.others/y': 'z' },
          finalizers: ['drift.example/ours', 'drift.example/theirs'],
        },
        data: { b: '' },
      },
    },
    map({ a: '2' }, { finalizers: ['drift.example/ours'] }),
  ],
  [
    'a field that an earlier manifest had, once another manager has changed it',
    map({ a: '1', b: '1' }),
    { patch: { data: { b: '2' } } },
    map({ a: '2' }),
  ],
]

describe('a manifest that the server stores in another way', () => {
  const container = { ...MAIN, misspelt: 'x', command: [], resources: { limits: { cpu: '1000m' } } }
  const spec = { containers: [container], nodeSelector: {}, dnsPolicy: null, volumes: [] }
  // No controller writes objects of this kind.
  const sample = { apiVersion: 'v1', kind: 'PodTemplate', template: { metadata: { labels: LABELS }, spec } }

  it.each(['update', 'patch', 'merge', 'mergeOverwrite', 'replace'])(
    'is compared by the server, and not written again: strategy %s',
    async (strategy) => {
      const twins = new Twins(stage, `stored-${strategy.toLowerCase()}`, { sample, strategy })
      await twins.job()
      stage.kube.requests = []
      await twins.job()
      expect(stage.kube.writes).toEqual([])
      expect(stage.kube.dryRuns.length).toBeLessThanOrEqual(1)
    },
  )
})

describe('an edited manifest', () => {
  it.each(ADDITIONS)('leaves %s', async (title, sample, write, edited) => {
    const twins = new Twins(stage, nameOf(title), { sample })
    await twins.job()
    await twins.apply()
    expect(await twins.change(write)).toBe(true)
    await twins.job()
    await twins.apply()
    await twins.expectAlike()
    await twins.job(edited)
    await twins.apply(edited)
    await twins.expectAlike()
  })

  it('is applied without the fields of others that it contradicts', async () => {
    const twins = new Twins(stage, 'contradicted', { sample: deployment({}) })
    await twins.job()
    await twins.apply()
    await twins.change({ patch: { spec: { strategy: { rollingUpdate: { maxSurge: 2 } } } } })
    await twins.job(deployment({}, { strategy: { type: 'Recreate' } }))
    expect(await twins.ours()).toMatchObject({ spec: { strategy: { type: 'Recreate' } } })
  })

  it.each(['update', 'patch', 'merge', 'mergeOverwrite'])(
    'keeps the replicas of an autoscaler with %s',
    async (strategy) => {
      const twins = new Twins(stage, `scaled-${strategy.toLowerCase()}`, { sample: web('example/main:1'), strategy })
      await twins.job()
      await twins.apply()
      await twins.change(scaled)
      await twins.job(web('example/main:2'))
      expect(await twins.ours()).toMatchObject({ spec: { replicas: 3 } })
    },
  )
})

function nameOf(title: string): string {
  return title.toLowerCase().replace(/[^a-z]+/g, '-')
}
