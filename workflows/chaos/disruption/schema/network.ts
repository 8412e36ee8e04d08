// Schema of the kind network. Wire format: spec/chaos.md 1.5.

import { flag, integer, list, oneOf, record, required, text, type ValueOf } from '../../../kit/index.ts'

/** The maximum number of filters on one interface, so longer lists of hosts are useless. Source: spec/chaos.md 1.5. */
export const MAX_FILTERS = 2048

export const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT'] as const

const protocol = oneOf('The protocol: tcp or udp; empty: both.', ['tcp', 'udp', ''])
const flow = oneOf('egress: packets to the host (the default); ingress: answers to packets from the host.', [
  'egress',
  'ingress',
  '',
])
const connState = text('The state of the connections: new, or est for established; empty: both.', {
  pattern: '^([Nn][Ee][Ww]|[Ee][Ss][Tt])?$',
})

const host = record(
  'A host, or several hosts.',
  {
    host: text('A hostname, an IP address, or a CIDR such as 10.0.0.0/8; empty: all.', { maxLength: 253 }),
    port: integer('The port; 0 or absent: all.', { minimum: 0, maximum: 65535 }),
    protocol,
    flow,
    connState,
    dnsResolver: oneOf('The resolver of the hostname: the name servers of the pod or of the node.', [
      ...(['pod', 'node', 'pod-fallback-node', 'node-fallback-pod', ''] as const),
    ]),
    percentage: integer('The percentage of the addresses of the host that are disturbed.', {
      minimum: 1,
      maximum: 100,
    }),
  },
  {
    rules: [
      {
        rule: "!has(self.flow) || self.flow == '' || (has(self.host) && self.host != '') || (has(self.port) && self.port != 0)",
        message: 'expected a host or a port with flow',
      },
    ],
  },
)

const service = record('A Service of the cluster.', {
  name: required(text('The name of the Service.', { minLength: 1, maxLength: 63 })),
  namespace: required(text('The namespace of the Service.', { minLength: 1, maxLength: 63 })),
  ports: list(
    'The ports of the Service that are disturbed; default: all.',
    record('A port of the Service.', {
      name: text('The name of the port.'),
      port: integer('The number of the port.', { minimum: 0, maximum: 65535 }),
    }),
  ),
  percentage: integer('The percentage of the addresses of the Service that are disturbed.', {
    minimum: 1,
    maximum: 100,
  }),
})

const cloudService = record('A service of a cloud.', {
  service: required(
    text('The name of the service in the address list of the cloud, such as S3, Google or synthetics.', {
      minLength: 1,
    }),
  ),
  protocol,
  flow,
  connState,
})

const share = (description: string) => integer(description, { minimum: 0, maximum: 100 })

const EFFECTS = ['drop', 'duplicate', 'corrupt', 'delay', 'bandwidthLimit']

const networkFields = {
  hosts: list('Disturbs only packets to these hosts; without hosts and services, all packets.', host, {
    maxItems: MAX_FILTERS,
  }),
  allowedHosts: list('Hosts that are not disturbed.', host, { maxItems: MAX_FILTERS }),
  disableDefaultAllowedHosts: flag('Whether the allowed hosts of the configuration are disturbed as well.'),
  services: list('Disturbs only packets to these Services.', service, { maxItems: MAX_FILTERS }),
  cloud: record('Disturbs only packets to these services of clouds.', {
    aws: list('Services of AWS.', cloudService, { maxItems: MAX_FILTERS }),
    gcp: list('Services of Google Cloud.', cloudService, { maxItems: MAX_FILTERS }),
    datadog: list('Services of Datadog.', cloudService, { maxItems: MAX_FILTERS }),
  }),
  drop: share('The percentage of packets that are lost.'),
  duplicate: share('The percentage of packets that are duplicated.'),
  corrupt: share('The percentage of packets that are corrupted.'),
  delay: integer('The delay of packets in milliseconds.', { minimum: 0, maximum: 60_000 }),
  delayJitter: share('The variation of the delay, in percent of the delay.'),
  bandwidthLimit: integer('The maximum number of bytes per second; 0 for no limit.', {
    minimum: 0,
    rules: [{ rule: 'self == 0 || self >= 32', message: 'expected 0 for no limit, or at least 32' }],
  }),
  http: record('Disturbs only HTTP requests with these methods and paths; requires level pod.', {
    methods: list('The methods of the requests, case-insensitive.', text('A method such as GET.', { maxLength: 7 }), {
      maxItems: 9,
    }),
    paths: list(
      'The prefixes of the paths of the requests; / matches all.',
      text('A path such as /api.', { maxLength: 90 }),
      {
        maxItems: 20,
      },
    ),
  }),
}

export const networkField = record('Disturbs the network of the target.', networkFields, {
  rules: [
    {
      rule: EFFECTS.map((name) => `(has(self.${name}) && self.${name} != 0)`).join(' || '),
      message: `expected at least one effect of ${EFFECTS.join(', ')}`,
    },
  ],
})

export type NetworkDisruption = ValueOf<typeof networkField>
export type NetworkHost = ValueOf<typeof host>
export type NetworkService = ValueOf<typeof service>
export type CloudService = ValueOf<typeof cloudService>
