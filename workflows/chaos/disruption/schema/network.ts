// Schema of the kind network. Wire format: spec/chaos.md 1.5.

import { flag, integer, list, oneOf, record, required, text, type ValueOf } from '../../../kit/index.ts'

/** The maximum number of filters on one interface, so longer lists of hosts are useless. Source: spec/chaos.md 1.5. */
export const MAX_FILTERS = 2048

export const HTTP_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT'] as const

const protocol = oneOf('The protocol: tcp, udp, or both where it is empty.', ['tcp', 'udp', ''])
const flow = oneOf('egress: what goes to the host (the default); ingress: the answers to what comes from it.', [
  'egress',
  'ingress',
  '',
])
const connState = text('Only connections in this state: new, or est for those that are established.', {
  pattern: '^([Nn][Ee][Ww]|[Ee][Ss][Tt])?$',
})

const host = record(
  'One host, or hosts.',
  {
    host: text('A hostname, an address, or addresses such as 10.0.0.0/8; empty: all.', { maxLength: 253 }),
    port: integer('The port; 0 or absent: all.', { minimum: 0, maximum: 65535 }),
    protocol,
    flow,
    connState,
    dnsResolver: oneOf('Whose name servers say what the hostname is.', [
      ...(['pod', 'node', 'pod-fallback-node', 'node-fallback-pod', ''] as const),
    ]),
    percentage: integer('Which share of the addresses of the host is disturbed.', { minimum: 1, maximum: 100 }),
  },
  {
    rules: [
      {
        rule: "!has(self.flow) || self.flow == '' || (has(self.host) && self.host != '') || (has(self.port) && self.port != 0)",
        message: 'expected a host or a port beside flow',
      },
    ],
  },
)

const service = record('One Service of the cluster.', {
  name: required(text('Its name.', { minLength: 1, maxLength: 63 })),
  namespace: required(text('Its namespace.', { minLength: 1, maxLength: 63 })),
  ports: list(
    'Only these ports of it.',
    record('A port of the Service.', {
      name: text('Its name.'),
      port: integer('Its number.', { minimum: 0, maximum: 65535 }),
    }),
  ),
  percentage: integer('Which share of its addresses is disturbed.', { minimum: 1, maximum: 100 }),
})

const cloudService = record('One service of a cloud.', {
  service: required(
    text('Its name in the published list of addresses, such as S3, Google or synthetics.', { minLength: 1 }),
  ),
  protocol,
  flow,
  connState,
})

const share = (description: string) => integer(description, { minimum: 0, maximum: 100 })

const EFFECTS = ['drop', 'duplicate', 'corrupt', 'delay', 'bandwidthLimit']

const networkFields = {
  hosts: list('Only what goes to these hosts; without hosts and services everything.', host, {
    maxItems: MAX_FILTERS,
  }),
  allowedHosts: list('What goes to these hosts is left alone.', host, { maxItems: MAX_FILTERS }),
  disableDefaultAllowedHosts: flag('Whether the hosts that operators allow everywhere are disturbed as well.'),
  services: list('Only what goes to these Services.', service, { maxItems: MAX_FILTERS }),
  cloud: record('Only what goes to services of these clouds.', {
    aws: list('Services of AWS.', cloudService, { maxItems: MAX_FILTERS }),
    gcp: list('Services of Google Cloud.', cloudService, { maxItems: MAX_FILTERS }),
    datadog: list('Services of Datadog.', cloudService, { maxItems: MAX_FILTERS }),
  }),
  drop: share('Percent of the packets that are lost.'),
  duplicate: share('Percent of the packets that come twice.'),
  corrupt: share('Percent of the packets that come damaged.'),
  delay: integer('By how many milliseconds packets are late.', { minimum: 0, maximum: 60_000 }),
  delayJitter: share('By how much of the delay, in percent, it varies.'),
  bandwidthLimit: integer('The most bytes per second; 0 for no limit.', {
    minimum: 0,
    rules: [{ rule: 'self == 0 || self >= 32', message: 'expected 0 for no limit, or at least 32' }],
  }),
  http: record('Only requests like these; at level pod.', {
    methods: list('Their methods, in any case.', text('A method such as GET.', { maxLength: 7 }), { maxItems: 9 }),
    paths: list('How their paths begin; / alone is all.', text('A path such as /api.', { maxLength: 90 }), {
      maxItems: 20,
    }),
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
