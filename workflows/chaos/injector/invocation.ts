// The parsed command line of an injector. Source: spec/chaos.md 3.2.

import { INJECTOR_KINDS } from '../contract.ts'
import type { HostRule } from '../host-rule.ts'

export const KINDS = INJECTOR_KINDS.map(({ name }) => name)

export interface TargetContainer {
  readonly name: string
  /** With the runtime's prefix, such as `containerd://0a1b`. */
  readonly id: string
}

export interface ServiceRule {
  readonly name: string
  readonly namespace: string
  /** Ports of the Service; empty: all ports. A port with number 0 is identified by its name. */
  readonly ports: readonly { readonly port: number; readonly name: string }[]
  readonly percentage: number
}

export interface NetworkSpec {
  readonly hosts: readonly HostRule[]
  readonly allowedHosts: readonly HostRule[]
  readonly services: readonly ServiceRule[]
  /** Percent, 0 to 100; 0 disables the effect, as for all effects. */
  readonly drop: number
  readonly duplicate: number
  readonly corrupt: number
  readonly delayMs: number
  /** Percent of the delay. */
  readonly delayJitter: number
  /** Bytes per second. */
  readonly bandwidthLimit: number
  readonly methods: readonly string[]
  readonly paths: readonly string[]
  readonly hostResolveIntervalMs: number
  readonly dnsPodResolvConf: string
  readonly dnsNodeResolvConf: string
}

/** A number of CPUs, or a percentage of the target's CPUs. */
export type CpuCount = { readonly cpus: number } | { readonly percent: number }

export type DnsRecordType = 'A' | 'AAAA' | 'CNAME' | 'MX' | 'TXT' | 'SRV'

export interface DnsRecord {
  readonly hostname: string
  readonly type: DnsRecordType
  readonly value: string
  /** Seconds. */
  readonly ttl: number
}

export interface EndpointAlteration {
  readonly endpoint: string
  readonly alteration: { readonly error: string } | { readonly override: string }
  /** 0: an equal share of the remaining calls. */
  readonly percent: number
}

export type KindSpec =
  | { readonly kind: 'network-disruption'; readonly network: NetworkSpec }
  | { readonly kind: 'node-failure'; readonly shutdown: boolean }
  | {
      readonly kind: 'pod-replacement'
      readonly deleteStorage: boolean
      readonly forceDelete: boolean
      readonly gracePeriodSeconds?: number
    }
  | { readonly kind: 'container-failure'; readonly forced: boolean }
  | { readonly kind: 'cpu-pressure'; readonly count: CpuCount }
  | { readonly kind: 'memory-pressure'; readonly targetPercent: number; readonly rampMs: number }
  | {
      readonly kind: 'disk-pressure'
      readonly path: string
      readonly readBytesPerSec?: number
      readonly writeBytesPerSec?: number
    }
  | {
      readonly kind: 'disk-failure'
      readonly paths: readonly string[]
      readonly exitCode?: string
      readonly probability: number
    }
  | { readonly kind: 'grpc-disruption'; readonly port: number; readonly alterations: readonly EndpointAlteration[] }
  | {
      readonly kind: 'dns-disruption'
      readonly records: readonly DnsRecord[]
      readonly port: number
      readonly protocol: 'udp' | 'tcp' | 'both'
    }

export interface Pulse {
  readonly activeMs: number
  readonly dormantMs: number
}

export interface CommonFlags {
  readonly dryRun: boolean
  readonly metricsSink: 'noop' | 'datadog'
  readonly level: 'pod' | 'node'
  readonly targetContainers: readonly TargetContainer[]
  readonly targetPodIp?: string
  readonly onInit: boolean
  readonly pulse?: Pulse
  readonly pulseInitialDelayMs: number
  /** RFC3339. */
  readonly notInjectedBefore?: string
  /** RFC3339. */
  readonly deadline?: string
  readonly chaosNamespace: string
  readonly log: LogContext
}

export interface LogContext {
  readonly disruptionName: string
  readonly disruptionNamespace: string
  readonly disruptionUid: string
  readonly targetName: string
  readonly targetNodeName: string
}

export interface Invocation {
  readonly spec: KindSpec
  readonly common: CommonFlags
}
