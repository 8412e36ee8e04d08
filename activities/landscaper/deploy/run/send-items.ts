// The first try of items that work on other clusters, many in one call: most end in it, or are seen not to be ready, within milliseconds.
// What takes longer, or fails, goes on as an activity of its own (item-activities.ts), so that it delays no sibling.
//
//   F1. The call ends when all tries have ended, or after LONGEST_MS: the run hears of nothing else meanwhile.
//   F2. What has not ended then goes on in this process until its activity joins it (sending.ts). A failure is left for it, too: Temporal comes
//       again at the time that the failure names, and shows it.

import type { By, Subject } from '../../../../workflows/kit/index.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LandscaperDeps } from '../../deps.ts'
import { versionOf } from '../../../kube/object-cache.ts'
import { storedAs } from '../../../kube/stored.ts'
import type { Deployer, ItemAct } from './deployer.ts'
import { type ItemResult, runItem } from './run-item.ts'
import { keyOf, type Sending } from './sending.ts'

export interface SentItem {
  readonly uid: string
  /** Its name in the Execution's spec, for people who read the call's summary. */
  readonly item?: string
  readonly name: string
  /** The newest version that the run has seen. */
  readonly version: string
  readonly uninstalls: boolean
}

export interface SendInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly items: readonly SentItem[]
  /** As in ItemInput. */
  readonly isHosted?: boolean
}

export interface SendResult {
  /** What has come of the tries that ended, by uid. */
  readonly sent: readonly { readonly uid: string; readonly result: ItemResult }[]
}

// A run that waits in here hears of no signal of another process.
const LONGEST_MS = 1500
// One level may have hundreds; each holds connections to its target.
const MOST_AT_ONCE = 20

export const sendActivities = (deps: LandscaperDeps, deployers: readonly Deployer[], sending: Sending) => ({
  /**
   * Tries items for the first time: those of `sent` have ended in it, or wait to be looked at (`isWaiting`); the others go on. Never fails:
   * what an item fails of is its activity's to say.
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
        // A failure is kept for the activity that joins the try (F2).
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

/** The item as this process knows it, when the run has seen no newer state: the status write that comes first is fenced. */
function seen({ objects }: LandscaperDeps, { uid, version }: SentItem): DeployItem | undefined {
  const object = objects.get(uid)
  return object !== undefined && versionOf(object) >= Number(version) ? storedAs(deployItemKind, object) : undefined
}
