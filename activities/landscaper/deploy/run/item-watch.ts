// Ends a call to a deployer from outside: when the item's time is up, and when the item is no longer this job's to do. A deployer that went on
// after an interrupt would write against the job that comes next. Source: spec/landscaper.md 2.9 "Timeout", 2.11.
//
//   H1. Who sends to the target has seen not long ago that the item is his: a process that was stopped looks before its next write there.
//   H2. Nothing is sent before the item says that its job has begun.

import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { LandscaperDeps } from '../../deps.ts'
import type { Method, RequestOptions } from '../../../kube/client.ts'
import { KubeError } from '../../../kube/errors.ts'
import { readObject } from '../../../kube/read-family.ts'
import { targetView } from '../../../kube/views.ts'
import { isIdle } from '../../../../workflows/kit/index.ts'
import { skipReason } from '../../deploy-item-view.ts'
import { isStarting, type ItemJob, remainingMs, timeLimitMs } from './item-status.ts'
import type { TargetCluster } from '../target/target-cluster.ts'

const LOOK_EVERY_MS = 1000
// A process that runs does not miss so many looks (H1).
const ASLEEP_MS = 5 * LOOK_EVERY_MS
// An item whose time is up gets one last look, so that it does not fail although all is well.
const LAST_LOOK_MS = 10_000
// Timers take no more.
const LONGEST_TIMER_MS = 2 ** 31 - 1

export interface ItemWatch {
  /** Aborted by the caller's own signal, too. */
  readonly signal: AbortSignal
  /** Why the watch has ended the call; undefined when it has not. */
  readonly reason: 'overdue' | 'lost' | undefined
  /** The cluster with writes that look first where this process may have been stopped (H1). They throw as the look does, or when it ends the call. */
  guard(target: TargetCluster): TargetCluster
  stop(): void
}

/**
 * Watches until `stop`.
 *
 * @param claim makes the item say that its job has begun; false: it is no longer this job's to do. Asked before the first write (H2).
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
  const timer = timeMs === undefined ? undefined : setTimeout(() => end('overdue'), Math.min(timeMs, LONGEST_TIMER_MS))
  const looks = setInterval(() => void look().catch(missed), LOOK_EVERY_MS)
  let lookedAt = Date.now()
  let asked: Promise<void> | undefined
  let claimed: Promise<boolean> | undefined

  async function look(): Promise<void> {
    const { namespace, name } = job.object.metadata
    const at = Date.now()
    const now = await readObject(deps, deployItemKind, namespace, name)
    if (!isOurs(now, job)) end('lost')
    lookedAt = at
  }

  // Not to know is no reason to stop: the write of the status is fenced.
  function missed(error: unknown): void {
    if (!(error instanceof KubeError)) end('lost')
  }

  async function confirm(): Promise<void> {
    if (Date.now() - lookedAt < ASLEEP_MS) return
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
    guard: (target) => guarded(target, mayWrite),
    stop() {
      clearTimeout(timer)
      clearInterval(looks)
    },
  }
}

function guarded(target: TargetCluster, mayWrite: () => Promise<void>): TargetCluster {
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
  return remaining === undefined ? undefined : Math.max(remaining, LAST_LOOK_MS)
}

/**
 * Whether the item has this job unfinished; where the first write begins the job: whether the item still has the previous job, finished, and no user
 * has skipped the item. A user may annotate the item just before the job, and the pass may have read the item before that; the next pass skips it.
 */
export function isOurs(
  object: DeployItem | undefined,
  { object: { metadata }, jobID, begins }: Pick<ItemJob, 'object' | 'jobID' | 'begins'>,
): boolean {
  if (object === undefined || object.metadata.uid !== metadata.uid) return false
  const status = targetView(object)
  if (status.jobID === jobID) return status.jobIDFinished !== jobID
  if (begins === undefined || status.jobID !== begins.before || !isIdle(status)) return false
  return status.deleting || skipReason(object) === undefined
}
