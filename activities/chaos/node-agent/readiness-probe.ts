// The readiness probe of a chaos pod, as the kubelet runs it: a file is looked for now and then.

import type { PodFolder } from './pod-folder.ts'
import { timeOf } from './pod-folder.ts'
import type { Probe } from './read-pod.ts'

const DEFAULT_PERIOD_MS = 1000

export class ReadinessProbe {
  readonly periodMs: number
  private readonly probe: Probe | undefined
  private readonly folder: Pick<PodFolder, 'inside'>
  private lookedMs: number | undefined
  private failures = 0
  private isReady: boolean

  constructor(probe: Probe | undefined, folder: Pick<PodFolder, 'inside'>) {
    this.probe = probe
    this.folder = folder
    this.periodMs = probe?.periodMs ?? DEFAULT_PERIOD_MS
    this.isReady = probe === undefined
  }

  /** Looks, if it is time. One success makes it ready, `failureThreshold` failures in a row make it not so. */
  async look(startedMs: number, nowMs: number): Promise<boolean> {
    const { probe } = this
    if (probe === undefined || nowMs - startedMs < probe.initialDelayMs) return this.isReady
    if (this.lookedMs !== undefined && nowMs - this.lookedMs < probe.periodMs) return this.isReady
    this.lookedMs = nowMs
    const isThere = (await timeOf(this.folder.inside(probe.file))) !== undefined
    this.failures = isThere ? 0 : this.failures + 1
    if (isThere) this.isReady = true
    else if (this.failures >= probe.failureThreshold) this.isReady = false
    return this.isReady
  }
}
