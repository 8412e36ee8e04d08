// Builds requests for network backends.

import type { NetworkRequest } from '../../../../workflows/chaos/injector/network/filters.ts'
import type { NetworkSpec } from '../../../../workflows/chaos/injector/invocation.ts'
import type { HostRule } from '../../../../workflows/chaos/host-rule.ts'
import type { NetworkFacts } from '../../../../workflows/chaos/injector/network/network-spec.ts'

export interface AskParts {
  readonly spec?: Partial<NetworkSpec>
  readonly facts?: Partial<NetworkFacts>
  readonly level?: 'pod' | 'node'
  readonly onInit?: boolean
}

/** A pod with `lo` and `eth0` on a node at 10.0.0.2, behind the gateway 10.1.0.1. */
export function networkAsk({ spec, facts, level = 'pod', onInit = false }: AskParts = {}): NetworkRequest {
  return {
    spec: {
      hosts: [],
      allowedHosts: [],
      services: [],
      methods: [],
      paths: [],
      drop: 0,
      duplicate: 0,
      corrupt: 0,
      delayMs: 0,
      delayJitter: 0,
      bandwidthLimit: 0,
      hostResolveIntervalMs: 60_000,
      dnsPodResolvConf: '/etc/resolv.conf',
      dnsNodeResolvConf: '/etc/resolv.conf',
      ...spec,
    },
    common: {
      level,
      onInit,
      log: {
        disruptionName: 'd',
        disruptionNamespace: 'ns',
        disruptionUid: 'uid-1',
        targetName: 'p1',
        targetNodeName: 'n1',
      },
    },
    facts: {
      interfaces: [
        { name: 'lo', qlen: 1000 },
        { name: 'eth0', qlen: 1000 },
      ],
      gateway: { ip: '10.1.0.1', link: 'eth0' },
      nodeIp: '10.0.0.2',
      containers: [{ version: 2, path: 'kubepods/pod1/c1' }],
      resolved: {},
      services: {},
      hasFwFilter: true,
      ...facts,
    },
  }
}

export function host(given: Partial<HostRule>): HostRule {
  return {
    host: '',
    port: 0,
    protocol: '',
    flow: 'egress',
    connState: '',
    dnsResolver: 'pod',
    percentage: 100,
    ...given,
  }
}
