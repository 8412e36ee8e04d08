// Ends the jobs of items without their deployers: after an interrupt, and when no deployer picks an item up. No other module does.
// Source: spec/landscaper.md 2.10, 2.11, docs/concepts/architecture.md "Writes, fields, errors".
//
//   E1. An item ends in one status write: IDs, phase, error and time.
//   E2. The state of the item at the time of the write decides: an item that has ended meanwhile keeps its result, an item with a job that is neither
//       this one nor the observed one is unchanged, and an item that a deployer has picked up does not time out.
//   E3. An interrupt is removed after the items have ended, so that a crash in between repeats it without an effect.

import { nextError, SKIP_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { type DeployItem, deployItemKind, SKIPPED_CONDITION } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { BUILT_IN_TYPES } from '../../../workflows/landscaper/deploy-item/deployers.gen.ts'
import { isTypeBuiltIn } from '../../../workflows/landscaper/deploy-item/handled-types.ts'
import { type ConditionChanges, nextConditions } from '../../../workflows/landscaper/job-status.ts'
import { type By, type ErrorReport, isIdle, nearMisses, type Subject } from '../../../workflows/kit/index.ts'
import { dataOf } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { deployItemView, isTakenUp, pickupMs, skipReason, waitedForPickupMs } from '../deploy-item-view.ts'
import { targetView } from '../../kube/object-views.ts'
import { removeRequest } from '../../run/children.ts'
import { INTERRUPT } from '../requests.ts'
import type { Patch } from '../../kube/merge-patch.ts'
import { writeAll } from '../../kube/write.ts'
import { type BatchResult, FIELD_MANAGER, type ItemsInput, type ItemWrite, send } from './item-batch.ts'
import { reportWrite } from '../deploy/run/item-write.ts'
import { readOwned } from '../../kube/read-family.ts'
import { itemsOf } from './observe.ts'
import { type ExecutionView, executionView } from './views.ts'
import { NO_TRUST, type Trust } from '../trust.ts'
import { whoAnnotated } from '../trust.ts'

export interface ForgetInput {
  readonly by: By
  readonly subject: Subject
  /** The job of the Execution: an interrupt with another job belongs to that job. Undefined: none. */
  readonly jobID: string | undefined
  /** The version of the Execution that the pass observed. */
  readonly version: string
}

/** `request`: the Execution as the pass observed it, if the Execution itself has the interrupt, and not its host. */
export type InterruptInput = ItemsInput & { readonly request: Pick<ForgetInput, 'jobID' | 'version'> | undefined }

/** `target`: the Execution without the request; undefined if items are left to end, if it is deleted or has another job, and without a request. */
export type InterruptResult = BatchResult & { readonly target: ExecutionView | undefined }

export const endItemActivities = (deps: LandscaperDeps) => ({
  /** Ends the given items, triggered or not, of any type, and removes the interrupt of the Execution. Idempotent. @throws retryable failures. */
  async interruptExecution({ request, ...input }: InterruptInput): Promise<InterruptResult> {
    const ended = await endItems(deps, 'interruptExecution', input, () => INTERRUPTED)
    const isDone = ended.failures.length === 0 && ended.left?.length === 0
    if (!isDone || request === undefined) return { ...ended, target: undefined }
    return { ...ended, target: await takeInterruptOff(deps, { ...input, ...request }) }
  },

  /** Removes an interrupt of an earlier job. @returns the Execution; undefined when it is deleted or has another job. */
  async forgetInterrupt(input: ForgetInput): Promise<ExecutionView | undefined> {
    return await takeInterruptOff(deps, input)
  },

  /** Ends the given items that no deployer has picked up before the timeout. Idempotent. @throws retryable failures. */
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
  const waitedS = Math.round((waitedForPickupMs(object, deps.now()) ?? 0) / 1000)
  const limitS = (deps.landscaper.pickupTimeoutMs ?? 0) / 1000
  const found = `spec.type: no deployer has started items of type "${object.spec.type}" for ${waitedS}s (--pickup-timeout: ${limitS}s)`
  return {
    operation: 'WaitingForPickup',
    reason: 'PickupTimeout',
    message: `${found}; ${deployerHint(object.spec.type)}`,
    codes: ['ERR_TIMEOUT'],
  }
}

function deployerHint(type: string): string {
  const [typo] = nearMisses({ [type]: true }, [...BUILT_IN_TYPES])
  if (typo !== undefined) return `did you mean "${typo.meant}"?`
  if (isTypeBuiltIn(type)) return 'start a worker with the type in --deployers, or increase --pickup-timeout'
  return `start its deployer, or use a type that Pawl deploys: ${[...BUILT_IN_TYPES].join(', ')}`
}

/** @param why the error with which the item ends; undefined if it does not end. Items without time are in `left`. */
async function endItems(
  deps: LandscaperDeps,
  step: string,
  input: ItemsInput,
  why: (object: DeployItem) => ErrorReport | undefined,
): Promise<BatchResult> {
  const { jobID } = input
  return await writeEnds(deps, step, input, (object, { before, now }) => endOf(object, { before, jobID, now, why }))
}

/** The parameters of an item's end. */
interface Ending {
  /** The job ID that the pass observed. */
  readonly before: string | undefined
  readonly now: string
}

/** @param patchOf computes the end of an item from its state at the time of the write (E2). Items without time are in `left`. */
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
  const now = deps.now()
  const ends = found.flatMap((object): ItemWrite[] => {
    const { uid, name, resourceVersion: version } = object.metadata
    const ending = { before: observed.get(uid)?.jobID, now: now.toISOString() }
    const patch = patchOf(object, ending)
    if (typeof patch === 'string') return []
    const reapply = (current: DeployItem) => (current.metadata.uid === uid ? patchOf(current, ending) : 'superseded')
    return [
      { verb: 'patchStatus', watched: deployItemKind, namespace: subject.namespace, name, version, patch, reapply },
    ]
  })
  const finished = new Set(
    found.filter((object) => targetView(object).jobIDFinished === jobID).map(({ metadata }) => metadata.name),
  )
  // A skipped item may have failed in this job: its end is counted already.
  const result = await send(deps, { by, step }, ends, async (answer) => {
    const isCounted = answer.result === 'ok' && finished.has(answer.object.metadata.name)
    if (!isCounted) await reportWrite(deps, { by, jobID, now }, answer)
  })
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
  // If the item is hosted, its first status write may have started this job meanwhile.
  const isMeant = found === before || found === jobID
  if (!isMeant) return 'superseded'
  const report = why(object)
  return report === undefined ? 'done' : endPatch(object, jobID, report, now)
}

const KEPT_ERRORS = 5

function endPatch(object: DeployItem, jobID: string, report: ErrorReport, now: string): Patch {
  const status = object.status ?? {}
  const isTriggered = targetView(object).jobID === jobID
  // Before the pick-up, the errors belong to the previous job; before the trigger, the times do too.
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
      // Other programs' deployers would never remove the conditions.
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

// Ends items that a user has skipped: they count as succeeded for the order without a deployment, and a condition says so. Source: docs/adr/0053.
//
//   S1. The item's job ends in one status write, whether it has started or not, or has failed in this job already.
//   S2. If the user has removed the annotation meanwhile, the item is unchanged.
//   S3. An item whose current spec was not deployed does not get its generation: otherwise later jobs would skip an item with `updateOnChangeOnly`,
//       too.

export const skipItemActivities = (deps: LandscaperDeps) => ({
  /** Ends the given items that are still skipped as succeeded. Idempotent. @throws retryable failures. */
  async skipItems(input: ItemsInput): Promise<BatchResult> {
    const { jobID } = input
    const trust = (await deps.landscaper.trust?.()) ?? NO_TRUST
    return await writeEnds(deps, 'skipItems', input, (object, { before, now }) =>
      skip(object, { before, jobID, now, trust }),
    )
  },
})

interface Skipping {
  readonly before: string | undefined
  readonly jobID: string
  readonly now: string
  readonly trust: Trust
}

function skip(object: DeployItem, { before, jobID, now, trust }: Skipping): Patch | 'done' | 'superseded' {
  const reason = skipReason(object)
  const { jobID: found, jobIDFinished, phase, deleting } = targetView(object)
  if (reason === undefined || deleting || (jobIDFinished === jobID && phase === SUCCEEDED)) return 'done'
  const isMeant = found === jobID || (found === before && isIdle({ jobID: found, jobIDFinished }))
  return isMeant ? skipped(object, { jobID, now, reason, trust }) : 'superseded'
}

const SUCCEEDED = 'Succeeded'

function skipped(
  object: DeployItem,
  { jobID, now, reason, trust }: Omit<Skipping, 'before'> & { readonly reason: string },
): Patch {
  const { by, since } = whoAnnotated(object, SKIP_ANNOTATION, { what: 'skip', trust })
  const why = reason === 'true' ? '' : `: ${reason}`
  const message = `not deployed: skipped by ${by}${since === undefined ? '' : ` since ${since}`}${why}`
  const { generation } = object.metadata
  const news: ConditionChanges = {
    stage: { phase: SUCCEEDED, finished: true, generation },
    changes: [{ type: SKIPPED_CONDITION, status: 'True', reason: 'SkippedByAnnotation', message }],
    isFirst: true,
  }
  const { jobID: found, phase } = targetView(object)
  const isTriggered = found === jobID
  // S3
  const isDeployed = phase === SUCCEEDED && object.status?.observedGeneration === generation
  const times = isTriggered ? {} : { triggerTime: null, initTime: null, waitTime: null }
  return {
    status: {
      jobID,
      jobIDFinished: jobID,
      phase: SUCCEEDED,
      lastError: null,
      lastErrors: null,
      firstError: null,
      ...(!isDeployed && { observedGeneration: null }),
      // Other programs' deployers would never remove the conditions.
      ...(isTypeBuiltIn(object.spec.type) && { conditions: nextConditions(object.status?.conditions, news, now) }),
      transitionTimes: { ...times, finishedTime: now },
    },
  }
}
