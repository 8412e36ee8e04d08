// A cluster with its objects and its database in memory: runs passes of the controller, and between them does the work of a kubelet. Records the writes
// to the API server and the effects on the database.

import { vi } from 'vitest'

import * as activities from '../../../activities/foundationdb/database/activities.ts'
import type { PodFiles, PodFilesResult } from '../../../activities/foundationdb/pod-client/sync-pods.ts'
import { clusterController } from '../../../workflows/foundationdb/cluster/controller.ts'
import type { ClusterSpec, ClusterStatus, FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { type ObservedPod, substitutionsOf } from '../../../workflows/foundationdb/cluster/observed.ts'
import type { ClusterState } from '../../../workflows/foundationdb/cluster/pass.ts'
import type { ActivityContext } from '../../../workflows/kit/index.ts'
import { type PassCourse, runPass } from '../../../workflows/kit/testing/index.ts'
import { MemoryDatabase, type RunningProcess } from './memory-database.ts'

const START = Date.UTC(2026, 0, 1)
const MOST_PASSES = 60

export type ClusterCourse = PassCourse<ClusterState, FoundationDBCluster>

/** The spec of most scenarios: 17 process groups. Source: spec/foundationdb.md 6.2, F1. */
export const DOUBLE: ClusterSpec = {
  version: '7.1.67',
  databaseConfiguration: { redundancy_mode: 'double', storage: 4 },
  processCounts: { cluster_controller: 1 },
}

export class ClusterWorld {
  readonly database: MemoryDatabase
  /** Texts such as `create Pod sample-storage-1`, of all passes. */
  readonly writes: string[] = []
  /** Reasons of Events, of all passes. */
  readonly events: string[] = []
  /** Names of Pods whose sidecar does not answer. */
  readonly unreachable = new Set<string>()
  /** Names of objects that stay while they are deleted. */
  readonly stuck = new Set<string>()
  /** Names of Pods that no Node accepts. */
  readonly pending = new Set<string>()
  spec: ClusterSpec
  generation = 1
  status: ClusterStatus = {}
  state: Partial<ClusterState> = {}
  seconds = 0
  readonly #versions: Readonly<Record<string, string>>
  #addresses = 0

  constructor(
    spec: ClusterSpec = DOUBLE,
    versions: Readonly<Record<string, string>> = { '7.1.67': 'fdb00b071010000' },
  ) {
    this.spec = spec
    this.#versions = versions
    this.database = new MemoryDatabase('', () => this.#running())
  }

  change(spec: Partial<ClusterSpec>): void {
    this.spec = { ...this.spec, ...spec }
    this.generation++
  }

  get pods(): readonly ObservedPod[] {
    return this.state.pods ?? []
  }

  /** Names of the existing objects of a state, sorted. */
  names(state: 'pods' | 'claims' | 'services'): readonly string[] {
    return (this.state[state] ?? []).map(({ metadata }) => metadata.name).sort()
  }

  /** Runs one pass, then the kubelet. */
  async pass(): Promise<ClusterCourse> {
    vi.setSystemTime(START + this.seconds * 1000)
    const target = {
      metadata: { name: 'sample', uid: 'uid-sample', generation: this.generation },
      spec: this.spec,
      status: this.status,
    } as unknown as FoundationDBCluster
    const course = await runPass(clusterController, { target, state: this.#stateForPass(), calls: this.#calls() })
    this.writes.push(...course.written)
    this.events.push(...course.events.map(({ reason }) => reason))
    this.status = course.next.target.status ?? {}
    this.state = this.#kept(course)
    this.#runKubelet()
    // The database follows the first connection string.
    if (this.database.connectionString === '') this.database.connectionString = this.status.connectionString ?? ''
    this.seconds += 20
    return course
  }

  /** Runs passes until nothing is left to do. @returns the number of passes. */
  async reconcile(): Promise<number> {
    for (let passes = 1; passes <= MOST_PASSES; passes++) {
      const { ended } = await this.pass()
      if (ended !== undefined) return passes
    }
    const reconciled = (this.status.conditions ?? []).find(({ type }) => type === 'Reconciled')
    throw new Error(
      `not reconciled after ${MOST_PASSES} passes: ${reconciled?.reason ?? ''}: ${reconciled?.message ?? ''}; ${JSON.stringify(this.status.generations)}`,
    )
  }

  /** Forgets writes, Events and effects up to now. */
  forget(): void {
    this.writes.length = 0
    this.events.length = 0
    this.database.effects.length = 0
  }

  #stateForPass(): Partial<ClusterState> {
    return { ...this.state, wholePods: (this.state.pods ?? []) as unknown as ClusterState['wholePods'] }
  }

  #calls() {
    const context = {
      parts: { databases: this.database.provider(this.#versions), now: () => new Date(START + this.seconds * 1000) },
      signal: new AbortController().signal,
    } as unknown as ActivityContext
    const all = Object.entries(activities).filter(([name]) => name !== 'syncPods')
    return {
      ...Object.fromEntries(
        all.map(([name, run]) => [
          name,
          (input: never) => (run as (...input: unknown[]) => Promise<unknown>)(input, context),
        ]),
      ),
      syncPods: ({ pods }: { readonly pods: readonly PodFiles[] }): readonly PodFilesResult[] =>
        pods.map(({ pod }) => ({
          pod,
          state: this.unreachable.has(pod) ? 'unreachable' : 'current',
          message: '',
        })),
    }
  }

  /** Objects that are stuck survive their deletion with a deletionTimestamp. */
  #kept(course: ClusterCourse): Partial<ClusterState> {
    const { pods, claims, services, configMap } = course.next.state
    const keep = <One extends { readonly metadata: { readonly name: string; readonly deletionTimestamp?: string } }>(
      before: readonly One[] = [],
      after: readonly One[],
    ): readonly One[] => [
      ...after,
      ...before
        .filter(
          ({ metadata }) => this.stuck.has(metadata.name) && !after.some((one) => one.metadata.name === metadata.name),
        )
        .map((one) => ({
          ...one,
          metadata: { deletionTimestamp: new Date(START + this.seconds * 1000).toISOString(), ...one.metadata },
        })),
    ]
    return {
      pods: keep(this.state.pods, pods),
      claims: keep(this.state.claims, claims),
      services: keep(this.state.services, services),
      configMap,
    }
  }

  #runKubelet(): void {
    const pods = this.pods.map((pod) => {
      if (pod.status?.podIP !== undefined || this.pending.has(pod.metadata.name)) return pod
      const address = `10.0.0.${++this.#addresses}`
      return {
        ...pod,
        spec: { ...pod.spec, nodeName: `node-${pod.metadata.name}` },
        status: {
          phase: 'Running',
          podIP: address,
          podIPs: [{ ip: address }],
          containerStatuses: pod.spec.containers.map(({ name }) => ({ name, ready: true })),
        },
      }
    })
    const services = (this.state.services ?? []).map((service) =>
      service.spec.clusterIP === undefined
        ? { ...service, spec: { ...service.spec, clusterIP: `10.1.0.${++this.#addresses}` } }
        : service,
    )
    this.state = { ...this.state, pods, services }
  }

  /** The processes that the monitors of the running Pods would start with the present ConfigMap. */
  #running(): readonly RunningProcess[] {
    return this.pods.flatMap((pod) => {
      const values = substitutionsOf(pod)
      if (pod.status?.phase !== 'Running' || values === undefined) return []
      const processClass = pod.metadata.labels?.['foundationdb.org/fdb-process-class'] ?? ''
      const servers = values[`${processClass.toUpperCase()}_SERVERS_PER_POD`]
      const density = servers === undefined ? '' : `-density-${servers}`
      const configuration = this.state.configMap?.data?.[`fdbmonitor-conf-${processClass}${density}`] ?? ''
      return processesIn(configuration, pod, values)
    })
  }
}

/** Reads a configuration of fdbmonitor. */
function processesIn(
  configuration: string,
  pod: ObservedPod,
  values: Readonly<Record<string, string>>,
): readonly RunningProcess[] {
  const image = (name: string) => pod.spec.containers.find((one) => one.name === name)?.image ?? ''
  const versionOf = (text: string) => /:(\d+\.\d+\.\d+)/.exec(text)?.[1] ?? ''
  const [main, sidecar] = [versionOf(image('foundationdb')), versionOf(image('foundationdb-kubernetes-sidecar'))]
  const folder = main === sidecar ? '/usr/bin' : `/var/dynamic-conf/bin/${sidecar}`
  const all = { ...values, BINARY_DIR: folder }
  const text = Object.entries(all).reduce((now, [name, value]) => now.replaceAll(`$${name}`, value), configuration)
  return text
    .split(/^\[fdbserver\.\d+\]$/m)
    .slice(1)
    .map((section) => {
      const lines = section.trim().split('\n')
      const parameters = new Map(lines.map((line) => line.split(' = ') as [string, string]))
      const args = [...parameters].filter(([name]) => name !== 'command').map(([name, value]) => `--${name}=${value}`)
      const locality = [...parameters].flatMap(([name, value]) =>
        name.startsWith('locality_') ? [[name.slice('locality_'.length), value] as const] : [],
      )
      return {
        pod: pod.metadata.uid,
        address: parameters.get('public_address') ?? '',
        processClass: parameters.get('class') ?? '',
        commandLine: [parameters.get('command') ?? '', ...args].join(' '),
        version: sidecar,
        locality: Object.fromEntries(locality),
      }
    })
}
