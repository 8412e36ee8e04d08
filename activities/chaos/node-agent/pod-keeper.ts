// Reconciles one pod: observes the pod and its process, decides (decide.ts), acts, and reports to the API server, until
// both are gone.
//
// K1. Signals to the process never wait for the API server. Reports follow when it is available again.
// K2. A decision about a pod is never applied to a later pod with the same name.
// K3. The agent reports nothing for a pod that it knows only from disk, because the pod may have changed on the server.
// K4. Failed actions are retried with a growing back-off, without a limit.

import { decide, type Action, type Report } from '../../../workflows/chaos/node-agent/decide.ts'
import { type Place, statusPatch } from '../../../workflows/chaos/node-agent/pod-status.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { isNotFound, KubeError } from '../../kube/errors.ts'
import { type Log, textOf } from '../injector/log.ts'
import { readPod, type AgentPod } from './read-pod.ts'
import type { EndReason, Run } from '../../../workflows/chaos/node-agent/chaos-pod.ts'

export interface KeeperDeps {
  readonly kube: Pick<KubeClient, 'request'>
  readonly run: PodRun
  readonly slots: Semaphore
  readonly hostIP: string
  readonly podIP: string
  readonly log: Log
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

  /** Ends the process as for a deleted pod. Resolves when it has ended. */
  async end(): Promise<void> {
    const { run, now, log } = this.deps
    for (let terminatedMs: number | undefined; ;) {
      const found = await run.look(now())
      if (found.state !== 'running' && found.state !== 'starting') return
      if (found.state === 'running' && terminatedMs === undefined) {
        terminatedMs = now()
        await run.terminate('deleted', this.pod?.graceMs ?? 0, terminatedMs)
      } else if (terminatedMs !== undefined && now() - terminatedMs > (this.pod?.graceMs ?? 0)) {
        log.warn('killed the injector, because the node agent ends', { pod: this.name })
        await run.kill(now())
      }
      await this.wait(run.lookEveryMs)
    }
  }

  private async reconcile(): Promise<number | undefined | 'done'> {
    const { run, now } = this.deps
    const found = await run.look(now())
    const decision = decide(this.pod, found, now())
    if (decision.act !== undefined && this.actionBackoff.isDue()) {
      await this.act(decision.act)
      this.actionBackoff.succeeded()
      if (decision.act.do === 'sweep') return 'done'
      this.isRequeued = true
    }
    if (this.pod !== undefined && this.isFromServer && !this.isReporting && this.reportBackoff.isDue())
      this.startReport(this.pod, decision.report, decision.release)
    return soonest([decision.againMs, run.lookEveryMs, this.actionBackoff.leftMs(), this.reportBackoff.leftMs()])
  }

  private async act(act: Action): Promise<void> {
    const { run, now, log } = this.deps
    switch (act.do) {
      case 'start':
        log.info('starting the injector', { pod: this.name })
        if (this.pod !== undefined) await run.start(this.pod, now())
        break
      case 'terminate':
        log.info('ending the injector', { pod: this.name, why: act.why, graceMs: act.graceMs })
        await run.terminate(act.why, act.graceMs, now())
        break
      case 'kill':
        log.warn('killing the injector, because its grace period has passed', { pod: this.name })
        await run.kill(now())
        break
      case 'sweep':
        await run.sweep()
    }
  }

  private failed(error: unknown): number {
    const delayMs = this.actionBackoff.failed(error)
    this.deps.log.warn('could not act', { pod: this.name, error: textOf(error), delayMs })
    return delayMs
  }

  /** K1: starts the request, and wakes the loop after the response. */
  private startReport(pod: AgentPod, report: Report | undefined, release: boolean): void {
    const { slots, log } = this.deps
    const releasing = release ? () => this.release(pod) : undefined
    const sending = report === undefined ? releasing : this.reporting(pod, report)
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
          log.warn('could not update the pod; retrying', { pod: this.name, error: textOf(error), delayMs })
        },
      )
      .finally(() => {
        this.isReporting = false
        this.requeue()
      })
  }

  /** Undefined: the status is up to date. */
  private reporting(pod: AgentPod, report: Report): (() => Promise<AgentPod | undefined>) | undefined {
    const { kube, now, hostIP, podIP } = this.deps
    const place: Place = { hostIP, podIP, image: pod.container.image, containerID: `pawl://${pod.uid}` }
    const status = statusPatch(pod.status, report, place, { nowMs: now(), timeOf: timeText })
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
    log.info('removing the pod', { pod: this.name, phase: pod.phase })
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

function soonest(delays: readonly (number | undefined)[]): number | undefined {
  const given = delays.filter((delay) => delay !== undefined)
  return given.length === 0 ? undefined : Math.min(...given)
}

/** A Kubernetes timestamp: whole seconds of UTC. */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
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

export interface PodRun {
  /** The present state. Never starts or ends anything. */
  look(nowMs: number): Promise<Run>
  /** Starts it; repeated calls start one process. @throws for temporary failures. */
  start(pod: AgentPod, nowMs: number): Promise<void>
  /** Signals it to terminate. */
  terminate(why: EndReason, graceMs: number, nowMs: number): Promise<void>
  kill(nowMs: number): Promise<void>
  /** Undoes its remaining changes and deletes its record. @throws if that fails. */
  sweep(): Promise<void>
  /** The polling interval; undefined: no polling. */
  readonly lookEveryMs: number | undefined
}
