// Watches the declared pods of its nodes and runs a keeper for each, also for pods that only have a folder.
//
// A1. At its start, the agent continues the processes of a previous agent before it contacts the API server, so signals
//   are sent in time while the API server is unavailable.
// A2. A pod that is missing in the list is deleted; its processes are ended and cleaned up.
// A3. A late event about a deleted pod does not start it again: the agent remembers its keeper until the watch reports
//   the deletion.

import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'

import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { followObjects } from '../../activities/kube/follow-objects.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import type { OpenPods, PodLog } from '../../activities/pods.ts'
import { podAddress } from './addresses.ts'
import { type AgentPod, PODS, readPod } from './agent-pod.ts'
import { Claims } from './claims.ts'
import type { Namespaces } from './container-root.ts'
import { lockFolder } from './folder-lock.ts'
import { monotonicTime } from './monotonic-time.ts'
import { PlayedPod } from './played-pod.ts'
import { PodFolder } from './pod-folder.ts'
import { PodKeeper, type PodRun, Semaphore } from './pod-keeper.ts'
import { ProcessPod } from './pod-run.ts'
import { textOf } from './processes.ts'
import { WatchedObjects } from './watched-objects.ts'

/** The declared pods of one wing. */
export interface AgentWing {
  readonly name: string
  readonly labels: readonly string[]
  readonly pods: OpenPods
}

export interface AgentSettings {
  /** The nodes whose kubelet it replaces; undefined: all. */
  readonly nodes: ReadonlySet<string> | undefined
  readonly state: string
  /** Simulates all pods without starting processes. */
  readonly isPlayed: boolean
  readonly hostIP: string
  /** Whether it provides volumes for claims. */
  readonly providesVolumes: boolean
  readonly restartDelayMs: number
  /** Whether the agent stops processes when it ends. */
  readonly atEnd: 'leave' | 'stop'
}

export interface AgentDeps {
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  readonly settings: AgentSettings
  readonly wings: readonly AgentWing[]
  /** Undefined: this machine permits none. */
  readonly namespaces?: Namespaces | undefined
  readonly log: PodLog
}

// A tenth of the API server's default limit of concurrent requests.
const PARALLEL_WRITES = 20

interface TrackedPod {
  readonly keeper: PodKeeper
  readonly run: PodRun
  readonly done: Promise<void>
  readonly podIP: string
  /** The label selector of the watch that lists the pod. */
  readonly watch: string
  /** The watch has reported the deletion. */
  isDeleted: boolean
  isDone: boolean
}

interface PodSource {
  readonly from: 'server' | 'disk'
  /** The label selector of the watch that lists the pod. */
  readonly watch: string
  /** Of a pod from disk. */
  readonly podIP?: string
}

export class NodeAgent {
  private readonly deps: AgentDeps
  private readonly tracked = new Map<string, TrackedPod>()
  private readonly slots = new Semaphore(PARALLEL_WRITES)
  private readonly stopped = new AbortController()
  private readonly objects: WatchedObjects
  private readonly claims: Claims
  /** Deadlines and grace periods must also pass if the machine's clock is set back. */
  private readonly now = monotonicTime()

  constructor(deps: AgentDeps) {
    this.deps = deps
    this.objects = new WatchedObjects(deps.kube)
    const { kube, log, settings } = deps
    this.claims = new Claims({ kube, log, folder: join(settings.state, 'volumes') })
  }

  /** Runs until the signal. @throws if another agent has its folder. */
  async run(end: AbortSignal): Promise<void> {
    const { settings, wings, log } = this.deps
    const unlock = settings.isPlayed ? undefined : await this.openFolder()
    const providing = settings.providesVolumes ? this.claims.run(end) : undefined
    try {
      await Promise.all([...wings.map(async (wing) => await this.followWing(wing, end)), providing])
      log.info({ pods: this.tracked.size, atEnd: settings.atEnd }, 'ending')
    } finally {
      this.stopped.abort()
      const tracked = [...this.tracked.values()]
      await Promise.all(tracked.map(({ done }) => done))
      if (settings.atEnd === 'stop') await Promise.all(tracked.map(({ keeper }) => keeper.end()))
      for (const { run } of tracked) run.close()
      await unlock?.()
    }
  }

  /** A1 */
  private async openFolder(): Promise<() => Promise<void>> {
    const { settings, wings, log } = this.deps
    const pods = join(settings.state, 'pods')
    await mkdir(pods, { recursive: true, mode: 0o700 })
    const unlock = await lockFolder(settings.state)
    for (const uid of await readdir(pods)) {
      const folder = new PodFolder(join(pods, uid))
      try {
        const record = await folder.read()
        const pod = record && readPod(record.pod)
        const wing = wings.find(({ name }) => name === record?.wing)
        if (record === undefined || pod === undefined) await folder.remove()
        else if (wing !== undefined && this.isOurs(wing, pod))
          this.startKeeper(wing, pod, { from: 'disk', watch: selectorFor(wing, pod), podIP: record.podIP })
        else log.warn({ pod: `${pod.namespace}/${pod.name}`, node: pod.nodeName, wing: record.wing }, IGNORED_POD)
      } catch (error) {
        // A user has to inspect it.
        log.warn({ folder: folder.path, error: textOf(error) }, IGNORED_FOLDER)
      }
    }
    if (this.tracked.size > 0) log.info({ pods: this.tracked.size }, 'took over the pods of the previous node agent')
    return unlock
  }

  /** One watch for each label, so that each pod is in one list. */
  private async followWing(wing: AgentWing, end: AbortSignal): Promise<void> {
    await Promise.all(wing.labels.map(async (label) => await this.follow(wing, selectorOf(wing, label), end)))
  }

  private async follow(wing: AgentWing, labelSelector: string, end: AbortSignal): Promise<void> {
    const { kube, settings, log } = this.deps
    const [node, ...more] = settings.nodes ?? []
    const fields = node !== undefined && more.length === 0 ? { fieldSelector: `spec.nodeName=${node}` } : {}
    const query = { labelSelector, ...fields }
    for await (const found of followObjects(kube, resourcePath(PODS, wing.pods.namespace), { query, signal: end })) {
      switch (found.type) {
        case 'listed':
          this.syncAll(wing, labelSelector, found.objects)
          break
        case 'event':
          if (found.eventType === 'DELETED') this.markDeleted(found.object.metadata.uid ?? '')
          else this.update(wing, labelSelector, found.object)
          break
        case 'interrupted':
          log.warn({ error: textOf(found.error), delayMs: found.delayMs }, 'the watch was interrupted')
      }
    }
  }

  /** A2 */
  private syncAll(wing: AgentWing, watch: string, objects: readonly KubeObject[]): void {
    const listedUids = new Set(objects.map(({ metadata }) => metadata.uid))
    for (const [uid, tracked] of this.tracked)
      if (tracked.watch === watch && !listedUids.has(uid)) this.markDeleted(uid)
    for (const object of objects) this.update(wing, watch, object)
  }

  private markDeleted(uid: string): void {
    const tracked = this.tracked.get(uid)
    if (tracked === undefined) return
    tracked.isDeleted = true
    if (tracked.isDone) this.tracked.delete(uid)
    else tracked.keeper.update(undefined)
  }

  private isOurs({ pods }: AgentWing, { namespace, nodeName }: AgentPod): boolean {
    const isNamespace = pods.namespace === undefined || pods.namespace === namespace
    return isNamespace && nodeName !== '' && this.deps.settings.nodes?.has(nodeName) !== false
  }

  private update(wing: AgentWing, watch: string, object: KubeObject): void {
    const pod = readPod(object)
    const tracked = this.tracked.get(pod.uid)
    if (tracked !== undefined) tracked.keeper.update(pod)
    else if (this.isOurs(wing, pod)) this.startKeeper(wing, pod, { from: 'server', watch })
  }

  private startKeeper(wing: AgentWing, pod: AgentPod, source: PodSource): void {
    const { kube, settings, log } = this.deps
    const { hostIP, restartDelayMs } = settings
    const { from, watch, podIP = this.addressOf(wing, pod) } = source
    const run = settings.isPlayed
      ? new PlayedPod(pod, wing.pods.playedUntil?.(pod.object), this.now)
      : this.processesOf(wing, pod, podIP, () => keeper.requeue())
    const keeper = new PodKeeper(pod, from, {
      kube,
      run,
      log,
      hostIP,
      podIP: wing.pods.reportedIP?.(podIP) ?? podIP,
      slots: this.slots,
      conditions: wing.pods.conditions,
      settings: { restartDelayMs },
      now: this.now,
      random: Math.random,
    })
    const done = keeper.keep(this.stopped.signal).then(() => {
      if (this.stopped.signal.aborted) return
      tracked.isDone = true
      run.close()
      if (tracked.isDeleted) this.tracked.delete(pod.uid)
    })
    const tracked: TrackedPod = { keeper, run, done, podIP, watch, isDeleted: false, isDone: false }
    this.tracked.set(pod.uid, tracked)
  }

  private addressOf({ pods }: AgentWing, { uid, object }: AgentPod): string {
    const { spec = {} } = object as { readonly spec?: { readonly hostNetwork?: boolean } }
    if (pods.address === 'host' || spec.hostNetwork === true) return this.deps.settings.hostIP
    return podAddress(uid, new Set([...this.tracked.values()].map(({ podIP }) => podIP)))
  }

  private processesOf(wing: AgentWing, pod: AgentPod, podIP: string, onChange: () => void): PodRun {
    const { kube, settings, namespaces } = this.deps
    return new ProcessPod(pod, {
      wing: wing.name,
      pods: wing.pods,
      kube,
      podIP,
      hostIP: settings.hostIP,
      objects: this.objects,
      namespaces,
      folder: new PodFolder(join(settings.state, 'pods', pod.uid)),
      claimFolder: async (namespace, claim) => await this.claims.folderOf(namespace, claim),
      onChange,
      now: this.now,
    })
  }
}

/** The selector of the pods whose first declared label is this one. */
function selectorOf({ labels }: AgentWing, label: string): string {
  return [label, ...labels.slice(0, labels.indexOf(label)).map((other) => `!${other}`)].join(',')
}

function selectorFor(wing: AgentWing, { object }: AgentPod): string {
  const { labels = {} } = object.metadata
  return selectorOf(wing, wing.labels.find((label) => Object.hasOwn(labels, label)) ?? '')
}

const IGNORED_POD = 'ignored a pod that this node agent does not run'
const IGNORED_FOLDER = 'ignored a folder that cannot be read'
