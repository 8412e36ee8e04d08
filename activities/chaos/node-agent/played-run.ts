// A pod of which it is only said that it runs: nothing is started. Its injector is one that succeeds at once, and cleans up well when it is told to, or
// when its own deadline comes.

import type { EndReason, Ending, Run } from '../../../workflows/chaos/node-agent/chaos-pod.ts'
import type { PodRun } from './pod-run.ts'
import type { SeenPod } from './read-pod.ts'

export class PlayedRun implements PodRun {
  private run: Run = { state: 'absent' }
  private endsMs: number | undefined

  private readonly now: () => number

  /** @param pod as another agent may have left it: a pod that runs goes on. */
  constructor(pod: SeenPod, now: () => number) {
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

  start(pod: SeenPod, nowMs: number): Promise<void> {
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

  private begin({ container }: SeenPod, nowMs: number): void {
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
