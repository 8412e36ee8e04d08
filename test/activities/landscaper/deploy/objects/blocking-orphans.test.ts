// Which orphan is removed before the new objects, on the API server's answers as it words them.

import { describe, expect, it } from 'vitest'
import { KubeError } from '../../../../../activities/kube/errors.ts'
import type { KubeObject } from '../../../../../activities/kube/client.ts'
import { blockingOrphan } from '../../../../../activities/landscaper/deploy/objects/blocking-orphans.ts'
import type { Policy } from '../../../../../activities/landscaper/deploy/objects/manifest.ts'
import type { ServedKind, TargetCluster } from '../../../../../activities/landscaper/deploy/target/target-cluster.ts'
import { OWNERSHIP_LABELS } from '../../../../../activities/landscaper/deploy/manifest/ownership-labels.ts'
import { manifest } from '../manifest/manifests.ts'

type Shape = { readonly apiVersion: string; readonly kind: string; readonly [field: string]: unknown }

const MARK = { ownership: OWNERSHIP_LABELS, item: 'item' }
const service = (spec: object): Shape => ({ apiVersion: 'v1', kind: 'Service', spec })
const port = (nodePort: number, protocol = 'TCP') => service({ ports: [{ port: 80, nodePort, protocol }] })
const map: Shape = { apiVersion: 'v1', kind: 'ConfigMap' }
const ingress = (host: string): Shape => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  spec: { rules: [{ host }] },
})
const defaultClass = (kind: string, isDefault = 'true'): Shape => ({
  apiVersion: 'networking.k8s.io/v1',
  kind,
  metadata: { annotations: { 'ingressclass.kubernetes.io/is-default-class': isDefault } },
})

const CLASSES = '2 default IngressClasses were found, only 1 allowed'

const refused = (message: string, status = 422) => new KubeError(message, { status, reason: 'Invalid' })
const denied = (message: string) => new KubeError(message, { status: 403, reason: 'Forbidden', isDenial: true })

const ALLOCATED = refused('Service "new" is refused: spec.ports[0].nodePort: Invalid value')
const QUOTA = refused(
  'configmaps "new" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=1',
  403,
)
const HOST = denied(
  'admission webhook "validate.nginx" denied the request: host "..." and path "/" is already defined in ingress n/old',
)

interface Around {
  readonly labels?: Readonly<Record<string, string>>
  readonly policy?: Policy
  readonly namespace?: string
}

async function blocker(
  orphan: Shape,
  rejected: Shape,
  error: KubeError,
  { labels = { [OWNERSHIP_LABELS.label]: 'item' }, policy = 'manage', namespace = 'n' }: Around = {},
): Promise<string | undefined> {
  const { metadata = {} } = orphan as { metadata?: object }
  const live: KubeObject = { ...orphan, metadata: { ...metadata, name: 'old', namespace, labels, uid: 'u' } }
  const served: ServedKind = { ...orphan, plural: 'things', namespaced: true }
  const target = {
    servedKind: () => Promise.resolve(served),
    kube: { request: () => Promise.resolve(live) },
  } as unknown as TargetCluster
  const resource = { apiVersion: orphan.apiVersion, kind: orphan.kind, name: 'old', namespace, uid: 'other' }
  const { metadata: own = {} } = rejected as { metadata?: object }
  const { object } = manifest({ ...rejected, metadata: { ...own, name: 'new', namespace: 'n' } })
  const rejections = [{ object, error }]
  const found = await blockingOrphan({
    target,
    mark: MARK,
    orphans: [{ policy, resource }],
    rejections,
    signal: new AbortController().signal,
  })
  return found?.resource.name
}

describe('the orphan that holds what a rejected object needs', () => {
  it.each([
    ['a Service has the node port', port(30080), port(30080), ALLOCATED, 'old'],
    ['a Service has another node port', port(30081), port(30080), ALLOCATED, undefined],
    ['a Service has the node port of another protocol', port(30080, 'UDP'), port(30080), ALLOCATED, undefined],
    ['a ConfigMap counts for the full quota', map, map, QUOTA, 'old'],
    ['an object of another kind does not count for the quota', port(30080), map, QUOTA, undefined],
    ['an Ingress has the host', ingress('a.example'), ingress('a.example'), HOST, 'old'],
    ['an Ingress that the webhook names', ingress('b.example'), ingress('a.example'), HOST, 'old'],
    [
      'an Ingress has another host, and the webhook names another Ingress',
      ingress('b.example'),
      ingress('a.example'),
      denied('admission webhook "v" denied the request: host "..." is already defined in ingress n/older'),
      undefined,
    ],
    [
      'a webhook denies for another reason',
      ingress('a.example'),
      ingress('a.example'),
      denied('admission webhook "v" denied the request: the label team is missing in n/old'),
      undefined,
    ],
    [
      'an IngressClass is the other default',
      defaultClass('IngressClass'),
      ingress('a.example'),
      refused(`ingresses "new" is forbidden: ${CLASSES}`, 403),
      'old',
    ],
    [
      'an IngressClass that is no default',
      defaultClass('IngressClass', 'false'),
      ingress('a.example'),
      refused(`ingresses "new" is forbidden: ${CLASSES}`, 403),
      undefined,
    ],
    ['the server is too busy', port(30080), port(30080), refused('spec.ports[0].nodePort', 429), undefined],
  ])('%s', async (...[, orphan, rejected, error, expected]) => {
    expect(await blocker(orphan, rejected, error)).toBe(expected)
  })

  it.each<[string, Around]>([
    ['of policy keep', { policy: 'keep' }],
    ['of policy ignore', { policy: 'ignore' }],
    ['that another item has taken over', { labels: { [OWNERSHIP_LABELS.label]: 'another' } }],
    ['without a label, that is not the object that was recorded', { labels: {} }],
  ])('is not an orphan %s', async (_, around) => {
    expect(await blocker(port(30080), port(30080), ALLOCATED, around)).toBeUndefined()
  })

  it('does not exist in another namespace than the quota', async () => {
    expect(await blocker(map, map, QUOTA, { namespace: 'm' })).toBeUndefined()
  })
})
