// Golden vectors of spec/chaos.md 8.1.

import { describe, expect, it } from 'vitest'

import { DEFAULT_CONFIG } from '../../../../workflows/chaos/config.ts'
import type { InjectorKindName } from '../../../../workflows/chaos/contract.ts'
import { injectorArgs } from '../../../../workflows/chaos/disruption/injector-args.ts'
import type { DisruptionSpec } from '../../../../workflows/chaos/disruption/kind.ts'
import { timestampMs } from '../../../../workflows/chaos/timestamp.ts'

const [INJECT, END] = [timestampMs('2026-01-02T03:00:00Z')!, timestampMs('2026-01-02T03:10:00Z')!]
const COMMON =
  '--metrics-sink noop --level pod --target-containers app;containerd://abc --target-pod-ip 10.1.2.3 --chaos-namespace chaos-engineering ' +
  '--log-context-disruption-name d --log-context-disruption-namespace ns --log-context-disruption-uid uid ' +
  '--log-context-target-name p1 --log-context-target-node-name n1'
const SINCE = '--not-injected-before 2026-01-02T03:00:00Z'
const DNS =
  '--dns-pod-resolv-conf /etc/resolv.conf --dns-node-resolv-conf /mnt/host/etc/resolv.conf --host-resolve-interval 1m0s'
const DEADLINE = '--deadline 2026-01-02T03:10:02Z'

function args(kind: InjectorKindName, spec: Partial<DisruptionSpec>, more: object = {}): string {
  return injectorArgs({
    kind,
    spec: { count: 1, ...spec },
    disruption: { name: 'd', namespace: 'ns', uid: 'uid' },
    target: { name: 'p1', node: 'n1', ip: '10.1.2.3' },
    containers: [{ name: 'app', id: 'containerd://abc' }],
    times: { createPods: INJECT, inject: INJECT, end: END },
    config: DEFAULT_CONFIG.injector,
    cloudHosts: [],
    metricsSink: 'noop',
    ...more,
  }).join(' ')
}

/** The arguments of the kind, without the common ones. */
function does(kind: InjectorKindName, spec: Partial<DisruptionSpec>): string {
  return args(kind, spec).split(' --metrics-sink')[0] ?? ''
}

const network = { drop: 30, hosts: [{ host: '10.0.0.0/8', port: 80, protocol: 'tcp' as const }] }
const NETWORK =
  'network-disruption --corrupt 0 --drop 30 --duplicate 0 --delay 0 --delay-jitter 0 --bandwidth-limit 0 --hosts 10.0.0.0/8;80;tcp;;;;100'

describe('the arguments of an injector', () => {
  it('contain a network disruption (G1, G3)', () => {
    expect(args('network-disruption', { network })).toBe([NETWORK, COMMON, SINCE, DNS, DEADLINE].join(' '))
  })

  it('contain the address ranges of cloud services after the hosts of the spec (B24)', () => {
    const cloudHosts = [
      { host: '3.5.0.0/19', flow: 'egress' as const },
      { host: '3.6.0.0/19', connState: 'new' as const },
    ]
    expect(args('network-disruption', { network }, { cloudHosts })).toContain(
      '--hosts 10.0.0.0/8;80;tcp;;;;100 --hosts 3.5.0.0/19;0;;egress;;;100 --hosts 3.6.0.0/19;0;;;new;;100 --metrics-sink',
    )
  })

  it('contain dry run, onInit and pulses (G2)', () => {
    const pulse = { activeDuration: '1m', dormantDuration: '30s', initialDelay: '5s' }
    const pulsed =
      '--dry-run --on-init --pulse-active-duration 1m0s --pulse-dormant-duration 30s --pulse-initial-delay 5s'
    expect(args('network-disruption', { network, dryRun: true, onInit: true, pulse })).toBe(
      [NETWORK, COMMON, pulsed, SINCE, DNS, DEADLINE].join(' '),
    )
  })

  it("contain the operators' allowed hosts, unless the Disruption disables them", () => {
    const config = { ...DEFAULT_CONFIG.injector, allowedHosts: [{ host: '8.8.8.8', port: 53, protocol: 'udp' }] }
    expect(args('network-disruption', { network }, { config })).toContain(
      `${SINCE} --allowed-hosts 8.8.8.8;53;udp;;;;100 --dns-pod`,
    )
    const closed = { ...network, disableDefaultAllowedHosts: true }
    expect(args('network-disruption', { network: closed }, { config })).not.toContain('--allowed-hosts')
    const own = { ...network, allowedHosts: [{ host: 'a.example', connState: 'NEW' }] }
    expect(does('network-disruption', { network: own })).toBe(`${NETWORK} --allowed-hosts a.example;0;;;new;;100`)
  })

  it.each([
    [
      { name: 'svc', namespace: 'other', ports: [{ port: 8080, name: 'http' }], percentage: 50 },
      'svc;other;8080-http;50',
    ],
    [{ name: 'svc', namespace: 'other' }, 'svc;other;100'],
  ])('of a Service (G4)', (service, expected) => {
    expect(does('network-disruption', { network: { drop: 1, services: [service] } })).toMatch(
      new RegExp(` --services ${expected}$`),
    )
  })

  it('contain methods and paths of requests', () => {
    const http = { methods: ['get', 'POST'], paths: ['/a', '/b'] }
    expect(does('network-disruption', { network: { delay: 5, http } })).toMatch(
      / --delay 5 .* --method GET --method POST --path \/a --path \/b$/,
    )
  })

  it.each<[string, InjectorKindName, Partial<DisruptionSpec>, string]>([
    ['CPUs (G5)', 'cpu-pressure', { cpuPressure: {} }, 'cpu-pressure --count 100%'],
    ['some CPUs (G5)', 'cpu-pressure', { cpuPressure: { count: 2 } }, 'cpu-pressure --count 2'],
    [
      'memory (G6)',
      'memory-pressure',
      { memoryPressure: { targetPercent: 76, rampDuration: '10m' } },
      'memory-pressure --target-percent 76 --ramp-duration 10m0s',
    ],
    [
      'memory at once',
      'memory-pressure',
      { memoryPressure: { targetPercent: '76%', rampDuration: '0s' } },
      'memory-pressure --target-percent 76',
    ],
    [
      'a disk (G7)',
      'disk-pressure',
      { diskPressure: { path: '/data', throttling: { readBytesPerSec: 1024 } } },
      'disk-pressure --path /data --read-bytes-per-sec 1024',
    ],
    [
      'files (G8)',
      'disk-failure',
      { diskFailure: { paths: ['/a', '/b'], probability: '50%', openat: { exitCode: 'ENOSPC' } } },
      'disk-failure --path /a --path /b --exit-code ENOSPC --probability 50%',
    ],
    ['files alone', 'disk-failure', { diskFailure: { paths: [' /a '] } }, 'disk-failure --path /a --probability 100%'],
    ['a container (G9)', 'container-failure', { containerFailure: { forced: true } }, 'container-failure --forced'],
    ['a container, gently', 'container-failure', { containerFailure: {} }, 'container-failure'],
    ['a node (G10)', 'node-failure', { nodeFailure: { shutdown: true } }, 'node-failure inject --shutdown'],
    [
      'names (G11)',
      'dns-disruption',
      {
        dns: {
          records: [
            { hostname: 'a.example', record: { type: 'A', value: '1.2.3.4,5.6.7.8', ttl: 5 } },
            { hostname: 'b.example', record: { type: 'AAAA', value: '2001:db8::1' } },
          ],
        },
      },
      'dns-disruption --records a.example:A:1.2.3.4,5.6.7.8:5;b.example:AAAA:2001:db8::1:0 --port 53 --protocol both',
    ],
    [
      'calls (G12)',
      'grpc-disruption',
      { grpc: { port: 50051, endpoints: [{ endpoint: '/p.S/M', error: 'UNAVAILABLE', queryPercent: 25 }] } },
      'grpc-disruption --port 50051 --endpoint-alterations /p.S/M;error;UNAVAILABLE;25',
    ],
    ['a pod (G13)', 'pod-replacement', { podReplacement: {} }, 'pod-replacement inject --delete-storage'],
    [
      'a pod at once (G13)',
      'pod-replacement',
      { podReplacement: { deleteStorage: false, forceDelete: true, gracePeriodSeconds: 0 } },
      'pod-replacement inject --force-delete --grace-period-seconds 0',
    ],
  ])('of %s', (_, kind, spec, expected) => {
    expect(does(kind, spec)).toBe(expected)
  })

  it('contain neither containers nor an address at level node', () => {
    const injectorArgs = args('cpu-pressure', { cpuPressure: {}, level: 'node' }, { containers: [] })
    expect(injectorArgs).toContain('--metrics-sink noop --level node --chaos-namespace')
  })

  it('contain the containers sorted by name (A1)', () => {
    const containers = [
      { name: 'b', id: 'containerd://2' },
      { name: 'a', id: 'containerd://1' },
    ]
    expect(args('cpu-pressure', { cpuPressure: {} }, { containers })).toContain(
      '--target-containers a;containerd://1,b;containerd://2 ',
    )
  })

  it('cannot be built for a kind that is not in the spec', () => {
    expect(() => args('cpu-pressure', {})).toThrow('spec.cpuPressure is missing; cpu-pressure needs it')
  })
})
