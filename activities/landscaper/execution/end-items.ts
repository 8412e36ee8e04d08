// Ends the jobs of items from outside, and is the only module that does: on an interrupt, and when no deployer takes an item up.
// Source: spec/landscaper.md 2.10, 2.11, docs/architecture.md "Writes, fields, errors".
//
//   E1. An item ends in one status write: IDs, phase, error and time.
//   E2. What counts is the item as it is when it is written: one that has ended meanwhile keeps its end, one that has a job that
//       is neither this one nor what the pass observed is left alone, and a deployer that has taken the item up wins against the pickup timeout.
//   E3. An interrupt is taken off after the items, so that a crash in between repeats it: there is nothing left to end then.

import { nextError } from '../../../workflows/landscaper/contract.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { type DeployItem, deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { isTypeBuiltIn } from '../../../workflows/landscaper/deploy-item/served-types.ts'
import { nextConditions } from '../../../workflows/landscaper/job-conditions.ts'
import { type By, type ErrorReport, type Subject } from '../../../workflows/kit/index.ts'
import { dataOf } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { deployItemView, isTakenUp, itemNameOf, pickupMs, waitedForPickupMs } from '../deploy-item-view.ts'
import { targetView } from '../../kube/views.ts'
import { removeRequest } from '../../run/children.ts'
import { INTERRUPT } from '../requests.ts'
import { type Patch, writeAll } from '../../kube/write.ts'
import { type BatchResult, FIELD_MANAGER, type ItemsInput, type ItemWrite, send } from './item-batch.ts'
import { warnOfError } from '../deploy/run/item-write.ts'
import { readOwned } from '../../kube/read-family.ts'
import { itemsOf } from './observe.ts'
import { type ExecutionView, executionView } from './views.ts'

export interface ForgetInput {
  readonly by: By
  readonly subject: Subject
  /** That the Execution has: a request that comes with another one is meant for that. Undefined: none. */
  readonly jobID: string | undefined
  /** The version of the Execution that the pass observed. */
  readonly version: string
}

/** `request`: where it stands on the Execution itself, and not on what hosts it, the Execution as the pass observed it. */
export type InterruptInput = ItemsInput & { readonly request: Pick<ForgetInput, 'jobID' | 'version'> | undefined }

/** `target` is the Execution without the request; undefined when items are left to end, when it is gone or has another job, and without one. */
export type InterruptResult = BatchResult & { readonly target: ExecutionView | undefined }

export const endItemActivities = (deps: LandscaperDeps) => ({
  /** Ends the given items, triggered or not, of any type, and takes the interrupt off the Execution. Idempotent. @throws retryable failures. */
  async interruptExecution({ request, ...input }: InterruptInput): Promise<InterruptResult> {
    const ended = await endItems(deps, 'interruptExecution', input, () => INTERRUPTED)
    const isDone = ended.failures.length === 0 && ended.left?.length === 0
    if (!isDone || request === undefined) return { ...ended, target: undefined }
    return { ...ended, target: await takeInterruptOff(deps, { ...input, ...request }) }
  },

  /** Takes off an interrupt that was meant for an earlier job. @returns the Execution; undefined when it is gone or has another job. */
  async forgetInterrupt(input: ForgetInput): Promise<ExecutionView | undefined> {
    return await takeInterruptOff(deps, input)
  },

  /** Ends those of the given items that no deployer has taken up in time. Idempotent. @throws retryable failures. */
  async endUnclaimedItems(input: ItemsInput): Promise<BatchResult> {
    return await endItems(deps, 'endUnclaimedItems', input, (object) => unclaimed(deps, input.by, object))
  },
})

const INTERRUPTED: ErrorReport = {
  operation: 'InterruptOperation',
  reason: 'InterruptOperation',
  message: 'operation was interrupted',
  codes: [],
}

function unclaimed(deps: LandscaperDeps, by: By, object: DeployItem): ErrorReport | undefined {
  const remainingMs = pickupMs(object, by, deps)
  if (remainingMs === undefined || remainingMs > 0) return undefined
  const { name } = object.metadata
  const waitedS = Math.round((waitedForPickupMs(object, deps.now()) ?? 0) / 1000)
  const found = `deploy item ${name} (item ${itemNameOf(object)}): no deployer of type ${object.spec.type} has taken it up for ${waitedS}s`
  return {
    operation: 'WaitingForPickup',
    reason: 'PickupTimeout',
    message: `${found}; expected one within ${(deps.landscaper.pickupTimeoutMs ?? 0) / 1000}s, the worker's --pickup-timeout`,
    codes: ['ERR_TIMEOUT'],
  }
}

/** @param why the item ends; undefined: it does not. What a call has no time for is left. */
async function endItems(
  deps: LandscaperDeps,
  step: string,
  input: ItemsInput,
  why: (object: DeployItem) => ErrorReport | undefined,
): Promise<BatchResult> {
  const { jobID } = input
  return await writeEnds(deps, step, input, (object, { before, now }) => endOf(object, { before, jobID, now, why }))
}

/** What is known of an item whose end is to be written. */
interface Ending {
  /** The job ID that the pass observed. */
  readonly before: string | undefined
  readonly now: string
}

/** @param patchOf the end of an item, by the item as it is when it is written (E2). What a call has no time for is left. */
export async function writeEnds(
  deps: LandscaperDeps,
  step: string,
  { by, subject, jobID, items }: ItemsInput,
  patchOf: (object: DeployItem, ending: Ending) => Patch | 'done' | 'superseded',
): Promise<BatchResult> {
  const observed = new Map(items.map((item) => [item.uid, item]))
  const newest = items.reduce((version, item) => Math.max(version, Number(item.version)), 0)
  const all =
    items.length === 0
      ? []
      : await readOwned(deps, { ...subject, watched: executionKind }, itemsOf(deps, { by, subject }, newest))
  const found = all.filter(({ metadata }) => observed.has(metadata.uid))
  const now = deps.now().toISOString()
  const ends = found.flatMap((object): ItemWrite[] => {
    const { uid, name, resourceVersion: version } = object.metadata
    const ending = { before: observed.get(uid)?.jobID, now }
    const patch = patchOf(object, ending)
    if (typeof patch === 'string') return []
    const reapply = (current: DeployItem) => (current.metadata.uid === uid ? patchOf(current, ending) : 'superseded')
    return [
      { verb: 'patchStatus', watched: deployItemKind, namespace: subject.namespace, name, version, patch, reapply },
    ]
  })
  const result = await send(deps, { by, step }, ends, (answer) => warnOfError(deps, jobID, answer))
  const names = new Set(ends.map(({ name }) => name))
  const untouched = found.filter(({ metadata }) => !names.has(metadata.name))
  const there = new Set(found.map(({ metadata }) => metadata.uid))
  const gone = items.filter(({ uid }) => !there.has(uid)).map(({ name }) => name)
  return {
    ...result,
    items: [...untouched.map((object) => deployItemView(object, by, deps)), ...result.items],
    gone: [...gone, ...result.gone],
  }
}

interface End extends Ending {
  readonly jobID: string
  readonly why: (object: DeployItem) => ErrorReport | undefined
}

function endOf(object: DeployItem, { before, jobID, now, why }: End): Patch | 'done' | 'superseded' {
  const { jobID: found, jobIDFinished } = targetView(object)
  if (jobIDFinished === jobID) return 'done'
  // Where it is hosted, its own first write may have begun this job since.
  const isMeant = found === before || found === jobID
  if (!isMeant) return 'superseded'
  const report = why(object)
  return report === undefined ? 'done' : endPatch(object, jobID, report, now)
}

const KEPT_ERRORS = 5

function endPatch(object: DeployItem, jobID: string, report: ErrorReport, now: string): Patch {
  const status = object.status ?? {}
  const isTriggered = targetView(object).jobID === jobID
  // Until a deployer begins, the errors are those of the job before; until the trigger, the times are too.
  const isBegun = isTriggered && isTakenUp(object)
  const lastError = nextError(isBegun ? status.lastError : undefined, report, now)
  const times = isTriggered ? {} : { triggerTime: null, initTime: null, waitTime: null }
  const phase = object.metadata.deletionTimestamp === undefined ? 'Failed' : 'DeleteFailed'
  const { generation } = object.metadata
  const news = { stage: { phase, finished: true, lastError: report, generation }, isFirst: !isBegun }
  return {
    status: {
      jobID,
      jobIDFinished: jobID,
      phase,
      // A deployer of others would never take them back.
      ...(isTypeBuiltIn(object.spec.type) && { conditions: nextConditions(status.conditions, news, now) }),
      lastError,
      lastErrors: [...(isBegun ? (status.lastErrors ?? []) : []), lastError].slice(-KEPT_ERRORS),
      firstError: (isBegun ? status.firstError : undefined) ?? lastError,
      transitionTimes: { ...times, finishedTime: now },
    },
  }
}

async function takeInterruptOff(
  deps: LandscaperDeps,
  { by, subject, jobID, version }: ForgetInput,
): Promise<ExecutionView | undefined> {
  const isMeant = (current: KubeObject) => targetView(current).jobID === jobID
  const write = removeRequest({ ...subject, watched: executionKind, version }, INTERRUPT, isMeant)
  const [answer] = await writeAll(deps, { ...by, step: 'takeInterruptOff', fieldManager: FIELD_MANAGER }, [write])
  if (answer?.result === 'failed') throw answer.error
  return answer?.result === 'ok'
    ? await executionView(answer.object, dataOf(deps, subject), await deps.landscaper.trust?.())
    : undefined
}
