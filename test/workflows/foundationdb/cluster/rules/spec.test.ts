import { describe, expect, it } from 'vitest'

import { problemText } from '../../../../../workflows/kit/index.ts'
import { clusterProblems } from '../../../../../workflows/foundationdb/cluster/rules/spec.ts'

function problemsOf(spec: object, name = 'db'): readonly string[] {
  return clusterProblems({ metadata: { name }, spec: { version: '7.1.67', ...spec } }).map(problemText)
}

const template = (spec: object) => ({ processes: { general: { podTemplate: { spec } } } })
const parameters = (...customParameters: readonly unknown[]) => ({ processes: { storage: { customParameters } } })

describe('a FoundationDBCluster', () => {
  it.each<[string, object, string?]>([
    ['without settings', {}],
    [
      'with settings of the Go operator',
      {
        processCounts: { stateless: -1 },
        databaseConfiguration: {
          redundancy_mode: 'triple',
          usable_regions: 2,
          regions: [
            {
              datacenters: [
                { id: 'dc1', priority: 1 },
                { id: 'dc-2', satellite: 1 },
              ],
              satellite_redundancy_mode: 'one_satellite_double',
            },
          ],
        },
        processes: {
          general: {
            customParameters: [
              'knob_disable_posix_kernel_aio=1',
              'locality_disk_id=$FDB_INSTANCE_ID',
              'knob-min-trace-severity = 10',
            ],
            podTemplate: {
              metadata: { labels: { 'example.com/team': 'a' } },
              spec: {
                containers: [
                  { name: 'foundationdb', resources: { requests: { cpu: '250m' } }, securityContext: { runAsUser: 0 } },
                  { name: 'foundationdb-kubernetes-sidecar', image: 'registry.example.com:5000/fdb/sidecar' },
                  { name: 'exporter', image: 'exporter:1.0' },
                ],
                volumes: [{ name: 'certs', secret: { secretName: 'certs' } }],
              },
            },
            volumeClaimTemplate: { spec: { resources: { requests: { storage: '16G' } } } },
          },
        },
        faultDomain: { key: 'foundationdb.org/kubernetes-cluster', value: 'zone2', zoneIndex: 2, zoneCount: 5 },
        mainContainer: {
          enableTls: true,
          peerVerificationRules: 'S.CN=example.com',
          imageConfigs: [{ baseImage: 'foundationdb/foundationdb', tagSuffix: '-1' }],
        },
        seedConnectionString: 'sample:abc@10.1.1.1:4501,[::1]:4500:tls',
        labels: { matchLabels: { 'my-cluster': 'x' }, processClassLabels: ['my-class'] },
        sidecarVariables: ['RACK'],
        dataHall: 'az1',
      },
    ],
    ['with the longest name', {}, 'a'.repeat(63)],
    ['with the longest name for Services', { routing: { headlessService: true } }, 'a'.repeat(38)],
  ])('%s is valid', (_, spec, name) => {
    expect(problemsOf(spec, name)).toEqual([])
  })

  it.each<[object, string, string?]>([
    [{}, 'metadata.name: found "' + 'a'.repeat(64) + '"; expected at most 63 characters', 'a'.repeat(64)],
    [{ services: { headless: true } }, 'expected at most 38 characters', 'a'.repeat(39)],
    [{ routing: { defineDNSLocalityFields: true } }, 'expected at most 38 characters', 'a'.repeat(39)],
    [{ routing: { publicIPSource: 'service' } }, 'metadata.name: found "1db"; expected the name of a Service', '1db'],
    [{ version: '6.3.25' }, 'spec.version: found "6.3.25"; expected a version such as 7.1.26, at least 7.1.0'],
    [{ version: undefined }, 'spec.version: found nothing'],
    [{ seedConnectionString: 'a b@c' }, 'spec.seedConnectionString: found "a b@c"; expected a connection string'],
    [{ partialConnectionString: { coordinators: ['10.1.1.1'] } }, 'spec.partialConnectionString.coordinators[0]'],
    [
      { databaseConfiguration: { perpetual_storage_wiggle_locality: 'zoneid:a;kill' } },
      'spec.databaseConfiguration.perpetual_storage_wiggle_locality: found "zoneid:a;kill"; expected a locality',
    ],
    [
      { databaseConfiguration: { regions: [{ datacenters: [{ id: 'dc1"}]; kill' }] }] } },
      'spec.databaseConfiguration.regions[0].datacenters[0].id',
    ],
    [
      parameters('knob_a'),
      'spec.processes.storage.customParameters[0]: found "knob_a"; expected name=value in one line',
    ],
    [
      parameters('--knob_a=1'),
      'found "--knob_a=1"; expected name=value in one line, without ";", and without "-" first',
    ],
    [parameters('knob_a=1\ncommand=/bin/sh'), String.raw`found "knob_a=1\ncommand=/bin/sh"`],
    [parameters('knob_a=1\u2028x'), 'customParameters[0]'],
    [parameters('knob_a=1;kill'), 'found "knob_a=1;kill"'],
    [parameters('[general]=1'), 'found "[general]=1"'],
    [
      parameters('Data-Dir=/x', 'datadir = /'),
      'customParameters[1]: found "datadir = /"; expected no parameter "datadir"',
    ],
    [parameters('command=/bin/sh'), 'expected no parameter "command", because Pawl sets it'],
    [parameters('seed-cluster-file=/x'), 'expected no parameter "seed_cluster_file"'],
    [
      parameters('knob_a=1', 'knob-a=2'),
      'customParameters[1]: found "knob-a=2"; expected the parameter "knob_a" only once',
    ],
    [parameters(7), 'customParameters[0]: found 7'],
    [
      { processes: { storag: {} } },
      'spec.processes: found "storag"; expected a process class: general, unset, storage',
    ],
    [
      template({ volumes: [{ name: 'x', hostPath: { path: '/' } }] }),
      'spec.volumes[0]: found hostPath; expected a volume that is no path of the Node',
    ],
    [
      template({ hostNetwork: true }),
      'spec.processes.general.podTemplate.spec.hostNetwork: found true; expected false or nothing',
    ],
    [template({ hostPID: true }), 'hostPID: found true'],
    [template({ hostIPC: true }), 'hostIPC: found true'],
    [
      template({ initContainers: [{ securityContext: { privileged: true } }] }),
      'initContainers[0].securityContext.privileged: found true',
    ],
    [
      template({ containers: [{ ports: [{}, { hostPort: 80 }] }] }),
      'containers[0].ports[1].hostPort: found a port of the Node',
    ],
    [
      template({ containers: [{ name: 'foundationdb', image: 'a/b:1' }] }),
      'image: found "a/b:1"; expected an image without a tag; set the tag in imageConfigs',
    ],
    [template({ containers: {} }), 'podTemplate.spec.containers: found {}; expected a list'],
    [
      { processes: { general: { podTemplate: { metadata: { namespace: 'other' } } } } },
      'spec.processes.general.podTemplate.metadata.namespace: found "other"; expected no namespace',
    ],
    [
      { processes: { log: { volumeClaimTemplate: { spec: { dataSourceRef: { namespace: 'other' } } } } } },
      'spec.processes.log.volumeClaimTemplate.spec.dataSourceRef.namespace: found "other"',
    ],
    [{ configMap: { metadata: { namespace: 'other' } } }, 'spec.configMap.metadata.namespace: found "other"'],
    [{ logGroup: 'a; rm -rf /' }, 'spec.logGroup: found "a; rm -rf /"; expected letters, digits'],
    [{ logGroup: '$(id)' }, 'spec.logGroup'],
    [{ logGroup: '--daemonize' }, 'spec.logGroup'],
    [{ dataCenter: 'dc1\n[fdbserver.9]' }, 'spec.dataCenter'],
    [{ dataHall: 'a b' }, 'spec.dataHall'],
    [{ faultDomain: { valueFrom: '$(id)' } }, 'spec.faultDomain.valueFrom: found "$(id)"; expected a field of a Pod'],
    [{ faultDomain: { value: 'a\nb' } }, 'spec.faultDomain.value'],
    [
      { sidecarVariables: ['--tls'] },
      'spec.sidecarVariables[0]: found "--tls"; expected the name of an environment variable',
    ],
    [{ mainContainer: { peerVerificationRules: 'a\ncommand = /bin/sh' } }, 'spec.mainContainer.peerVerificationRules'],
    [{ sidecarContainer: { imageConfigs: [{ baseImage: '--x' }] } }, 'spec.sidecarContainer.imageConfigs[0].baseImage'],
    [{ routing: { dnsDomain: 'a..b' } }, 'spec.routing.dnsDomain'],
    [{ labels: { matchLabels: { 'a b': 'c' } } }, 'spec.labels.matchLabels: found "a b"; expected the key of a label'],
    [
      { labels: { resourceLabels: { a: 'b c' } } },
      'spec.labels.resourceLabels[a]: found "b c"; expected the value of a label',
    ],
  ])('with %j is rejected: %s', (spec, expected, name) => {
    const problems = problemsOf(spec, name)
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.join('\n')).toContain(expected)
  })

  it.each([
    undefined,
    null,
    'x',
    7,
    [],
    { spec: 'x' },
    { spec: { processes: { storage: 'x' } } },
    { spec: { processes: [1] } },
  ])('that is malformed, %j, causes problems instead of an exception', (object) => {
    expect(clusterProblems(object).length).toBeGreaterThan(0)
  })
})
