import { describe, expect, it } from 'vitest'

import { fieldsOf, type JsonFields, listOf } from '../../../../workflows/kit/index.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'
import { clusterPod, podSpec, podSpecHash } from '../../../../workflows/foundationdb/resources/pod.ts'
import { settingsOf } from '../clusters.ts'

const STORAGE = { processGroupID: 'storage-1', processClass: 'storage' }
const LABELS = {
  'foundationdb.org/fdb-cluster-name': 'db',
  'foundationdb.org/fdb-process-class': 'storage',
  'foundationdb.org/fdb-process-group-id': 'storage-1',
}

const specOf = (spec: Partial<ClusterSpec> = {}, group = STORAGE) =>
  podSpec({ settings: settingsOf(spec), group, version: '7.1.67' })
const hashOf = (spec: Partial<ClusterSpec> = {}, group = STORAGE) =>
  podSpecHash({ settings: settingsOf(spec), group, version: '7.1.67' })

function container(spec: JsonFields, name: string): JsonFields {
  const all = [...listOf(spec['containers']), ...listOf(spec['initContainers'])].map(fieldsOf)
  return fieldsOf(all.find((one) => one['name'] === name))
}

const variable = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })

const ENVIRONMENT = [
  variable('FDB_PUBLIC_IP', 'status.podIP'),
  variable('FDB_POD_IP', 'status.podIP'),
  variable('FDB_MACHINE_ID', 'spec.nodeName'),
  variable('FDB_ZONE_ID', 'spec.nodeName'),
  { name: 'FDB_INSTANCE_ID', value: 'storage-1' },
]
const SIDECAR = {
  image: 'foundationdb/foundationdb-kubernetes-sidecar:7.1.67-1',
  env: ENVIRONMENT,
  resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { cpu: '100m', memory: '256Mi' } },
  securityContext: { readOnlyRootFilesystem: true },
  volumeMounts: [
    { name: 'config-map', mountPath: '/var/input-files' },
    { name: 'dynamic-conf', mountPath: '/var/output-files' },
  ],
}
const SIDECAR_ARGS = [
  ...['--copy-file', 'fdb.cluster', '--input-monitor-conf', 'fdbmonitor.conf', '--copy-binary', 'fdbserver'],
  ...['--copy-binary', 'fdbcli', '--main-container-version', '7.1.67', '--substitute-variable', 'FDB_POD_IP'],
]

describe('the Pod of a process group with split images', () => {
  // Source: spec/foundationdb.md 4.14.
  it('has FoundationDB, its sidecar and its init container', () => {
    expect(specOf()).toEqual({
      initContainers: [{ name: 'foundationdb-kubernetes-init', ...SIDECAR, args: [...SIDECAR_ARGS, '--init-mode'] }],
      containers: [
        {
          name: 'foundationdb',
          image: 'foundationdb/foundationdb:7.1.67',
          command: [
            ...['sh', '-c'],
            "fdbmonitor --conffile /var/dynamic-conf/fdbmonitor.conf --lockfile /var/dynamic-conf/fdbmonitor.lockfile --loggroup db >> /var/log/fdb-trace-logs/fdbmonitor-$(date '+%Y-%m-%d').log 2>&1",
          ],
          env: [{ name: 'FDB_CLUSTER_FILE', value: '/var/dynamic-conf/fdb.cluster' }],
          resources: { requests: { cpu: '1', memory: '8Gi' }, limits: { cpu: '1', memory: '8Gi' } },
          securityContext: { readOnlyRootFilesystem: true },
          volumeMounts: [
            { name: 'data', mountPath: '/var/fdb/data' },
            { name: 'dynamic-conf', mountPath: '/var/dynamic-conf' },
            { name: 'fdb-trace-logs', mountPath: '/var/log/fdb-trace-logs' },
          ],
        },
        {
          name: 'foundationdb-kubernetes-sidecar',
          ...SIDECAR,
          args: SIDECAR_ARGS,
          livenessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 30, failureThreshold: 5, timeoutSeconds: 1 },
        },
      ],
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'db-storage-1-data' } },
        { name: 'dynamic-conf', emptyDir: {} },
        {
          name: 'config-map',
          configMap: {
            name: 'db-config',
            items: [
              { key: 'fdbmonitor-conf-storage', path: 'fdbmonitor.conf' },
              { key: 'cluster-file', path: 'fdb.cluster' },
            ],
          },
        },
        { name: 'fdb-trace-logs', emptyDir: {} },
      ],
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 1,
              podAffinityTerm: {
                topologyKey: 'kubernetes.io/hostname',
                labelSelector: {
                  matchLabels: {
                    'foundationdb.org/fdb-cluster-name': 'db',
                    'foundationdb.org/fdb-process-class': 'storage',
                  },
                },
              },
            },
          ],
        },
      },
    })
  })

  it('has labels, annotations and the hash of its spec', () => {
    const settings = settingsOf({
      labels: { resourceLabels: { team: 'a' } },
      processes: { general: { podTemplate: { metadata: { labels: { x: 'y' }, annotations: { note: 'z' } } } } },
    })
    const { metadata } = clusterPod({
      settings,
      group: STORAGE,
      version: '7.1.67',
      configMapHash: 'abc',
      publicIP: '10.2.0.1',
    })
    expect(metadata).toEqual({
      name: 'db-storage-1',
      labels: { ...LABELS, team: 'a', x: 'y' },
      annotations: {
        note: 'z',
        'foundationdb.org/public-ip-source': 'pod',
        'foundationdb.org/image-type': 'split',
        'foundationdb.org/last-applied-spec': hashOf(),
        'foundationdb.org/last-applied-config-map': 'abc',
        'foundationdb.org/public-ip': '10.2.0.1',
      },
    })
  })

  it('has the hash of earlier releases: another one would recreate every Pod', () => {
    expect(hashOf()).toBe('05a94fe3dc509c12249dcf7156fdfaa89b2265b593997d4e16a632f5f8e1edcf')
    expect(hashOf({ imageType: 'unified' })).toBe('69cbf050e29eb512f6cb9c85b5d209dfe4b9bee886b14e09f47da7deb77ea903')
  })

  it('keeps what the user has set in the template', () => {
    const main = { name: 'foundationdb', env: [{ name: 'A', value: '1' }], resources: { requests: { cpu: '2' } } }
    const other = { name: 'exporter', image: 'exporter:1' }
    const spec = specOf({
      mainContainer: {
        imageConfigs: [
          { version: '7.1.67', tag: 'fixed' },
          { baseImage: 'mirror/fdb', tagSuffix: '-2' },
        ],
      },
      processes: {
        storage: {
          podTemplate: {
            spec: {
              containers: [other, main],
              nodeSelector: { disk: 'ssd' },
              volumes: [{ name: 'extra', emptyDir: {} }],
            },
          },
        },
      },
    })
    expect(spec).toMatchObject({ nodeSelector: { disk: 'ssd' } })
    expect(listOf(spec['containers']).map((one) => fieldsOf(one)['name'])).toEqual([
      ...['exporter', 'foundationdb', 'foundationdb-kubernetes-sidecar'],
    ])
    expect(container(spec, 'foundationdb')).toMatchObject({
      image: 'mirror/fdb:fixed',
      env: [{ name: 'A', value: '1' }, { name: 'FDB_CLUSTER_FILE' }],
      resources: { requests: { cpu: '2' }, limits: { cpu: '2' } },
    })
    expect(listOf(spec['volumes']).map((one) => fieldsOf(one)['name'])).toEqual([
      ...['extra', 'data', 'dynamic-conf', 'config-map', 'fdb-trace-logs'],
    ])
  })

  it.each<[string, Partial<ClusterSpec>, object]>([
    ['none', { faultDomain: { key: 'foundationdb.org/none' } }, { machine: 'metadata.name', zone: 'metadata.name' }],
    [
      'another field',
      { faultDomain: { key: 'topology.kubernetes.io/zone', valueFrom: 'metadata.labels[zone]' } },
      { machine: 'spec.nodeName', zone: 'metadata.labels[zone]' },
    ],
    ['a variable', { faultDomain: { valueFrom: '$RACK' } }, { machine: 'spec.nodeName', zone: undefined }],
    [
      'Kubernetes clusters',
      { faultDomain: { key: 'foundationdb.org/kubernetes-cluster', value: 'kc1' } },
      { machine: 'spec.nodeName', zone: 'kc1' },
    ],
  ])('has the fault domain %s', (_, spec, expected) => {
    const env = listOf(container(specOf(spec), 'foundationdb-kubernetes-sidecar')['env']).map(fieldsOf)
    const valueOf = (name: string) => {
      const one = env.find((entry) => entry['name'] === name)
      return one?.['value'] ?? fieldsOf(fieldsOf(one?.['valueFrom'])['fieldRef'])['fieldPath']
    }
    expect({ machine: valueOf('FDB_MACHINE_ID'), zone: valueOf('FDB_ZONE_ID') }).toEqual(expected)
  })

  it('uses Services, DNS names, certificates and several processes', () => {
    const spec = specOf({
      routing: { publicIPSource: 'service', headlessService: true, useDNSInClusterFile: true, podIPFamily: 4 },
      sidecarContainer: { enableTls: true, enableLivenessProbe: false, enableReadinessProbe: true },
      trustedCAs: ['A'],
      storageServersPerPod: 2,
      sidecarVariables: ['EXTRA'],
    })
    expect(spec).toMatchObject({ hostname: 'db-storage-1', subdomain: 'db' })
    const sidecar = container(spec, 'foundationdb-kubernetes-sidecar')
    expect(sidecar).not.toHaveProperty('livenessProbe')
    expect(sidecar).toMatchObject({ readinessProbe: { tcpSocket: { port: 8080 } } })
    expect(sidecar['args']).toEqual([
      ...['--copy-file', 'fdb.cluster', '--copy-file', 'ca.pem', '--input-monitor-conf', 'fdbmonitor.conf'],
      ...['--copy-binary', 'fdbserver', '--copy-binary', 'fdbcli', '--main-container-version', '7.1.67'],
      ...['--public-ip-family', '4', '--substitute-variable', 'FDB_POD_IP', '--substitute-variable', 'FDB_DNS_NAME'],
      ...['--substitute-variable', 'EXTRA', '--tls'],
    ])
    expect(sidecar['env']).toEqual([
      { name: 'FDB_TLS_CA_FILE', value: '/var/input-files/ca.pem' },
      variable('FDB_PUBLIC_IP', "metadata.annotations['foundationdb.org/public-ip']"),
      variable('FDB_POD_IP', 'status.podIPs'),
      ...ENVIRONMENT.slice(2),
      { name: 'FDB_DNS_NAME', value: 'db-storage-1.db.default.svc.cluster.local' },
      { name: 'STORAGE_SERVERS_PER_POD', value: '2' },
    ])
    const [, , configMap] = listOf(spec['volumes']).map(fieldsOf)
    expect(listOf(fieldsOf(configMap?.['configMap'])['items']).map((one) => fieldsOf(one)['key'])).toEqual([
      ...['fdbmonitor-conf-storage-density-2', 'cluster-file', 'ca-file'],
    ])
  })

  it('causes the failures of buggify for the named process groups only', () => {
    const buggify = { crashLoop: ['storage-1'], noSchedule: ['storage-1'] }
    expect(container(specOf({ buggify }), 'foundationdb')).toMatchObject({ command: ['sh', '-c', 'crash-loop'] })
    expect(fieldsOf(specOf({ buggify })['affinity'])).toHaveProperty('nodeAffinity')
    const other = { ...STORAGE, processGroupID: 'storage-2' }
    expect(hashOf({ buggify }, other)).toBe(hashOf({}, other))
    const sidecar = { crashLoopContainers: [{ containerName: 'foundationdb-kubernetes-sidecar', targets: ['*'] }] }
    expect(container(specOf({ buggify: sidecar }), 'foundationdb-kubernetes-sidecar')).toMatchObject({
      command: ['crash-loop'],
    })
  })

  it('has an emptyDir for stateless classes and for claims of 0 bytes', () => {
    const volumeClaimTemplate = { spec: { resources: { requests: { storage: '0' } } } }
    const data = (spec: JsonFields) => listOf(spec['volumes']).map(fieldsOf)[0]
    const emptyDir = { name: 'data', emptyDir: {} }
    expect(data(specOf({ processes: { general: { volumeClaimTemplate } } }))).toEqual(emptyDir)
    expect(data(specOf({}, { processGroupID: 'stateless-1', processClass: 'stateless' }))).toEqual(emptyDir)
  })
})

describe('the Pod of a process group with unified images', () => {
  it('has fdb-kubernetes-monitor twice and no init container', () => {
    const spec = specOf({ imageType: 'unified', storageServersPerPod: 2 })
    expect(spec).not.toHaveProperty('initContainers')
    expect(container(spec, 'foundationdb')).toMatchObject({
      image: 'foundationdb/fdb-kubernetes-monitor:7.1.67',
      args: [
        ...['--input-dir', '/var/dynamic-conf', '--log-path', '/var/log/fdb-trace-logs/monitor.log'],
        ...['--process-count', '2'],
      ],
    })
    expect(container(spec, 'foundationdb-kubernetes-sidecar')).toMatchObject({
      image: 'foundationdb/fdb-kubernetes-monitor:7.1.67',
      args: ['--mode', 'sidecar', '--main-container-version', '7.1.67'],
    })
  })
})
