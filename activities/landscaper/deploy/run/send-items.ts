// The first try of a group's items that work on other clusters, many in one call: most end in it, or are seen not to be ready, within milliseconds.
// What takes longer, or fails, goes on as an activity of its own (item-activities.ts), so that it delays no sibling.
//
//   F1. The call ends when all tries have ended, when another item of the group is to be deployed, or after LONGEST_MS. Most wakes that come
//       meanwhile bring no item: the Execution says that it goes on.
//   F2. What has not ended then goes on in this process until its activity joins it (sending.ts). A failure is left for it, too: Temporal comes
//       again at the time that the failure names, and shows it.

import type { By, Subject } from '../../../../workflows/kit/index.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { LandscaperDeps } from '../../deps.ts'
import { versionOf } from '../../../kube/object-cache.ts'
import { storedAs } from '../../../kube/stored.ts'
import type { Deployer, ItemAct } from './deployer.ts'
import { isOurs } from './item-watch.ts'
import { listGroupObjects } from './observe.ts'
import { type ItemResult, runItem } from './run-item.ts'
import { keyOf, type Sending } from './sending.ts'

export interface SentItem {
  readonly uid: string
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
  /** uids of all items that the run knows, those of `items` among them. */
  readonly known: readonly string[]
}

export interface SendResult {
  /** What has come of the tries that ended, by uid. */
  readonly sent: readonly { readonly uid: string; readonly result: ItemResult }[]
  /** The run was woken meanwhile. */
  readonly woken: boolean
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
    const { by, subject, jobID, items } = input
    const { namespace } = subject
    const queue = items.map((item) => {
      const { uid, name } = item
      return { item, input: { by, jobID, uid, namespace, name }, act: actOf(item) }
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
    const woken = await untilTried(deps, input, all)
    over.abort()
    for (const key of left) sending.leave(key)
    return { sent: [...ended].map(([uid, result]) => ({ uid, result })), woken }
  },
})

/** F1. @returns whether the run was woken meanwhile. */
async function untilTried(deps: LandscaperDeps, input: SendInput, all: Promise<unknown>): Promise<boolean> {
  const { lingering } = deps
  const { workflowID } = input.by
  const end = performance.now() + LONGEST_MS
  let woken = false
  for (let isNews = lingering.isSignalled(workflowID); !isNews || !(await hasNewItem(deps, input)); isNews = true) {
    const leftMs = end - performance.now()
    if (leftMs <= 0 || !(await lingering.beside(workflowID, all, leftMs))) break
    woken = true
  }
  return woken
}

/** Whether an item has got the job that the run does not know. */
async function hasNewItem(deps: LandscaperDeps, { by, subject, jobID, known }: SendInput): Promise<boolean> {
  if (subject.kind !== 'Execution') return false
  try {
    const items = await listGroupObjects(deps, { by, subject }, 0)
    return items.some((item) => isOurs(item, { object: item, jobID }) && !known.includes(item.metadata.uid))
  } catch {
    // The next pass reads the same, and says what it meets.
    return true
  }
}

function actOf({ uninstalls }: SentItem): ItemAct {
  return uninstalls ? 'uninstall' : 'install'
}

/** The item as this process knows it, when the run has seen no newer state: the status write that comes first is fenced. */
function seen({ objects }: LandscaperDeps, { uid, version }: SentItem): DeployItem | undefined {
  const object = objects.get(uid)
  return object !== undefined && versionOf(object) >= Number(version) ? storedAs(deployItemKind, object) : undefined
}
