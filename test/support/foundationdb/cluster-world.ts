// Runs passes of the cluster controller against objects and a database in memory. Between passes the world does what kubelet, sidecar and fdbmonitor
// do: new Pods get a Node and an address, Pods get the files of the ConfigMap, and processes start with these files. Time passes only between passes.
//
//   W1. A process keeps its command line until it is killed or its Pod is recreated, as fdbmonitor with `kill_on_configuration_change = false`.
//   W2. A Pod gets the ConfigMap of the time when it starts; later only through its sidecar.

import * as activities from '../../../activities/foundationdb/database/activities.ts'
import type { DatabaseParts } from '../../../activities/foundationdb/database/activities.ts'
import type { PodFiles, PodFilesResult } from '../../../activities/foundationdb/pod-client/sync-pods.ts'
import { sha256, type ActivityContext, type JsonObject, wishedMs } from '../../../workflows/kit/index.ts'
import { type FakedFaults, runPass } from '../../../workflows/kit/testing/index.ts'
import { clusterController } from '../../../workflows/foundationdb/cluster/controller.ts'
import type {
  ClusterSpec,
  FoundationDBCluster,
  ProcessGroupStatus,
} from '../../../workflows/foundationdb/cluster/kind.ts'
import {
  claimView,
  hasEnded,
  isTerminating,
  type ObservedPod,
  podView,
  processClassOf,
  processGroupOf,
  serviceView,
  taintedNodeView,
} from '../../../workflows/foundationdb/cluster/observed.ts'
import { startedPod, START_TEXT, taintedNode, withAddress } from './assigned-fields.ts'
import {
  copyFiles,
  isUnified,
  monitorText,
  type PodDirectory,
  processesOf,
  reportedConfiguration,
} from './pod-processes.ts'
import type { CallRecorder } from './disturbed-calls.ts'
import { type Clock, MemoryDatabase } from './memory-database.ts'
import { countWrites, type Course, eventReasons, summarizeEffects } from './pass-summaries.ts'

type Texts = Readonly<Record<string, string>>

/** 2026-01-01. */
const START_SECONDS = 1_767_225_600

export class ClusterWorld {
  readonly clock: Clock
  /** The number of the Kubernetes cluster, for databases in several. */
  readonly place: number
  readonly database: MemoryDatabase
  target: FoundationDBCluster
  /** The passes since the last call of `takePasses`. */
  readonly courses: Course[] = []
  /** Objects whose deletion does not end, such as `Pod db-storage-1`. */
  readonly held = new Set<string>()
  /** Names of Pods that the API server does not list yet; it refuses to create them again. */
  readonly unlisted = new Set<string>()
  /** Names of Pods whose sidecar does not answer. */
  readonly unreachable = new Set<string>()
  /** IDs of process groups whose process does not run. */
  readonly stopped = new Set<string>()
  /** Chooses the Node of a new Pod. @param count the number of Pods created so far. */
  nodeOf: (pod: string, count: number) => string = (_, count) => `node-${count}`
  fails: FakedFaults = {}
  /** The usual time between passes: Events of Pods wake the controller earlier than its delays. */
  passSeconds = 30
  /** Records or disturbs the calls of passes. */
  recorder: CallRecorder | undefined
  pods: readonly JsonObject[] = []
  claims: readonly JsonObject[] = []
  services: readonly JsonObject[] = []
  configMap: JsonObject | undefined
  nodes: readonly JsonObject[] = []
  private readonly files = new Map<string, PodDirectory>()
  private created = 0

  constructor(
    spec: Partial<ClusterSpec> = {},
    shared: { readonly database?: MemoryDatabase; readonly clock?: Clock; readonly place?: number } = {},
  ) {
    this.clock = shared.clock ?? { seconds: START_SECONDS }
    this.database = shared.database ?? new MemoryDatabase(this.clock)
    this.place = shared.place ?? 1
    this.database.monitors.push(() => {
      this.run()
    })
    this.target = {
      apiVersion: 'apps.foundationdb.org/v1beta2',
      kind: 'FoundationDBCluster',
      metadata: {
        name: 'db',
        namespace: 'default',
        uid: 'uid-db',
        resourceVersion: '1',
        generation: 1,
        creationTimestamp: START_TEXT,
      },
      spec: { version: '7.1.67', ...spec },
    }
  }

  /** An independent copy of a world with a database of its own. */
  fork(): ClusterWorld {
    const clock = { ...this.clock }
    const copy = new ClusterWorld({}, { clock, database: this.database.fork(clock), place: this.place })
    for (const name of this.held) copy.held.add(name)
    for (const name of this.unreachable) copy.unreachable.add(name)
    for (const id of this.stopped) copy.stopped.add(id)
    for (const name of this.unlisted) copy.unlisted.add(name)
    for (const [pod, directory] of this.files) copy.files.set(pod, directory)
    copy.courses.push(...this.courses)
    const { target, nodeOf, pods, claims, services, configMap, created, passSeconds } = this
    return Object.assign(copy, { target, nodeOf, pods, claims, services, configMap, created, passSeconds })
  }

  get groups(): readonly ProcessGroupStatus[] {
    return this.target.status?.processGroups ?? []
  }

  get generations() {
    return this.target.status?.generations ?? {}
  }

  idsOf(processClass: string): readonly string[] {
    return this.groups
      .filter((group) => group.processClass === processClass)
      .map(({ processGroupID }) => processGroupID)
  }

  isCoordinator(id: string): boolean {
    const { connectionString = '' } = this.target.status ?? {}
    const { addresses = [] } = this.groups.find(({ processGroupID }) => processGroupID === id) ?? {}
    return addresses.some((address) => connectionString.includes(`${address}:`))
  }

  /** The names of Pods of a class. */
  podsOf(processClass: string): readonly string[] {
    return this.podViews()
      .filter((pod) => processClassOf(pod) === processClass)
      .map(({ metadata }) => metadata.name)
  }

  /** Changes fields of the spec, as a user does. */
  change(spec: Partial<ClusterSpec>): void {
    const { metadata } = this.target
    this.target = {
      ...this.target,
      metadata: { ...metadata, generation: metadata.generation + 1 },
      spec: { ...this.target.spec, ...spec },
    }
  }

  async pass(): Promise<Course> {
    const whole = this.pods.filter(({ metadata }) => !this.unlisted.has(metadata.name))
    const controller = this.recorder?.record(clusterController) ?? clusterController
    const course = await runPass(controller, {
      target: this.target,
      state: {
        pods: whole.map(podView),
        claims: this.claims.map(claimView),
        services: this.services.map(serviceView),
        configMap: this.configMap,
        wholePods: whole,
        nodes: this.nodes.flatMap((node) => taintedNodeView(node) ?? []),
      },
      calls: this.calls(),
      fails: this.fails,
      latest: new Date(this.clock.seconds * 1000),
    })
    this.courses.push(course)
    this.take(course)
    const wished = (wishedMs(course.outcome) ?? 0) / 1000
    this.advance(Math.max(this.passSeconds, wished))
    return course
  }

  /** Runs passes until one reconciles the generation and requests no other. @throws a plain Error after `most` passes. */
  async settle(most = 60): Promise<void> {
    for (let count = 0; count < most; count++) {
      const { ended } = await this.pass()
      if (ended !== undefined && this.generations.reconciled === this.target.metadata.generation) return
    }
    throw new Error(
      `not reconciled after ${most} passes: ${JSON.stringify(this.condition)} ${JSON.stringify(this.generations)}`,
    )
  }

  /** The effects on the database since the last call of `takeEffects`: process groups by their classes, addresses by their number, such as `exclude no_wait storage`. */
  get effects(): readonly string[] {
    return summarizeEffects(this.database.effects)
  }

  takeEffects(): readonly string[] {
    const { effects } = this
    this.database.effects.length = 0
    return effects
  }

  /** The number of writes of all passes since the last call of `takePasses`, by verb and kind. */
  get writes(): Readonly<Record<string, number>> {
    return countWrites(this.courses)
  }

  /** Reasons of the Events of all passes since the last call of `takePasses`, without repetitions. */
  get events(): readonly string[] {
    return eventReasons(this.courses)
  }

  takePasses(): readonly Course[] {
    return this.courses.splice(0)
  }

  get condition() {
    const [condition] = this.target.status?.conditions ?? []
    return condition
  }

  /** Lets time pass, and the Pods with it. */
  advance(seconds: number): void {
    this.clock.seconds += seconds
    this.pods = this.pods.map((pod) => this.monitored(this.started(pod)))
    this.services = this.services.map((service, at) => withAddress(service, at))
    this.run()
  }

  /** Ends a Pod, as an eviction does. */
  endPod(name: string): void {
    this.pods = this.pods.map((pod) =>
      pod.metadata.name === name ? { ...pod, status: { ...(pod['status'] as object), phase: 'Failed' } } : pod,
    )
    this.run()
  }

  /** Deletes a Pod, as a user or a Node failure does. */
  deletePod(name: string): void {
    this.pods = this.pods.filter(({ metadata }) => metadata.name !== name)
  }

  /** Stops the process of a process group whose Pod gets no address any more. */
  forgetAddresses(id: string): void {
    this.stopped.add(id)
    const name = `db-${id}`
    this.pods = this.pods.map((pod) => (pod.metadata.name === name ? { ...pod, status: { phase: 'Pending' } } : pod))
    const processGroups = this.groups.map((group) =>
      group.processGroupID === id ? { ...group, addresses: [] } : group,
    )
    this.target = { ...this.target, status: { ...this.target.status, processGroups } }
    this.advance(0)
  }

  /** Gives a Node a taint now. @param name of a Pod on the Node. */
  taintNodeOf(name: string, key: string): void {
    const pod = this.pods.find(({ metadata }) => metadata.name === name)
    const { nodeName = '' } = (pod?.['spec'] ?? {}) as { readonly nodeName?: string }
    this.nodes = [...this.nodes, taintedNode(nodeName, key, this.clock.seconds)]
  }

  annotatePod(name: string, annotations: Texts): void {
    this.pods = this.pods.map((pod) => {
      const { metadata } = pod
      return metadata.name === name
        ? { ...pod, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } }
        : pod
    })
  }

  private take({ next, writes }: Course): void {
    const { target, state } = next
    this.target = target
    this.configMap = state.configMap as unknown as JsonObject | undefined
    const removed = new Set(writes.flatMap((write) => (write.verb === 'remove' ? [keyOf(write.object)] : [])))
    const deletionTimestamp = new Date(this.clock.seconds * 1000).toISOString()
    const withHeld = (before: readonly JsonObject[], now: readonly unknown[]): readonly JsonObject[] => [
      ...(now as readonly JsonObject[]),
      ...before
        .filter((one) => removed.has(keyOf(one)) && this.held.has(keyOf(one)))
        .map((one) => ({ ...one, metadata: { ...one.metadata, deletionTimestamp } })),
    ]
    const unlisted = this.pods.filter(({ metadata }) => this.unlisted.has(metadata.name))
    const listed = state.wholePods.filter(({ metadata }) => !this.unlisted.has(metadata.name))
    this.pods = [...unlisted, ...withHeld(this.pods, listed)]
    this.claims = withHeld(this.claims, state.claims)
    this.services = withHeld(this.services, state.services)
  }

  private calls() {
    const context: ActivityContext = {
      subject: { kind: 'FoundationDBCluster', uid: 'uid-db', namespace: 'default', name: 'db' },
      callID: 'call',
      attempt: 1,
      parts: {
        databases: this.database.provider,
        now: () => new Date(this.clock.seconds * 1000),
      } satisfies DatabaseParts,
      signal: new AbortController().signal,
      heartbeat: () => undefined,
      progress: undefined,
      log: console,
    }
    const commands = Object.entries(activities).filter(([name]) => name !== 'syncPods')
    const bound = commands.map(([name, run]) => {
      const call = run as (input: never, context: ActivityContext) => Promise<unknown>
      return [name, (input: never) => call(input, context)] as const
    })
    return {
      ...Object.fromEntries(bound),
      syncPods: ({ pods }: { readonly pods: readonly PodFiles[] }) => pods.map((one) => this.sync(one)),
    }
  }

  /** W2. Stands at the HTTP interface of the Pods' sidecars. */
  private sync({ pod, files }: PodFiles): PodFilesResult {
    const data = this.configMap?.['data'] as Texts | undefined
    const found = this.podViews().find(({ metadata }) => metadata.name === pod)
    if (data === undefined || found === undefined || this.unreachable.has(pod))
      return { pod, state: 'unreachable', message: 'no answer' }
    const directory = copyFiles(found, data)
    this.files.set(pod, directory)
    const isCurrent =
      files['fdb.cluster'] === sha256(data['cluster-file'] ?? '') &&
      files['fdbmonitor.conf'] === sha256(monitorText(found, directory))
    this.run()
    return { pod, state: isCurrent ? 'current' : 'outdated', message: '' }
  }

  private podViews(): readonly ObservedPod[] {
    return this.pods.map(podView)
  }

  /** The monitor of unified images reads the ConfigMap itself, and reports it. */
  private monitored(pod: JsonObject): JsonObject {
    const { metadata } = pod
    const view = podView(pod)
    if (!isUnified(view)) return pod
    const directory = copyFiles(view, (this.configMap?.['data'] ?? {}) as Texts)
    this.files.set(metadata.name, directory)
    const annotations = {
      ...metadata.annotations,
      'foundationdb.org/launcher-current-configuration': reportedConfiguration(view, directory),
    }
    return { ...pod, metadata: { ...metadata, annotations } }
  }

  private started(pod: JsonObject): JsonObject {
    if (pod['status'] !== undefined) return pod
    const count = ++this.created
    const address = `10.${this.place}.${Math.floor(count / 200)}.${(count % 200) + 1}`
    const { name } = pod.metadata
    this.files.set(name, copyFiles(podView(pod), (this.configMap?.['data'] ?? {}) as Texts))
    return startedPod(pod, {
      uid: `uid-${count}`,
      seconds: this.clock.seconds,
      node: this.nodeOf(name, count),
      address,
    })
  }

  /** W1. Starts the missing processes and ends those without a Pod. */
  private run(): void {
    const { processes } = this.database
    const others = processes.filter(({ place }) => place !== this.place)
    const own = this.podViews().flatMap((pod) => {
      const directory = this.files.get(pod.metadata.name)
      const isOver = isTerminating(pod) || hasEnded(pod)
      const isStopped = isOver || this.stopped.has(processGroupOf(pod) ?? '')
      if (directory === undefined || isStopped) return []
      return processesOf(pod, directory).map((process, at) => {
        const running = processes.filter((one) => one.place === this.place && one.host === process.host)[at]
        return running ?? { ...process, place: this.place, started: this.clock.seconds }
      })
    })
    this.database.processes = [...others, ...own]
  }
}

function keyOf({ kind, metadata }: { readonly kind: string; readonly metadata: { readonly name: string } }): string {
  return `${kind} ${metadata.name}`
}
