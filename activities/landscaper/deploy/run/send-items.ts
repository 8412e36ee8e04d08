// Makes the first attempt of items that work on other clusters, many in one call: most end, or turn out not to be ready, within milliseconds. An item
// that takes longer, or fails, continues in its own activity (item-activities.ts), so that it delays no sibling.
//
//   F1. The call ends when all attempts have ended, or after LONGEST_MS, because the run receives no signals meanwhile.
//   F2. Attempts that have not ended continue in this process until their activities join them (sending.ts). So do failures: Temporal retries
//       at the time that the failure requests, and shows the failure.

import type { By, Subject } from '../../../../workflows/kit/index.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LandscaperDeps } from '../../deps.ts'
import { versionOf } from '../../../kube/object-cache.ts'
import { storedAs } from '../../../kube/object-views.ts'
import type { Deployer, ItemAct } from './deployer.ts'
import { type ItemResult, runItem } from './run-item.ts'
import { keyOf, type Sending } from './sending.ts'

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
const LONGEST_MS = 1500
// A level may have hundreds of items, and each holds connections to its target.
const MOST_AT_ONCE = 20

export const sendActivities = (deps: LandscaperDeps, deployers: readonly Deployer[], sending: Sending) => ({
  /**
   * Makes the first attempts. Items in `sent` have ended or wait for a check (`isWaiting`); the others continue. Never fails: the item's activity
   * reports its failure.
   */
  async sendItems(input: SendInput): Promise<SendResult> {
    const { by, subject, jobID, items, isHosted = false } = input
    const { namespace } = subject
    const queue = items.map((item) => {
      const { uid, name } = item
      return { item, input: { by, jobID, uid, namespace, name, isHosted }, act: actOf(item) }
    })
    const ended = new Map<string, ItemResult>()
    const left = new Set<string>()
    const over = new AbortController()
    const isOver = () => over.signal.aborted
    const work = async () => {
      for (let next = queue.shift(); next !== undefined && !isOver(); next = queue.shift()) {
        const { item, input, act } = next
        const key = keyOf(input, act)
        const object = seen(deps, item)
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
    const all = Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, items.length) }, work))
    const late = sleep(LONGEST_MS, undefined, { ref: false })
    await Promise.race([all, late])
    over.abort()
    for (const key of left) sending.leave(key)
    return { sent: [...ended].map(([uid, result]) => ({ uid, result })) }
  },
})

function actOf({ uninstalls }: SentItem): ItemAct {
  return uninstalls ? 'uninstall' : 'install'
}

/** The item from this process's cache, unless the run knows a newer version: the first status write is fenced. */
function seen({ objects }: LandscaperDeps, { uid, version }: SentItem): DeployItem | undefined {
  const object = objects.get(uid)
  return object !== undefined && versionOf(object) >= Number(version) ? storedAs(deployItemKind, object) : undefined
}
