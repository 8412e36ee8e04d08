// Ends an attempt of a deployer when the item's time is up, or when the item has another job. Without it, a deployer could continue after an interrupt
// and write concurrently with the next job. Source: spec/landscaper.md 2.9 "Timeout", 2.11.
//
//   H1. Before each write to the target, the process has confirmed within the last seconds that the item has this job: a process that was suspended
//       confirms it again.
//   H2. The item's status has the job before the first write to the target.

import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { LandscaperDeps } from '../../deps.ts'
import type { Method, RequestOptions } from '../../../kube/client.ts'
import { KubeError } from '../../../kube/errors.ts'
import { readObject } from '../../../kube/read-family.ts'
import { targetView } from '../../../kube/object-views.ts'
import { isIdle } from '../../../../workflows/kit/index.ts'
import { skipReason } from '../../deploy-item-view.ts'
import { isStarting, type ItemJob, remainingMs, timeLimitMs } from './item-status.ts'
import type { TargetCluster } from '../target/target-cluster.ts'

const CHECK_INTERVAL_MS = 1000
// A running process does not miss so many checks (H1).
const SUSPENDED_MS = 5 * CHECK_INTERVAL_MS
// An item whose time is up gets a last attempt of this length, so that it does not fail although its objects are ready.
const LAST_ATTEMPT_MS = 10_000
// The maximum delay of timers.
const MAX_TIMER_MS = 2 ** 31 - 1

export interface ItemWatch {
  /** Also aborted by the caller's signal. */
  readonly signal: AbortSignal
  /** The reason why the watch ended the attempt; undefined if it did not. */
  readonly reason: 'overdue' | 'lost' | undefined
  /**
   * Wraps the cluster: writes first confirm the job if the process may have been suspended (H1). They throw the error of the confirmation, and when the
   * confirmation ends the attempt.
   */
  guard(target: TargetCluster): TargetCluster
  stop(): void
}

/**
 * Watches until `stop`.
 *
 * @param claim writes the job into the item's status; false if the item has another job. Called before the first write (H2).
 */
export function watchItem(
  deps: Pick<LandscaperDeps, 'kube'>,
  job: ItemJob,
  signal: AbortSignal,
  claim: () => Promise<boolean>,
): ItemWatch {
  const ended = new AbortController()
  let reason: ItemWatch['reason']
  const end = (why: NonNullable<typeof reason>) => {
    reason ??= why
    ended.abort()
  }
  const timeMs = timeLeftMs(job)
  const timer = timeMs === undefined ? undefined : setTimeout(() => end('overdue'), Math.min(timeMs, MAX_TIMER_MS))
  const looks = setInterval(() => void look().catch(missed), CHECK_INTERVAL_MS)
  let lookedAt = Date.now()
  let asked: Promise<void> | undefined
  let claimed: Promise<boolean> | undefined

  async function look(): Promise<void> {
    const { namespace, name } = job.object.metadata
    const at = Date.now()
    const now = await readObject(deps, deployItemKind, namespace, name)
    if (!hasJob(now, job)) end('lost')
    lookedAt = at
  }

  // A failed check does not end the attempt, because the status write is fenced.
  function missed(error: unknown): void {
    if (!(error instanceof KubeError)) end('lost')
  }

  async function confirm(): Promise<void> {
    if (Date.now() - lookedAt < SUSPENDED_MS) return
    asked ??= look().finally(() => (asked = undefined))
    await asked
    ended.signal.throwIfAborted()
  }

  async function mayWrite(): Promise<void> {
    await confirm()
    claimed ??= claim()
    if (!(await claimed)) end('lost')
    ended.signal.throwIfAborted()
  }

  return {
    signal: AbortSignal.any([signal, ended.signal]),
    get reason() {
      return reason
    },
    guard: (target) => guardedCluster(target, mayWrite),
    stop() {
      clearTimeout(timer)
      clearInterval(looks)
    },
  }
}

function guardedCluster(target: TargetCluster, mayWrite: () => Promise<void>): TargetCluster {
  return {
    kube: {
      connection: target.kube.connection,
      async request<T>(method: Method, path: string, options?: RequestOptions): Promise<T> {
        if (method !== 'GET') await mayWrite()
        return await target.kube.request<T>(method, path, options)
      },
      stream: (path, signal) => target.kube.stream(path, signal),
      close: () => target.kube.close(),
    },
    servedKind: (apiVersion, kind, signal) => target.servedKind(apiVersion, kind, signal),
    forgetKinds: (apiVersion) => target.forgetKinds(apiVersion),
  }
}

function timeLeftMs(job: ItemJob): number | undefined {
  if (isStarting(job)) return timeLimitMs(job.object)
  const remaining = remainingMs(job.object, job.now)
  return remaining === undefined ? undefined : Math.max(remaining, LAST_ATTEMPT_MS)
}

/** Whether the item exists and has this job unfinished, or still has the previous job if this one is about to start. */
export function hasJob(
  object: DeployItem | undefined,
  { object: { metadata }, jobID, begins }: Pick<ItemJob, 'object' | 'jobID' | 'begins'>,
): boolean {
  if (object === undefined || object.metadata.uid !== metadata.uid) return false
  const status = targetView(object)
  if (status.jobID === jobID) return status.jobIDFinished !== jobID
  if (begins === undefined || status.jobID !== begins.before || !isIdle(status)) return false
  return status.deleting || skipReason(object) === undefined
}
