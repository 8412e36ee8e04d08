// The command line of injectors. Source: spec/chaos.md 3.2 and 8.1 (G1 to G13).

import { describe, expect, it } from 'vitest'

import { readInvocation } from '../../../../workflows/chaos/injector/read-invocation.ts'

const POD = ['--level', 'pod', '--target-containers', 'app;containerd://abc']

describe('the command line of an injector', () => {
  it('G1: is parsed completely', () => {
    const text =
      'network-disruption --corrupt 0 --drop 30 --duplicate 0 --delay 0 --delay-jitter 0 --bandwidth-limit 0 --hosts 10.0.0.0/8;80;tcp;;;;100 --metrics-sink noop --level pod --target-containers app;containerd://abc --target-pod-ip 10.1.2.3 --chaos-namespace chaos-engineering --log-context-disruption-name d --log-context-disruption-namespace ns --log-context-disruption-uid u --log-context-target-name p1 --log-context-target-node-name n1 --not-injected-before 2026-01-31T12:00:00Z --allowed-hosts a.example --dns-pod-resolv-conf /etc/resolv.conf --dns-node-resolv-conf /mnt/host/etc/resolv.conf --deadline 2026-01-31T12:15:02Z'
    const rest = { flow: 'egress', connState: '', dnsResolver: 'pod-fallback-node', percentage: 100 }
    expect(readInvocation(text.split(' '))).toEqual({
      spec: {
        kind: 'network-disruption',
        network: {
          hosts: [{ host: '10.0.0.0/8', port: 80, protocol: 'tcp', ...rest }],
          allowedHosts: [{ host: 'a.example', port: 0, protocol: '', ...rest }],
          services: [],
          methods: [],
          paths: [],
          drop: 30,
          duplicate: 0,
          corrupt: 0,
          delayMs: 0,
          delayJitter: 0,
          bandwidthLimit: 0,
          hostResolveIntervalMs: 60_000,
          dnsPodResolvConf: '/etc/resolv.conf',
          dnsNodeResolvConf: '/mnt/host/etc/resolv.conf',
        },
      },
      common: {
        dryRun: false,
        metricsSink: 'noop',
        level: 'pod',
        onInit: false,
        pulseInitialDelayMs: 0,
        targetContainers: [{ name: 'app', id: 'containerd://abc' }],
        targetPodIp: '10.1.2.3',
        chaosNamespace: 'chaos-engineering',
        notInjectedBefore: '2026-01-31T12:00:00Z',
        deadline: '2026-01-31T12:15:02Z',
        log: {
          disruptionName: 'd',
          disruptionNamespace: 'ns',
          disruptionUid: 'u',
          targetName: 'p1',
          targetNodeName: 'n1',
        },
      },
    })
  })

  it('G2: contains pulses and boolean flags among the common flags', () => {
    const flags = ['--dry-run', '--on-init', '--pulse-active-duration', '1m0s', '--pulse-dormant-duration', '30s']
    expect(readInvocation(['cpu-pressure', ...POD, ...flags, '--pulse-initial-delay=5s'])).toMatchObject({
      spec: { kind: 'cpu-pressure', count: { percent: 100 } },
      common: { dryRun: true, onInit: true, pulseInitialDelayMs: 5000, pulse: { activeMs: 60_000, dormantMs: 30_000 } },
    })
  })

  it.each([
    [
      'svc;other;8080-http;50',
      { name: 'svc', namespace: 'other', ports: [{ port: 8080, name: 'http' }], percentage: 50 },
    ],
    ['svc;other;100', { name: 'svc', namespace: 'other', ports: [], percentage: 100 }],
    [
      'svc;other;8080-;0-x-y;1',
      {
        name: 'svc',
        namespace: 'other',
        percentage: 1,
        ports: [
          { port: 8080, name: '' },
          { port: 0, name: 'x-y' },
        ],
      },
    ],
  ])('G4: reads the service %s', (text, service) => {
    expect(readInvocation(['network-disruption', ...POD, '--drop', '1', '--services', text])).toMatchObject({
      spec: { network: { services: [service] } },
    })
  })

  it.each([
    ['cpu-pressure --count 2', { count: { cpus: 2 } }],
    ['cpu-pressure --count 50%', { count: { percent: 50 } }],
    ['memory-pressure --target-percent 76 --ramp-duration 10m0s', { targetPercent: 76, rampMs: 600_000 }],
    ['memory-pressure --target-percent 76%', { targetPercent: 76, rampMs: 0 }],
    ['disk-pressure --path /data --read-bytes-per-sec 1024', { path: '/data', readBytesPerSec: 1024 }],
    [
      'disk-failure --path /a --path /b --exit-code ENOSPC --probability 50%',
      { paths: ['/a', '/b'], exitCode: 'ENOSPC', probability: 50 },
    ],
    ['container-failure --forced', { forced: true }],
    ['container-failure', { forced: false }],
    ['node-failure inject --shutdown', { shutdown: true }],
    [
      'dns-disruption --records a.example:A:1.2.3.4,5.6.7.8:5 --port 53 --protocol both',
      { records: [{ hostname: 'a.example', type: 'A', value: '1.2.3.4,5.6.7.8', ttl: 5 }], port: 53, protocol: 'both' },
    ],
    [
      'grpc-disruption --port 50051 --endpoint-alterations /p.S/M;error;UNAVAILABLE;25 --endpoint-alterations /p.S/M;override;{};0',
      {
        port: 50051,
        alterations: [
          { endpoint: '/p.S/M', alteration: { error: 'UNAVAILABLE' }, percent: 25 },
          { endpoint: '/p.S/M', alteration: { override: '{}' }, percent: 0 },
        ],
      },
    ],
    [
      'pod-replacement inject --delete-storage --grace-period-seconds 0 --target-pod-ip 10.1.2.3',
      { deleteStorage: true, forceDelete: false, gracePeriodSeconds: 0 },
    ],
  ])('G5 to G13: reads %s', (text, spec) => {
    const args = text.split(' ')
    expect(readInvocation([...args, ...POD])).toMatchObject({ spec: { kind: args[0], ...spec } })
  })

  it('parses records with colons and semicolons in their values', () => {
    const records =
      'a.example:AAAA:2001:db8::1,2001:db8::2:60;b.example:TXT:v=spf1; a:1:b:5;_s._tcp.c.example:SRV:0 1 80 d.example:0'
    expect(readInvocation(['dns-disruption', ...POD, '--records', records])).toMatchObject({
      spec: {
        records: [
          { hostname: 'a.example', type: 'AAAA', value: '2001:db8::1,2001:db8::2', ttl: 60 },
          { hostname: 'b.example', type: 'TXT', value: 'v=spf1; a:1:b', ttl: 5 },
          { hostname: '_s._tcp.c.example', type: 'SRV', value: '0 1 80 d.example', ttl: 0 },
        ],
      },
    })
  })

  it.each([
    ['network-disruption --drop 101', "--drop: found '101'; expected an integer from 0 to 100"],
    [
      'network-disruption --drop 1 --bandwidth-limit 31',
      "--bandwidth-limit: found '31'; expected 0, or an integer of at least 32 bytes in a second",
    ],
    [
      'network-disruption',
      '--drop: found no effect; expected --drop, --duplicate, --corrupt, --delay or --bandwidth-limit above 0',
    ],
    ['network-disruption --drop 1 --hosts 10.0.0.256', "--hosts: found '10.0.0.256'; expected host;port;protocol"],
    ['network-disruption --drop 1 --hosts a;99999', "--hosts: found 'a;99999'; expected host;port;protocol"],
    ['network-disruption --drop 1 --hosts a;1;icmp', "--hosts: found 'a;1;icmp'; expected host;port;protocol"],
    ['network-disruption --drop 1 --hosts a;;;;;;;', "--hosts: found 'a;;;;;;;'; expected host;port;protocol"],
    ['network-disruption --drop 1 --services svc;50', "--services: found 'svc;50'; expected name;namespace;"],
    [
      'network-disruption --drop 1 --services svc;ns;http;50',
      "--services: found 'svc;ns;http;50'; expected name;namespace;",
    ],
    ['network-disruption --drop', '--drop: the value is missing'],
    ['cpu-pressure --count 0%', "--count: found '0%'; expected a number of CPUs"],
    ['cpu-pressure --count 1 --forced', '--forced: unknown flag; expected one of --chaos-namespace, --count, '],
    ['cpu-pressure stray', "argument 1: found 'stray'; expected a flag such as --level"],
    ['memory-pressure', '--target-percent: found nothing; expected a percentage from 1 to 100'],
    ['memory-pressure --target-percent 50 --ramp-duration -1s', "--ramp-duration: found '-1s'; expected a duration"],
    ['disk-pressure --path data --read-bytes-per-sec 1', "--path: found 'data'; expected an absolute path"],
    ['disk-pressure --path /data', '--read-bytes-per-sec: found nothing; expected it or --write-bytes-per-sec'],
    ['disk-failure --path /a --exit-code EWHAT', "--exit-code: found 'EWHAT'; expected one of EACCES, "],
    [
      'dns-disruption --records a.example:PTR:x:1',
      "--records: found 'a.example:PTR:x:1'; expected host:TYPE:value:ttl",
    ],
    [
      'dns-disruption --records a.example:A:1.2.3.4',
      "--records: found 'a.example:A:1.2.3.4'; expected host:TYPE:value:ttl",
    ],
    ['grpc-disruption --port 0', "--port: found '0'; expected an integer from 1 to 65535"],
    [
      'grpc-disruption --port 1 --endpoint-alterations /p.S/M;error;WHAT;1',
      "--endpoint-alterations: found '/p.S/M;error;WHAT;1'; expected endpoint;",
    ],
    ['cpu-pressure --deadline tomorrow', "--deadline: found 'tomorrow'; expected a time such as 2026-01-31T12:00:00Z"],
    [
      'cpu-pressure --pulse-active-duration 1s',
      '--pulse-active-duration: expected together with --pulse-dormant-duration, or neither',
    ],
    ['cpu-pressure --dry-run=maybe', "--dry-run: found 'maybe'; expected true or false"],
    ['reboot', "found 'reboot'; expected one of network-disruption, node-failure, "],
  ])('refuses %s', (text, problem) => {
    const read = readInvocation([...text.split(' '), ...POD])
    expect('problems' in read ? read.problems.map((line) => line.slice(0, problem.length)) : read).toContain(problem)
  })

  it('reports all problems at once', () => {
    const read = readInvocation(['cpu-pressure', '--count', 'many', '--deadline', 'soon', '--level', 'cluster'])
    expect('problems' in read ? read.problems.map((line) => line.split(':')[0]) : read).toEqual([
      ...['--count', '--level', '--target-containers', '--deadline'],
    ])
  })
})
