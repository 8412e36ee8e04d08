// A simulated pod: its containers run at once, and end with code 0 when the pod is terminated or its time has passed.

import type { ContainerState } from '../../activities/pods.ts'
import type { AgentPod } from './agent-pod.ts'
import type { ContainerFacts, ContainerRun, PodFacts } from './decide.ts'
import type { PodRun } from './pod-keeper.ts'

export class PlayedPod implements PodRun {
  readonly waiting = {}
  private readonly pod: AgentPod
  private readonly endsMs: number | undefined
  private readonly now: () => number
  private acceptedMs: number | undefined
  private endedMs: number | undefined

  /** @param endsMs when the containers end; undefined: with the pod. A running pod of a previous agent continues. */
  constructor(pod: AgentPod, endsMs: number | undefined, now: () => number) {
    this.pod = pod
    this.endsMs = endsMs
    this.now = now
    if (pod.phase === 'Running') this.acceptedMs = Date.parse(pod.status.startTime ?? '') || now()
  }

  get lookEveryMs(): number | undefined {
    if (this.acceptedMs === undefined || this.endedMs !== undefined || this.endsMs === undefined) return undefined
    return Math.max(0, this.endsMs - this.now())
  }

  look(nowMs: number): Promise<PodFacts> {
    if (this.acceptedMs !== undefined && this.endsMs !== undefined && this.endsMs <= nowMs) this.endedMs ??= this.endsMs
    const { acceptedMs } = this
    if (acceptedMs === undefined) return Promise.resolve({ acceptedMs, ending: undefined, containers: {} })
    const of = (run: ContainerRun): ContainerFacts => ({ run, restarts: 0, crashes: 0 })
    const ended = (finishedMs: number) =>
      of({ state: 'ended', startedMs: acceptedMs, finishedMs, exit: { how: 'exited', code: 0 } })
    const running: ContainerRun = {
      state: 'running',
      startedMs: acceptedMs,
      isStarted: true,
      isReady: true,
      isUnhealthy: false,
    }
    const init = this.pod.init.map(({ name }) => [name, ended(acceptedMs)] as const)
    const main = this.pod.containers.map(
      ({ name }) => [name, this.endedMs === undefined ? of(running) : ended(this.endedMs)] as const,
    )
    return Promise.resolve({ acceptedMs, ending: undefined, containers: Object.fromEntries([...init, ...main]) })
  }

  update(): void {
    // The pod's status does not change the simulation.
  }

  accept(_: AgentPod, nowMs: number): Promise<void> {
    this.acceptedMs = nowMs
    return Promise.resolve()
  }

  start(): Promise<void> {
    // A container whose policy is to restart continues.
    this.endedMs = undefined
    return Promise.resolve()
  }

  terminate(_why: unknown, _graceMs: number, nowMs: number): Promise<void> {
    this.endedMs ??= nowMs
    return Promise.resolve()
  }

  kill(): Promise<void> {
    this.endedMs ??= this.now()
    return Promise.resolve()
  }

  sweep(): Promise<void> {
    return Promise.resolve()
  }

  states(): Promise<Readonly<Record<string, ContainerState>>> {
    return Promise.resolve({})
  }

  close(): void {
    // It follows nothing.
  }
}
