// Reconciles one pod: observes the pod and its processes, decides (decide.ts), acts, and reports to the API server, until
// both are gone.
//
// K1. Signals to processes never wait for the API server. Reports follow when it is available again.
// K2. A decision about a pod is never applied to a later pod with the same name.
// K3. The agent reports nothing for a pod that it knows only from disk, because the pod may have changed on the server.
// K4. Failed actions are retried with a growing back-off, without a limit.

import type { KubeClient, KubeObject } from '../../activities/kube/client.ts'
import { isNotFound, KubeError } from '../../activities/kube/errors.ts'
import type { ContainerState, OpenPods, PodLog } from '../../activities/pods.ts'
import { type AgentPod, readPod } from './agent-pod.ts'
import {
  type Action,
  type ContainerFacts,
  decide,
  type Decision,
  type EndReason,
  factsOf,
  type PodFacts,
  type Settings,
  soonest,
} from './decide.ts'
import { statusPatch } from './pod-status.ts'
import { textOf } from './processes.ts'

export interface KeeperDeps {
  readonly kube: Pick<KubeClient, 'request'>
  readonly run: PodRun
  readonly slots: Semaphore
  readonly hostIP: string
  readonly podIP: string
  readonly conditions: OpenPods['conditions']
  readonly settings: Settings
  readonly log: PodLog
  readonly now: () => number
  readonly random: () => number
}

const BACKOFF_MS = { first: 200, longest: 15_000 }
// The maximum delay of Node's timers.
const MAX_TIMER_MS = 2 ** 31 - 1
const MERGE_PATCH = 'application/merge-patch+json'

export class PodKeeper {
  private readonly deps: KeeperDeps
  private pod: AgentPod | undefined
  /** K3 */
  private isFromServer: boolean
  /** For messages, also after the deletion. */
  private readonly name: string
  private wake: () => void = () => undefined
  private isRequeued = false
  private readonly actionBackoff: Backoff
  private readonly reportBackoff: Backoff
  private isReporting = false

  /** @param from the source of the pod: the API server, or the record of a previous agent. */
  constructor(pod: AgentPod, from: 'server' | 'disk', deps: KeeperDeps) {
    this.pod = pod
    this.isFromServer = from === 'server'
    this.name = `${pod.namespace}/${pod.name}`
    this.deps = deps
    this.actionBackoff = new Backoff(deps)
    this.reportBackoff = new Backoff(deps)
  }

  /** Updates the pod, unless a newer version is known; undefined: it is deleted. */
  update(pod: AgentPod | undefined): void {
    if (this.pod === undefined || (pod !== undefined && pod.version < this.pod.version)) return
    this.pod = pod
    this.isFromServer = true
    if (pod !== undefined) this.deps.run.update(pod)
    this.requeue()
  }

  /** Wakes the loop after a change. */
  requeue(): void {
    this.isRequeued = true
    this.wake()
  }

  /** Runs until pod and process are gone, or the signal is aborted. Never rejects. */
  async keep(signal: AbortSignal): Promise<void> {
    const stop = () => this.requeue()
    signal.addEventListener('abort', stop)
    while (!signal.aborted) {
      this.isRequeued = false
      const againMs = await this.reconcile().catch((error: unknown) => this.failed(error))
      if (againMs === 'done') break
      await this.wait(againMs)
    }
    signal.removeEventListener('abort', stop)
  }

  /**
   * Ends the processes, as when a node restarts: the next agent starts them again if the pod's restart policy permits it.
   * Resolves when they have ended.
   */
  async end(): Promise<void> {
    const { run, now, log } = this.deps
    for (let terminatedMs: number | undefined; ;) {
      const { containers } = await run.look(now())
      const isIn = (state: string) => Object.keys(containers).filter((name) => containers[name]?.run.state === state)
      const running = isIn('running')
      if (running.length === 0 && isIn('starting').length === 0) return
      if (running.length > 0 && terminatedMs === undefined) {
        terminatedMs = now()
        const [graceMs, sinceMs] = [this.pod?.graceMs ?? 0, terminatedMs]
        await Promise.all(running.map(async (name) => await run.terminate('agent', graceMs, sinceMs, name)))
      } else if (terminatedMs !== undefined && now() - terminatedMs > (this.pod?.graceMs ?? 0)) {
        log.warn({ pod: this.name }, 'killed the processes, because the node agent ends')
        await run.kill()
      }
      await this.wait(run.lookEveryMs)
    }
  }

  private async reconcile(): Promise<number | undefined | 'done'> {
    const { run, now, settings } = this.deps
    const facts = await run.look(now())
    const decision = decide(this.pod, facts, now(), settings)
    const isDue = decision.act.length > 0 && this.actionBackoff.isDue()
    const failure = isDue ? await this.actAll(decision.act, facts) : undefined
    if (isDue && failure === undefined) {
      this.actionBackoff.succeeded()
      if (decision.act.some((act) => act.do === 'sweep')) return 'done'
      // The next look shows the result, so one report has all of it.
      this.isRequeued = true
      return undefined
    }
    if (failure !== undefined) this.failed(failure.error)
    if (this.pod !== undefined && this.isFromServer && !this.isReporting && this.reportBackoff.isDue())
      await this.startReport(this.pod, facts, decision)
    return soonest([decision.againMs, run.lookEveryMs, this.actionBackoff.leftMs(), this.reportBackoff.leftMs()])
  }

  /** Starts of containers are independent of each other. Returns the first error. */
  private async actAll(actions: readonly Action[], facts: PodFacts): Promise<{ readonly error: unknown } | undefined> {
    let failure: { readonly error: unknown } | undefined
    for (const action of actions)
      await this.act(action, facts).catch((error: unknown) => {
        failure ??= { error }
      })
    return failure
  }

  private async act(act: Action, facts: PodFacts): Promise<void> {
    const { run, now, log } = this.deps
    const pod = this.name
    switch (act.do) {
      case 'accept':
        if (this.pod !== undefined) await run.accept(this.pod, now())
        break
      case 'start':
        log.info({ pod, container: act.container }, 'starting a container')
        await run.start(act.container, factsOf(facts, { name: act.container }))
        break
      case 'terminate':
        log.info({ pod, container: act.container, why: act.why, graceMs: act.graceMs }, 'ending the processes')
        await run.terminate(act.why, act.graceMs, now(), act.container)
        break
      case 'kill':
        log.warn({ pod, container: act.container }, 'killing the processes, because their grace period has passed')
        await run.kill(act.container)
        break
      case 'sweep':
        await run.sweep(facts)
    }
  }

  private failed(error: unknown): number {
    const delayMs = this.actionBackoff.failed(error)
    this.deps.log.warn({ pod: this.name, error: textOf(error), delayMs }, 'could not act')
    return delayMs
  }

  /** K1: starts the request, and wakes the loop after the response. */
  private async startReport(pod: AgentPod, facts: PodFacts, decision: Decision): Promise<void> {
    const { slots, log } = this.deps
    const releasing = decision.release ? () => this.release(pod) : undefined
    // A start takes milliseconds.
    const isStarting = Object.values(facts.containers).some(({ run }) => run.state === 'starting')
    const sending = decision.report && !isStarting ? await this.reporting(pod, facts, decision) : releasing
    if (sending === undefined) return
    this.isReporting = true
    void slots
      .run(sending)
      .then(
        (answer) => {
          this.reportBackoff.succeeded()
          this.update(answer)
        },
        (error: unknown) => {
          const delayMs = this.reportBackoff.failed(error)
          log.warn({ pod: this.name, error: textOf(error), delayMs }, 'could not update the pod; retrying')
        },
      )
      .finally(() => {
        this.isReporting = false
        this.requeue()
      })
  }

  /** Undefined: the status is up to date. */
  private async reporting(
    pod: AgentPod,
    facts: PodFacts,
    decision: Decision,
  ): Promise<(() => Promise<AgentPod | undefined>) | undefined> {
    const { kube, run, now, hostIP, podIP, conditions } = this.deps
    const containers = conditions === undefined ? {} : await run.states(facts)
    const status = statusPatch({
      pod,
      facts,
      decision,
      hostIP,
      podIP,
      waiting: run.waiting,
      nowMs: now(),
      ...(conditions !== undefined && {
        conditions: {
          types: conditions.types,
          of: (phase, isReady) => conditions.of({ pod: pod.object, phase, isReady, containers }),
        },
      }),
    })
    if (status === undefined) return undefined
    return async () => {
      // K2: the uid makes it a precondition.
      const body = { metadata: { uid: pod.uid }, status }
      return await this.answer(pod, kube.request('PATCH', `${pod.path}/status`, { body, contentType: MERGE_PATCH }))
    }
  }

  private async release(pod: AgentPod): Promise<AgentPod | undefined> {
    const { kube, log } = this.deps
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid: pod.uid } }
    log.info({ pod: this.name, phase: pod.phase }, 'removing the pod')
    return await this.answer(pod, kube.request('DELETE', pod.path, { body }))
  }

  /** The pod after a write; undefined if it is deleted. */
  private async answer(pod: AgentPod, writing: Promise<KubeObject>): Promise<AgentPod | undefined> {
    try {
      const object = await writing
      // A Status object has no uid: the pod was deleted at once.
      return object.metadata.uid === pod.uid ? readPod(object) : undefined
    } catch (error) {
      if (isNotFound(error)) return undefined
      // Another pod may have the same name now.
      if (!(error instanceof KubeError) || (error.status !== 409 && error.status !== 422)) throw error
      const found = await this.deps.kube.request<KubeObject>('GET', pod.path).catch((again: unknown) => {
        if (isNotFound(again)) return undefined
        throw again
      })
      if (found?.metadata.uid === pod.uid) throw error
      return undefined
    }
  }

  private async wait(ms: number | undefined): Promise<void> {
    if (this.isRequeued) return
    await new Promise<void>((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, Math.min(ms, MAX_TIMER_MS))
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.wake = () => undefined
  }
}

/** The back-off of one kind of request (K4). */
class Backoff {
  private readonly deps: Pick<KeeperDeps, 'now' | 'random'>
  private failures = 0
  private notBeforeMs = 0

  constructor(deps: Pick<KeeperDeps, 'now' | 'random'>) {
    this.deps = deps
  }

  isDue(): boolean {
    return this.notBeforeMs <= this.deps.now()
  }

  /** Undefined: no retry is pending. */
  leftMs(): number | undefined {
    return this.failures === 0 ? undefined : Math.max(0, this.notBeforeMs - this.deps.now())
  }

  succeeded(): void {
    this.failures = 0
    this.notBeforeMs = 0
  }

  /** Returns the delay of the next try. */
  failed(error: unknown): number {
    const { first, longest } = BACKOFF_MS
    const leastMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
    const delayMs = Math.max(leastMs, Math.min(longest, first * 2 ** this.failures) * (0.5 + this.deps.random() / 2))
    this.failures += 1
    this.notBeforeMs = this.deps.now() + delayMs
    return delayMs
  }
}

export class Semaphore {
  private free: number
  private readonly waiting: (() => void)[] = []

  constructor(count: number) {
    this.free = count
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.free > 0) this.free -= 1
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.free += 1
      else next()
    }
  }
}

/** The processes of a pod. */
export interface PodRun {
  /** The present state. Never starts or ends anything. */
  look(nowMs: number): Promise<PodFacts>
  /** The pod has changed. */
  update(pod: AgentPod): void
  /** Records the pod. */
  accept(pod: AgentPod, nowMs: number): Promise<void>
  /** Starts a container; repeated calls start one process. @throws for temporary failures. */
  start(container: string, facts: ContainerFacts): Promise<void>
  /** Sends SIGTERM to the processes of the pod, or of one container. */
  terminate(why: EndReason, graceMs: number, nowMs: number, container?: string): Promise<void>
  kill(container?: string): Promise<void>
  /** Cleans up after the processes and deletes the record. @throws if that fails. */
  sweep(facts: PodFacts): Promise<void>
  /** The containers for additional conditions. */
  states(facts: PodFacts): Promise<Readonly<Record<string, ContainerState>>>
  /** Stops to follow the pod; its processes continue. */
  close(): void
  /** Why a container cannot start yet, by name. */
  readonly waiting: Readonly<Record<string, { readonly reason: string; readonly message: string }>>
  /** The polling interval; undefined: no polling. */
  readonly lookEveryMs: number | undefined
}
