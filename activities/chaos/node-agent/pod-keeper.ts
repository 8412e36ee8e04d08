// Keeps one pod: looks at it and at its process, decides (decide.ts), acts, and tells the API server. One at a time, as long as there is either.
//
//   K1. What the process needs waits for no answer of the API server: signals go out in time while it is away, and what happened is told when it is back.
//   K2. What was decided on a pod is written on that pod: never on a later one of its name.
//   K3. A pod that is known from disk only is told nothing: what stands on the server by now is not what was written down.
//   K4. What fails is tried again, ever later; nothing is given up.

import { decide, type Act, type Report } from '../../../workflows/chaos/node-agent/decide.ts'
import { type Place, statusPatch } from '../../../workflows/chaos/node-agent/pod-status.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { isNotFound, KubeError } from '../../kube/errors.ts'
import { type Log, textOf } from '../injector/log.ts'
import type { PodRun } from './pod-run.ts'
import { readPod, type SeenPod } from './read-pod.ts'
import type { Slots } from './slots.ts'

export interface KeeperDeps {
  readonly kube: Pick<KubeClient, 'request'>
  readonly run: PodRun
  readonly slots: Slots
  readonly hostIP: string
  readonly podIP: string
  readonly log: Log
  readonly now: () => number
  readonly random: () => number
}

const BACKOFF_MS = { first: 200, longest: 15_000 }
// What timers hold at the most.
const LONGEST_WAIT_MS = 2 ** 31 - 1
const MERGE_PATCH = 'application/merge-patch+json'

export class PodKeeper {
  private readonly deps: KeeperDeps
  private pod: SeenPod | undefined
  /** K3 */
  private isSeen: boolean
  /** For messages, also when the pod is gone. */
  private readonly name: string
  private wake: () => void = () => undefined
  private isNudged = false
  private readonly acting: Tries
  private readonly telling: Tries
  private isTelling = false

  /** @param from where the pod is known from: the server, or what an agent before has written down. */
  constructor(pod: SeenPod, from: 'server' | 'disk', deps: KeeperDeps) {
    this.pod = pod
    this.isSeen = from === 'server'
    this.name = `${pod.namespace}/${pod.name}`
    this.deps = deps
    this.acting = new Tries(deps)
    this.telling = new Tries(deps)
  }

  /** The pod as it is now, unless something newer was seen already; undefined: it is gone. */
  see(pod: SeenPod | undefined): void {
    if (this.pod === undefined || (pod !== undefined && pod.version < this.pod.version)) return
    this.pod = pod
    this.isSeen = true
    this.nudge()
  }

  /** Something has changed: look now. */
  nudge(): void {
    this.isNudged = true
    this.wake()
  }

  /** Until pod and process are gone, or the signal comes. Never rejects. */
  async keep(signal: AbortSignal): Promise<void> {
    const stop = () => this.nudge()
    signal.addEventListener('abort', stop)
    while (!signal.aborted) {
      this.isNudged = false
      const againMs = await this.turn().catch((error: unknown) => this.failed(error))
      if (againMs === 'done') break
      await this.rest(againMs)
    }
    signal.removeEventListener('abort', stop)
  }

  /** Ends the process, as for a pod that is to go. Resolves when it has ended. */
  async end(): Promise<void> {
    const { run, now, log } = this.deps
    for (let told: number | undefined; ;) {
      const found = await run.look(now())
      if (found.state !== 'running' && found.state !== 'starting') return
      if (found.state === 'running' && told === undefined) {
        told = now()
        await run.terminate('deleted', this.pod?.graceMs ?? 0, told)
      } else if (told !== undefined && now() - told > (this.pod?.graceMs ?? 0)) {
        log.warn('killed at the end of the agent', { pod: this.name })
        await run.kill(now())
      }
      await this.rest(run.lookEveryMs)
    }
  }

  private async turn(): Promise<number | undefined | 'done'> {
    const { run, now } = this.deps
    const found = await run.look(now())
    const decision = decide(this.pod, found, now())
    if (decision.act !== undefined && this.acting.isDue()) {
      await this.act(decision.act)
      this.acting.succeeded()
      if (decision.act.do === 'sweep') return 'done'
      this.isNudged = true
    }
    if (this.pod !== undefined && this.isSeen && !this.isTelling && this.telling.isDue())
      this.tell(this.pod, decision.report, decision.release)
    return soonest([decision.againMs, run.lookEveryMs, this.acting.leftMs(), this.telling.leftMs()])
  }

  private async act(act: Act): Promise<void> {
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
        log.warn('killing the injector: its grace is over', { pod: this.name })
        await run.kill(now())
        break
      case 'sweep':
        await run.sweep()
    }
  }

  private failed(error: unknown): number {
    const delayMs = this.acting.failed(error)
    this.deps.log.warn('could not act', { pod: this.name, error: textOf(error), delayMs })
    return delayMs
  }

  /** K1: begins to tell, and comes back to it when the answer is there. */
  private tell(pod: SeenPod, report: Report | undefined, release: boolean): void {
    const { slots, log } = this.deps
    const sending = report === undefined ? (release ? () => this.release(pod) : undefined) : this.reporting(pod, report)
    if (sending === undefined) return
    this.isTelling = true
    void slots
      .run(sending)
      .then(
        (answer) => {
          this.telling.succeeded()
          this.see(answer)
        },
        (error: unknown) => {
          const delayMs = this.telling.failed(error)
          log.warn('could not tell the API server', { pod: this.name, error: textOf(error), delayMs })
        },
      )
      .finally(() => {
        this.isTelling = false
        this.nudge()
      })
  }

  /** Undefined: the pod says it already. */
  private reporting(pod: SeenPod, report: Report): (() => Promise<SeenPod | undefined>) | undefined {
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

  private async release(pod: SeenPod): Promise<SeenPod | undefined> {
    const { kube, log } = this.deps
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid: pod.uid } }
    log.info('letting the pod go', { pod: this.name, phase: pod.phase })
    return await this.answer(pod, kube.request('DELETE', pod.path, { body }))
  }

  /** The pod after a write; undefined when it is gone. */
  private async answer(pod: SeenPod, writing: Promise<KubeObject>): Promise<SeenPod | undefined> {
    try {
      const object = await writing
      // A Status has no uid: the pod was removed at once.
      return object.metadata.uid === pod.uid ? readPod(object) : undefined
    } catch (error) {
      if (isNotFound(error)) return undefined
      // A pod of the same name may be there instead.
      if (!(error instanceof KubeError) || (error.status !== 409 && error.status !== 422)) throw error
      const found = await this.deps.kube.request<KubeObject>('GET', pod.path).catch((again: unknown) => {
        if (isNotFound(again)) return undefined
        throw again
      })
      if (found?.metadata.uid === pod.uid) throw error
      return undefined
    }
  }

  private async rest(ms: number | undefined): Promise<void> {
    if (this.isNudged) return
    await new Promise<void>((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, Math.min(ms, LONGEST_WAIT_MS))
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.wake = () => undefined
  }
}

/** When something may be tried again (K4). */
class Tries {
  private readonly deps: Pick<KeeperDeps, 'now' | 'random'>
  private failures = 0
  private notBeforeMs = 0

  constructor(deps: Pick<KeeperDeps, 'now' | 'random'>) {
    this.deps = deps
  }

  isDue(): boolean {
    return this.notBeforeMs <= this.deps.now()
  }

  /** Undefined: nothing is waited for. */
  leftMs(): number | undefined {
    return this.failures === 0 ? undefined : Math.max(0, this.notBeforeMs - this.deps.now())
  }

  succeeded(): void {
    this.failures = 0
    this.notBeforeMs = 0
  }

  /** After how long it may be tried again. */
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

/** As Kubernetes writes times: whole seconds of UTC. */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
