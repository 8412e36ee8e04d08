// Valid and invalid specs of Disruptions, for the tests of the rules and of the CRD. Source: spec/chaos.md 1.2 to 1.6, 4.2. A comment such as `A7` names a test
// case of 4.2, and `1.4 rule 7` names a rule of 1.4 without such a case.

export const DROP = { network: { drop: 10 } }
const CPU_PRESSURE = { cpuPressure: {} }
const DNS = { dns: { records: [{ hostname: 'a.example', record: { type: 'A', value: '1.2.3.4', ttl: 5 } }] } }
const alteration = (more: object) => ({ endpoint: '/p.S/M', error: 'UNAVAILABLE', ...more })
const grpc = (...endpoints: readonly object[]) => ({ grpc: { port: 50051, endpoints } })
const records = (...list: readonly (readonly [hostname: string, type: string, value: string])[]) => ({
  dns: { records: list.map(([hostname, type, value]) => ({ hostname, record: { type, value } })) },
})
const [SOON, LATER] = ['2030-01-01T00:00:00Z', '2030-01-01T00:01:00Z']
const hosts = (...list: readonly object[]) => ({ network: { drop: 1, hosts: list } })
const http = (more: object) => ({ network: { drop: 1, http: more } })
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']

/** A spec with `count`, `selector` and the given fields. */
export function specWith(fields: object): object {
  return { count: 1, selector: { app: 'demo' }, ...fields }
}

export const ACCEPTED: readonly object[] = [
  DROP,
  { ...DROP, count: '100%', duration: '1h0m0s' },
  { ...DROP, count: '1%', duration: 60_000_000_000 },
  // Forms of intstr.IntOrString and time.ParseDuration, as chaos-controller reads them.
  ...[1, 100, '2', '+2', '02', '100', '05%', '+5%'].map((count) => ({ ...DROP, count })),
  ...['0.5h', '1h30m', '1.5m', '90s', '1000ms', '1s1ms1us1ns', '1µs', '+1m', 1_500_000_000].map((duration) => ({
    ...DROP,
    duration,
  })),
  { ...DROP, level: '', duration: '' },
  { ...DROP, selector: {}, advancedSelector: [{ key: 'example.com/app', operator: 'In', values: ['a', ''] }] },
  { ...DROP, advancedSelector: [{ key: 'app', operator: 'Exists' }] },
  { ...DROP, containers: ['app'], staticTargeting: true, filter: { annotations: { a: 'b' } } },
  { ...DROP, onInit: true },
  { ...DROP, ...DNS, onInit: true },
  { ...DROP, pulse: { activeDuration: '1m', dormantDuration: '500ms', initialDelay: '.5s' } },
  { ...DROP, pulse: { activeDuration: 500_000_000, dormantDuration: '30s' } },
  { ...DROP, pulse: {} },
  { ...DROP, triggers: { createPods: { offset: '1m' }, inject: { notBefore: SOON } } },
  { ...DROP, triggers: { createPods: { notBefore: SOON }, inject: { notBefore: SOON } } },
  { ...DROP, triggers: { createPods: { notBefore: SOON, offset: '' } } },
  { ...DROP, unsafeMode: { disableAll: true, config: { countTooLarge: { clusterThreshold: 1 } } } },
  { ...DROP, reporting: { slackChannel: 'team-a', purpose: 'a game day', minNotificationType: 'Info' } },
  { network: { bandwidthLimit: 32, hosts: [{ host: 'a.example', flow: 'ingress', connState: 'NEW' }] } },
  hosts({ port: 80, flow: 'egress', protocol: 'tcp', dnsResolver: 'pod', percentage: 50 }, { host: '10.0.0.0/8' }),
  { network: { drop: 1, services: [{ name: 'a', namespace: 'b', ports: [{ port: 80, name: 'http' }] }] } },
  { network: { delay: 60_000, delayJitter: 100, cloud: { aws: [{ service: 'S3', protocol: 'tcp' }] } } },
  http({ methods: METHODS, paths: ['/'] }),
  http({ methods: ['get'], paths: ['/a', '/b'] }),
  { cpuPressure: {}, memoryPressure: { targetPercent: '76%', rampDuration: '10m' } },
  { cpuPressure: { count: 2 }, memoryPressure: { targetPercent: 76 } },
  ...['2', '+2', '02', '05%'].map((count) => ({ cpuPressure: { count } })),
  ...['+76', '076%', ' 76% '].map((targetPercent) => ({ memoryPressure: { targetPercent } })),
  hosts({ port: 0, protocol: '', flow: '', connState: '', dnsResolver: '', host: '' }),
  hosts({ host: 'a.example', port: 65_535, protocol: 'udp', connState: 'Est', percentage: 1 }),
  { cpuPressure: { count: '50%' }, memoryPressure: { targetPercent: '76', rampDuration: 0 } },
  { diskPressure: { path: '/data', throttling: { readBytesPerSec: 1024 } } },
  { diskFailure: { paths: ['/a', ` ${'x'.repeat(62)} `], probability: '50%', openat: { exitCode: 'ENOSPC' } } },
  DNS,
  records(
    ['a.example', 'A', 'NXDOMAIN'],
    ['a.example', 'AAAA', '2001:db8::1,::1'],
    ['b.example', 'A', '1.2.3.4, 5.6.7.8'],
  ),
  records(
    ['c.example', 'CNAME', 'a.example.'],
    ['d.example', 'MX', '10 mail.example'],
    ['e.example', 'TXT', 'v=1 a:b'],
  ),
  records(['_http._tcp.example', 'SRV', '10 5 443 a.example']),
  grpc(alteration({ queryPercent: 25 }), alteration({ queryPercent: 75 })),
  grpc(alteration({ queryPercent: 1 }), ...Array<object>(99).fill(alteration({}))),
  grpc({ endpoint: '/p.S/M', override: '{}' }),
  { podReplacement: { gracePeriodSeconds: 0, deleteStorage: false } },
  { nodeFailure: { shutdown: true }, level: 'node' },
  { containerFailure: { forced: true }, containers: ['app'] },
]

export interface RefusedCase {
  /** The field of each expected problem. */
  readonly fields: readonly string[]
  readonly spec: object
  /** The CRD accepts the spec: its schema and its CEL rules cannot express the violated rule, or it would cost too much. */
  readonly byRulesOnly?: true
}

const refused = (spec: object, ...fields: readonly string[]): RefusedCase => ({ spec, fields })
const refusedByRulesOnly = (spec: object, ...fields: readonly string[]): RefusedCase => ({
  spec,
  fields,
  byRulesOnly: true,
})

export const REFUSED: readonly RefusedCase[] = [
  // A1, A2
  refused({}, 'spec'),
  refused({ ...DROP, selector: undefined }, 'spec'),
  refused({ ...DROP, selector: {}, advancedSelector: [] }, 'spec'),
  refusedByRulesOnly({ ...DROP, selector: { 'a b': 'c' } }, 'spec.selector'),
  refusedByRulesOnly({ ...DROP, selector: { app: 'a b' } }, 'spec.selector[app]'),
  refused({ ...DROP, advancedSelector: [{ key: 'app', operator: 'In' }] }, 'spec.advancedSelector[0].values'),
  refused(
    { ...DROP, advancedSelector: [{ key: 'app', operator: 'Exists', values: ['a'] }] },
    'spec.advancedSelector[0].values',
  ),
  refused({ ...DROP, advancedSelector: [{ key: 'app', operator: 'Has' }] }, 'spec.advancedSelector[0].operator'),
  refusedByRulesOnly({ ...DROP, advancedSelector: [{ key: '/', operator: 'Exists' }] }, 'spec.advancedSelector[0].key'),
  // A3
  ...[0, -1, '0%', '101%', 'abc', '-5', '5.5', '5 %', '%', ''].map((count) =>
    refused({ ...DROP, count }, 'spec.count'),
  ),
  refused({ ...DROP, count: undefined }, 'spec.count'),
  // A4
  refused({ ...DROP, level: 'node', containers: ['app'] }, 'spec.containers'),
  refused({ ...DNS, level: 'node' }, 'spec.dns'),
  refused({ ...grpc(alteration({})), level: 'node' }, 'spec.grpc'),
  refused({ containerFailure: {}, level: 'node' }, 'spec.containerFailure'),
  refused({ podReplacement: {}, level: 'node' }, 'spec.podReplacement'),
  // A5
  refused({ ...DROP, containerFailure: {} }, 'spec.containerFailure'),
  refused({ ...CPU_PRESSURE, nodeFailure: {} }, 'spec.nodeFailure'),
  refused({ ...DNS, podReplacement: {} }, 'spec.podReplacement'),
  refused({ nodeFailure: {}, podReplacement: {} }, 'spec.nodeFailure', 'spec.podReplacement'),
  // A6
  refused({ ...CPU_PRESSURE, onInit: true }, 'spec.cpuPressure'),
  refused({ ...DROP, onInit: true, containers: ['app'] }, 'spec.containers'),
  refused({ ...DROP, onInit: true, level: 'node' }, 'spec.level'),
  // 1.4 rule 7
  refused({ diskPressure: { path: '/a', throttling: { readBytesPerSec: 1 } }, containers: ['app'] }, 'spec.containers'),
  refused({ memoryPressure: { targetPercent: '5' }, containers: ['app'] }, 'spec.containers'),
  // A7
  refused({ ...DROP, pulse: { activeDuration: '1m' } }, 'spec.pulse'),
  refused({ ...DROP, pulse: { activeDuration: '400ms', dormantDuration: '1s' } }, 'spec.pulse.activeDuration'),
  refused({ ...DROP, pulse: { activeDuration: '1s', dormantDuration: 499_999_999 } }, 'spec.pulse.dormantDuration'),
  refusedByRulesOnly({ ...DROP, pulse: { initialDelay: '-1s' } }, 'spec.pulse.initialDelay'),
  refused({ nodeFailure: {}, pulse: { activeDuration: '1s', dormantDuration: '1s' } }, 'spec.pulse'),
  // A8
  refused({ ...DROP, triggers: { inject: { notBefore: SOON, offset: '1s' } } }, 'spec.triggers.inject'),
  refused(
    { ...DROP, triggers: { inject: { notBefore: SOON }, createPods: { notBefore: LATER } } },
    'spec.triggers.inject.notBefore',
  ),
  refused({ ...DROP, triggers: { inject: { notBefore: 'soon' } } }, 'spec.triggers.inject.notBefore'),
  refusedByRulesOnly({ ...DROP, triggers: { inject: { offset: '-1s' } } }, 'spec.triggers.inject.offset'),
  refused({ ...DROP, duration: 'soon' }, 'spec.duration'),
  refusedByRulesOnly({ ...DROP, duration: '0s' }, 'spec.duration'),
  refusedByRulesOnly({ ...DROP, duration: '-1m' }, 'spec.duration'),
  refused({ ...DROP, maxRuns: 0 }, 'spec.maxRuns'),
  // A9
  refused({ network: {} }, 'spec.network'),
  refused({ network: { drop: 0, delayJitter: 10, hosts: [{ host: 'a' }] } }, 'spec.network'),
  refused({ network: { bandwidthLimit: 31 } }, 'spec.network.bandwidthLimit'),
  refused({ network: { drop: 101 } }, 'spec.network.drop'),
  refused({ network: { delay: 60_001 } }, 'spec.network.delay'),
  refused(hosts({ host: 'a' }, { flow: 'ingress' }), 'spec.network.hosts[1]'),
  refused({ network: { drop: 1, allowedHosts: [{ flow: 'egress' }] } }, 'spec.network.allowedHosts[0]'),
  refused(hosts({ host: 'a', port: 65_536 }), 'spec.network.hosts[0].port'),
  refused(hosts({ host: 'a', percentage: 0 }), 'spec.network.hosts[0].percentage'),
  refused(hosts({ host: 'a', connState: 'old' }), 'spec.network.hosts[0].connState'),
  refused(hosts({ host: 'a', protocol: 'icmp' }), 'spec.network.hosts[0].protocol'),
  refused(hosts({ host: 'a', dnsResolver: 'none' }), 'spec.network.hosts[0].dnsResolver'),
  refusedByRulesOnly(hosts({ host: 'a;b' }), 'spec.network.hosts[0].host'),
  refusedByRulesOnly(
    { network: { drop: 1, services: [{ name: 'a;b', namespace: 'c' }] } },
    'spec.network.services[0].name',
  ),
  refusedByRulesOnly(
    { network: { drop: 1, services: [{ name: 'a', namespace: 'c', ports: [{}] }] } },
    'spec.network.services[0].ports[0]',
  ),
  refusedByRulesOnly(
    { network: { drop: 1, hosts: Array<object>(2047).fill({ host: 'a' }), services: [{ name: 'a', namespace: 'b' }] } },
    'spec.network',
  ),
  refusedByRulesOnly(http({ paths: ['/x y'] }), 'spec.network.http.paths[0]'),
  refusedByRulesOnly(http({ paths: ['x'] }), 'spec.network.http.paths[0]'),
  refusedByRulesOnly(http({ paths: ['/', '/a'] }), 'spec.network.http.paths'),
  refused(http({ methods: [...METHODS, 'BREW'] }), 'spec.network.http.methods', 'spec.network.http.methods[9]'),
  refusedByRulesOnly(http({ methods: ['GET', 'get'] }), 'spec.network.http.methods[1]'),
  refused(http({ paths: Array<string>(21).fill('/a') }), 'spec.network.http.paths'),
  // A10
  refusedByRulesOnly(records(['a.example', 'A', '1.2.3.4'], ['A.example.', 'A', '1.2.3.5']), 'spec.dns.records[1]'),
  refusedByRulesOnly(records(['a.example', 'MX', 'NXDOMAIN']), 'spec.dns.records[0].record.value'),
  refusedByRulesOnly(records(['a.example', 'SRV', '10 5 a.example']), 'spec.dns.records[0].record.value'),
  refusedByRulesOnly(records(['a.example', 'SRV', '10 5 65536 a.example']), 'spec.dns.records[0].record.value'),
  refusedByRulesOnly(records(['a.example', 'A', '1.2.3']), 'spec.dns.records[0].record.value'),
  refusedByRulesOnly(records(['a.example', 'A', '1.2.3.4,DROP']), 'spec.dns.records[0].record.value'),
  refusedByRulesOnly(records(['a.example', 'AAAA', '1.2.3.4']), 'spec.dns.records[0].record.value'),
  refusedByRulesOnly(records(['a.example', 'TXT', 'a;b']), 'spec.dns.records[0].record.value'),
  refusedByRulesOnly(records(['a b', 'A', '1.2.3.4']), 'spec.dns.records[0].hostname'),
  refused(records(['a.example', 'NS', 'b.example']), 'spec.dns.records[0].record.type'),
  refused({ dns: { records: [] } }, 'spec.dns.records'),
  // A11
  refusedByRulesOnly(grpc(alteration({ queryPercent: 60 }), alteration({ queryPercent: 60 })), 'spec.grpc.endpoints'),
  refusedByRulesOnly(
    grpc(alteration({ queryPercent: 1 }), ...Array<object>(100).fill(alteration({}))),
    'spec.grpc.endpoints',
  ),
  refusedByRulesOnly(grpc({ endpoint: '/p.S/M' }), 'spec.grpc.endpoints[0]'),
  refusedByRulesOnly(grpc(alteration({ override: '{}' })), 'spec.grpc.endpoints[0]'),
  refusedByRulesOnly(grpc(alteration({ endpoint: 'S.M' })), 'spec.grpc.endpoints[0].endpoint'),
  refused(grpc(alteration({ error: 'BROKEN' })), 'spec.grpc.endpoints[0].error'),
  refused(grpc(alteration({ queryPercent: 101 })), 'spec.grpc.endpoints[0].queryPercent', 'spec.grpc.endpoints'),
  refused({ grpc: { port: 0, endpoints: [alteration({})] } }, 'spec.grpc.port'),
  // A12
  ...['0%', '0', '101', '', 'most', '5.5', '7 6', '-5', 101].map((targetPercent) =>
    refused({ memoryPressure: { targetPercent } }, 'spec.memoryPressure.targetPercent'),
  ),
  refusedByRulesOnly(
    { memoryPressure: { targetPercent: '5', rampDuration: '-1s' } },
    'spec.memoryPressure.rampDuration',
  ),
  refusedByRulesOnly({ cpuPressure: { count: '101%' } }, 'spec.cpuPressure.count'),
  refusedByRulesOnly({ cpuPressure: { count: '0' } }, 'spec.cpuPressure.count'),
  refused({ cpuPressure: { count: 0 } }, 'spec.cpuPressure.count'),
  refusedByRulesOnly({ diskPressure: { path: ' ', throttling: { readBytesPerSec: 1 } } }, 'spec.diskPressure.path'),
  refusedByRulesOnly({ diskPressure: { path: '/a', throttling: {} } }, 'spec.diskPressure.throttling'),
  refused({ diskFailure: { paths: [] } }, 'spec.diskFailure.paths'),
  refusedByRulesOnly({ diskFailure: { paths: ['/a', ' '] } }, 'spec.diskFailure.paths[1]'),
  refusedByRulesOnly({ diskFailure: { paths: ['x'.repeat(63)] } }, 'spec.diskFailure.paths[0]'),
  refused({ diskFailure: { paths: ['/a'], probability: '0%' } }, 'spec.diskFailure.probability'),
  refused({ diskFailure: { paths: ['/a'], openat: { exitCode: 'EOK' } } }, 'spec.diskFailure.openat.exitCode'),
  refused({ podReplacement: { gracePeriodSeconds: -1 } }, 'spec.podReplacement.gracePeriodSeconds'),
  // 1.4 rule 10
  refused({ ...DROP, unsafeMode: { config: { countTooLarge: {} } } }, 'spec.unsafeMode.config.countTooLarge'),
  refused(
    { ...DROP, unsafeMode: { config: { countTooLarge: { namespaceThreshold: 101 } } } },
    'spec.unsafeMode.config.countTooLarge.namespaceThreshold',
  ),
  refused({ ...DROP, reporting: { purpose: 'short' } }, 'spec.reporting.purpose'),
  refused({ ...DROP, reporting: { slackChannel: 'Team A' } }, 'spec.reporting.slackChannel'),
]
