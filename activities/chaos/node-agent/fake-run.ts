// A simulated process: its injector succeeds at once, and ends with code 0 when it is terminated or its deadline
// passes.

import type { EndReason, Ending, Run } from '../../../workflows/chaos/node-agent/chaos-pod.ts'
import type { PodRun } from './pod-keeper.ts'
import type { AgentPod } from './read-pod.ts'

export class FakeRun implements PodRun {
  private run: Run = { state: 'absent' }
  private endsMs: number | undefined

  private readonly now: () => number

  /** @param pod a running pod of a previous agent continues. */
  constructor(pod: AgentPod, now: () => number) {
    this.now = now
    if (pod.phase === 'Running') this.begin(pod, Date.parse(pod.status.startTime ?? '') || now())
  }

  get lookEveryMs(): number | undefined {
    return this.run.state === 'running' && this.endsMs !== undefined ? Math.max(0, this.endsMs - this.now()) : undefined
  }

  look(nowMs: number): Promise<Run> {
    if (this.endsMs !== undefined && this.endsMs <= nowMs) this.end(undefined, this.endsMs)
    return Promise.resolve(this.run)
  }

  start(pod: AgentPod, nowMs: number): Promise<void> {
    this.begin(pod, nowMs)
    return Promise.resolve()
  }

  terminate(why: EndReason, graceMs: number, nowMs: number): Promise<void> {
    this.end({ why, sinceMs: nowMs, graceMs, isKilled: false }, nowMs)
    return Promise.resolve()
  }

  kill(nowMs: number): Promise<void> {
    this.end(undefined, nowMs)
    return Promise.resolve()
  }

  sweep(): Promise<void> {
    return Promise.resolve()
  }

  private begin({ container }: AgentPod, nowMs: number): void {
    this.run = { state: 'running', acceptedMs: nowMs, startedMs: nowMs, isReady: true, ending: undefined }
    const deadline = Date.parse(container.args[container.args.indexOf('--deadline') + 1] ?? '')
    this.endsMs = container.args.includes('--deadline') && !Number.isNaN(deadline) ? deadline : undefined
  }

  private end(ending: Ending | undefined, finishedMs: number): void {
    if (this.run.state !== 'running') return
    const { acceptedMs, startedMs } = this.run
    this.run = { state: 'ended', acceptedMs, startedMs, finishedMs, exit: { how: 'exited', code: 0 }, ending }
  }
}
