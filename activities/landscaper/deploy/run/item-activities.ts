// The activities of one item: each joins the attempt that sendItems started in this process, or makes attempts until the item has ended. See
// run-item.ts.

import type { LandscaperDeps } from '../../deps.ts'
import type { Deployer, ItemAct } from './deployer.ts'
import { type ItemCall, type ItemInput, type ItemResult, runItem } from './run-item.ts'
import type { By, Subject } from '../../../../workflows/kit/index.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { versionOf } from '../../../kube/object-cache.ts'
import { storedAs } from '../../../kube/object-views.ts'
import { Context } from '@temporalio/activity'

export const itemActivities = (deps: LandscaperDeps, deployers: readonly Deployer[], sending: FirstAttempts) => {
  const run = (input: ItemInput, act: ItemAct): Promise<ItemResult> =>
    withHeartbeat((signal, attempt) => joinOrRun(deps, deployers, sending, { input, act, signal, attempt }))
  return {
    /** Deploys an item and checks it once. @throws retryable: `DeployFailed`, failures of the API server and the journal. */
    applyItem: (input: ItemInput) => run(input, 'install'),
    /** Checks a deployed item. @throws retryable: `NotReady`, and as applyItem. */
    awaitItem: (input: ItemInput) => run(input, 'check'),
    /** Uninstalls an item, one step per call. @throws retryable: `NotGone`, and as applyItem. */
    uninstallItem: (input: ItemInput) => run(input, 'uninstall'),
  }
}

/** Joins the attempt of this process, if it exists, or makes one. @throws ApplicationFailure, see itemActivities. */
export async function joinOrRun(
  deps: LandscaperDeps,
  deployers: readonly Deployer[],
  sending: FirstAttempts,
  call: ItemCall,
): Promise<ItemResult> {
  const attempt = sending.take(attemptKey(call.input, call.act))
  return attempt === undefined ? await runItem(deps, deployers, call) : await resultOf(attempt, call.signal)
}

// Makes the first attempt of items that work on other clusters, many in one call: most end, or turn out not to be ready, within milliseconds. An item
// that takes longer, or fails, continues in its own activity (item-activities.ts), so that it delays no sibling.
//
//   F1. The call ends when all attempts have ended, or after LONGEST_MS, because the run receives no signals meanwhile.
//   F2. Attempts that have not ended continue in this process until their activities join them (item-activities.ts). So do failures: Temporal retries
//       at the time that the failure requests, and shows the failure.

export interface SentItem {
  readonly uid: string
  /** Its name in the Execution's spec, for the call's summary. */
  readonly item?: string
  readonly name: string
  /** The newest version that the run knows. */
  readonly version: string
  readonly uninstalls: boolean
}

export interface SendInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly items: readonly SentItem[]
  /** See ItemInput. */
  readonly isHosted?: boolean
}

export interface SendResult {
  /** The results of the attempts that ended, by uid. */
  readonly sent: readonly { readonly uid: string; readonly result: ItemResult }[]
}

// The run processes no signals during the call.
const MAX_CALL_MS = 1500
// A level may have hundreds of items, and each holds connections to its target.
const MAX_PARALLEL = 20

export const sendActivities = (deps: LandscaperDeps, deployers: readonly Deployer[], sending: FirstAttempts) => ({
  /**
   * Makes the first attempts. Items in `sent` have ended or wait for a check (`isWaiting`); the others continue. Never fails: the item's activity
   * reports its failure.
   */
  async sendItems(input: SendInput): Promise<SendResult> {
    const { by, subject, jobID, items, isHosted = false } = input
    const { namespace } = subject
    const queue = items.map((item) => {
      const { uid, name } = item
      return { item, input: { by, jobID, uid, namespace, name, isHosted }, act: stepOf(item) }
    })
    const ended = new Map<string, ItemResult>()
    const left = new Set<string>()
    const over = new AbortController()
    const isOver = () => over.signal.aborted
    const work = async () => {
      for (let next = queue.shift(); next !== undefined && !isOver(); next = queue.shift()) {
        const { item, input, act } = next
        const key = attemptKey(input, act)
        const object = cachedItem(deps, item)
        const call = (signal: AbortSignal) => runItem(deps, deployers, { input, act, signal, attempt: 1, object })
        left.add(key)
        // The activity that joins the attempt gets the failure (F2).
        const result = await sending.begin(key, call).end.catch(() => undefined)
        if (result === undefined || isOver()) continue
        ended.set(item.uid, result)
        left.delete(key)
        sending.take(key)
      }
    }
    const all = Promise.all(Array.from({ length: Math.min(MAX_PARALLEL, items.length) }, work))
    const late = sleep(MAX_CALL_MS, undefined, { ref: false })
    await Promise.race([all, late])
    over.abort()
    for (const key of left) sending.leave(key)
    return { sent: [...ended].map(([uid, result]) => ({ uid, result })) }
  },
})

function stepOf({ uninstalls }: SentItem): ItemAct {
  return uninstalls ? 'uninstall' : 'install'
}

/** The item from this process's cache, unless the run knows a newer version: the first status write is fenced. */
function cachedItem({ objects }: LandscaperDeps, { uid, version }: SentItem): DeployItem | undefined {
  const object = objects.get(uid)
  return object !== undefined && versionOf(object) >= Number(version) ? storedAs(deployItemKind, object) : undefined
}

// First attempts of items that run in this process. An attempt that takes longer than its call continues, and the item's next activity joins it
// instead of repeating it. On another worker the activity repeats the attempt; attempts are idempotent.

// Longer than Temporal needs to schedule an activity on a worker with free slots.
const JOIN_TIMEOUT_MS = 15_000

/** One attempt; `end` rejects like the attempt. */
export interface Attempt {
  readonly end: Promise<ItemResult>
  readonly abort: () => void
}

export class FirstAttempts {
  readonly #tries = new Map<string, Attempt>()
  readonly #joinedWithinMs: number

  /** @param joinedWithinMs an attempt that no activity joins within this time is aborted. */
  constructor(joinedWithinMs = JOIN_TIMEOUT_MS) {
    this.#joinedWithinMs = joinedWithinMs
  }

  /** The item's attempt in this process; starts one if none exists. */
  begin(key: string, work: (signal: AbortSignal) => Promise<ItemResult>): Attempt {
    const known = this.#tries.get(key)
    if (known !== undefined) return known
    const ending = new AbortController()
    const attempt: Attempt = { end: work(ending.signal), abort: () => ending.abort() }
    this.#tries.set(key, attempt)
    return attempt
  }

  /** Stops waiting for the attempt; its result stays available for `take`. */
  leave(key: string): void {
    const left = this.#tries.get(key)
    // The joining activity handles the rejection.
    left?.end.catch(() => undefined)
    setTimeout(() => {
      if (this.#tries.get(key) !== left) return
      this.#tries.delete(key)
      left?.abort()
    }, this.#joinedWithinMs).unref()
  }

  /** Removes and returns the item's attempt; undefined if none exists. */
  take(key: string): Attempt | undefined {
    const taken = this.#tries.get(key)
    this.#tries.delete(key)
    return taken
  }
}

/** The result of a joined attempt. The signal aborts the attempt. */
export async function resultOf({ end, abort }: Attempt, signal: AbortSignal): Promise<ItemResult> {
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await end
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Identifies one attempt of one item in one job. */
export function attemptKey({ uid, jobID }: Pick<ItemInput, 'uid' | 'jobID'>, act: ItemAct): string {
  return `${act}/${uid}/${jobID}`
}

// Sends heartbeats during long activities, so that Temporal reschedules the activity of a dead worker within seconds.

// Well below the heartbeat timeout of workflows/landscaper/deploy-item/jobs.ts; the SDK throttles heartbeats.
const HEARTBEAT_MS = 1000

/** Runs `work` with heartbeats. Its signal is aborted when the run cancels the activity and when the worker stops. */
export async function withHeartbeat<T>(work: (signal: AbortSignal, attempt: number) => Promise<T>): Promise<T> {
  const { heartbeat, cancellationSignal, info } = activity()
  const timer = setInterval(heartbeat, HEARTBEAT_MS)
  try {
    return await work(cancellationSignal, info.attempt)
  } finally {
    clearInterval(timer)
  }
}

function activity() {
  const context = Context.current()
  return {
    heartbeat: () => context.heartbeat(),
    cancellationSignal: context.cancellationSignal,
    info: context.info,
  }
}
