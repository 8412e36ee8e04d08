// Values of the chart that together change all of its objects, for the tests of the chart and of `pawl install`.

/** The namespace of the release. */
export const CHART_NAMESPACE = 'chart'
const EXTRA_WORKER = { name: 'x', replicas: 1, args: ['--only=execution'] }
const TLS = { enabled: true, serverName: 't', authoritySecret: 'a', clientSecret: 'b' }
const ON = { enabled: true }
const OFF = { enabled: false }
const PEERS = { to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }

export const CHART_VARIANTS: readonly object[] = [
  {},
  { wings: ['landscaper', 'chaos', 'foundationdb'], webhook: ON, chaosConfig: { controller: { deleteOnly: true } } },
  { webhook: ON, api: ON, secrets: { certificates: 'c' } },
  { watchNamespace: CHART_NAMESPACE, webhook: ON, api: ON },
  { wings: [], controllers: ['a.ts'], extraWorkers: [EXTRA_WORKER], secrets: { payloadKey: 'p' } },
  { temporal: { tls: TLS, address: 't:7233', apiKeySecret: 'k' }, image: { pullSecrets: ['x'], tag: '1' } },
  { worker: { autoscaling: ON } },
  {
    worker: { autoscaling: { enabled: true, podMetric: 'waiting' } },
    priorityClassName: 'p',
    nodeSelector: { a: 'b' },
  },
  {
    networkPolicy: { egress: [PEERS] },
    podAnnotations: { a: 'b' },
    podLabels: { c: 'd' },
    tolerations: [{ operator: 'Exists' }],
  },
  ...['chaos', 'foundationdb'].map((wing) => ({ wings: [wing], webhook: ON })),
  { podMonitor: ON, monitoring: { dashboards: ON, rules: { enabled: true, journalGiB: 7, labels: { release: 'x' } } } },
  { networkPolicy: OFF, podDisruptionBudget: OFF, rbac: { create: false }, migrate: OFF, nameOverride: 'awl' },
  { trial: { enabled: true, password: 'abcdefgh1', contentKey: 'a'.repeat(64), storageClass: 'fast' } },
]
