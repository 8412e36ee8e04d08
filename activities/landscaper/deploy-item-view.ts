// What workflows see of a DeployItem: the run of its Execution, and its own. Its configuration stays out.

import {
  CLUSTER_NAME_ANNOTATION,
  DEPENDS_ON_ANNOTATION,
  ITEM_NAME_LABEL,
  SKIP_ANNOTATION,
} from '../../workflows/landscaper/contract.ts'
import type { DeployItem } from '../../workflows/landscaper/deploy-item/kind.ts'
import { isTypeHandled } from '../../workflows/landscaper/deploy-item/handled-types.ts'
import { isIdle, type HandledPartitions } from '../../workflows/kit/index.ts'
import { FINAL_PHASES, isUninstall, remainingMs } from './deploy/run/item-status.ts'
import { isObjectName } from './deploy/target/target-config.ts'
import { hasRequest } from '../run/children.ts'
import type { LandscaperDeps } from './deps.ts'
import { RETRY } from './requests.ts'

export interface DeployItemView {
  readonly uid: string
  readonly version: string
  /** Name of the object. */
  readonly name: string
  /** Name of the item in the Execution's spec. */
  readonly item: string
  readonly type: string
  readonly dependsOn: readonly string[]
  readonly deleting: boolean
  readonly finalizers: readonly string[]
  readonly phase: string | undefined
  readonly jobID: string | undefined
  readonly jobIDFinished: string | undefined
  readonly exportRef: { readonly name: string; readonly namespace?: string } | undefined
  /** It is idle and no deployer has ever worked on it: nothing can have been deployed. Of an item of the run's own only where it is being deleted. */
  readonly untouched?: boolean
  /** What its last job failed of, cut short; undefined while it runs, and when it did not fail. */
  readonly error?: string | undefined
  /** The reason of that error. */
  readonly reason?: string
  /** Its codes, for its Execution to say too. */
  readonly codes?: readonly string[]
  /** When its job began, for people. */
  readonly since?: string | undefined
  /** How long its last job took, in milliseconds. */
  readonly tookMs?: number | undefined
  /** Milliseconds until the item's job fails because no deployer took it up, as of the observation; undefined = never. */
  readonly pickupMs?: number | undefined
  /** Milliseconds until the job of the item times out, as of the observation; undefined = never. */
  readonly remainingMs?: number | undefined
  /** A job takes the item away. */
  readonly uninstalls: boolean
  /** It counts as succeeded without being deployed, by an annotation. */
  readonly isSkipped?: true
  /** It asks for a job of its own. */
  readonly retry?: RequestedRetry
  /** What it is deployed to; absent where it is uninstalled whether that is there or not. */
  readonly cluster?: ItemCluster
}

/** What a job of its own begins on. */
export interface RequestedRetry {
  readonly generation: number
}

/** The Shoot that an item says it is deployed to, and its Target. */
export interface ItemCluster {
  readonly shoot: string
  readonly target: string
}

/** How long an item may wait for its deployer, in milliseconds (undefined: for ever), and what time it is. */
export type PickupLimit = Pick<LandscaperDeps, 'now'> & {
  readonly landscaper: Pick<LandscaperDeps['landscaper'], 'pickupTimeoutMs'>
}

/**
 * @param run whose view it is: items of types that it does not serve are foreign to it.
 * @param limit of the pickup, and what time it is; without one `pickupMs` and `remainingMs` are undefined.
 */
export function deployItemView(object: DeployItem, run: HandledPartitions, limit?: PickupLimit): DeployItemView {
  const { metadata, spec, status = {} } = object
  return {
    uid: metadata.uid,
    version: metadata.resourceVersion,
    name: metadata.name,
    item: itemNameOf(object),
    type: spec.type,
    dependsOn: (metadata.annotations?.[DEPENDS_ON_ANNOTATION] ?? '').split(',').filter((name) => name !== ''),
    deleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
    phase: status.phase,
    jobID: status.jobID,
    jobIDFinished: status.jobIDFinished,
    exportRef: status.exportRef,
    ...untouchedMark(object, run),
    ...errorOf(object),
    ...timesOf(object),
    pickupMs: limit === undefined ? undefined : pickupMs(object, run, limit),
    remainingMs: limit === undefined ? undefined : remainingMs(object, limit.now()),
    uninstalls: isUninstall(object),
    ...clusterOf(object),
    ...askedOf(object),
  }
}

function askedOf(object: DeployItem): Pick<DeployItemView, 'isSkipped' | 'retry'> {
  const { generation, deletionTimestamp } = object.metadata
  if (deletionTimestamp !== undefined) return {}
  return {
    ...(skipReason(object) !== undefined && { isSkipped: true }),
    ...(hasRequest(object, RETRY) && { retry: { generation } }),
  }
}

/** Why the item is left out; undefined: it is not. */
export function skipReason({ metadata }: Pick<DeployItem, 'metadata'>): string | undefined {
  const value = (metadata.annotations?.[SKIP_ANNOTATION] ?? '').trim().slice(0, MAX_REASON_LENGTH)
  return value === '' || value === 'false' ? undefined : value
}

const MAX_REASON_LENGTH = 256

/** Source: spec/landscaper.md 2.8 "Deletion". A text that anybody may have written is a name only after it was checked. */
function clusterOf({ metadata, spec }: DeployItem): Pick<DeployItemView, 'cluster'> {
  const shoot = metadata.annotations?.[CLUSTER_NAME_ANNOTATION]
  const { target, onDelete } = spec
  if (onDelete?.skipUninstallIfClusterRemoved !== true || target === undefined || shoot === undefined) return {}
  return isObjectName(shoot) && isObjectName(target.name) ? { cluster: { shoot, target: target.name } } : {}
}

/** The item's name in the Execution's spec. */
export function itemNameOf({ metadata }: Pick<DeployItem, 'metadata'>): string {
  return metadata.labels?.[ITEM_NAME_LABEL] ?? metadata.name
}

function timesOf({ status = {} }: DeployItem): Pick<DeployItemView, 'since' | 'tookMs'> {
  const { transitionTimes, jobIDGenerationTime } = status
  const since = transitionTimes?.initTime ?? jobIDGenerationTime
  const finished = transitionTimes?.finishedTime
  if (!isIdle(status)) return { since }
  const tookMs = Date.parse(finished ?? '') - Date.parse(since ?? '')
  return Number.isNaN(tookMs) ? {} : { tookMs: Math.max(0, tookMs) }
}

// Ends that were written without the deployer. Source: spec/landscaper.md 2.10, 2.11.
const ENDED_FROM_OUTSIDE: readonly string[] = ['PickupTimeout', 'InterruptOperation']

// Of items that the run deploys itself nobody asks on the way forward. They are claimed in their status before anything is sent.
function untouchedMark(
  { metadata, spec, status = {} }: DeployItem,
  run: HandledPartitions,
): Pick<DeployItemView, 'untouched'> {
  const isUnstarted = (status.phase ?? '') === '' || ENDED_FROM_OUTSIDE.includes(status.lastError?.reason ?? '')
  const isAsked = metadata.deletionTimestamp !== undefined || !isTypeHandled(spec.type, run)
  return isAsked && isIdle(status) && isUnstarted && !isSeen(status) ? { untouched: true } : {}
}

type ItemStatus = NonNullable<DeployItem['status']>

function isSeen({ lastReconcileTime, deployer, providerStatus }: ItemStatus): boolean {
  return [lastReconcileTime, deployer, providerStatus].some((sign) => sign !== undefined)
}

// Enough to know where to look; the whole of it stands in the item's own status.
const MAX_ERROR_LENGTH = 300

// Other deployers write them: what looks like none of spec/landscaper.md 1.16 stays where it is.
const CODE = /^ERR_[A-Z_]{1,60}$/
const MAX_CODES = 10

function errorOf({ status = {} }: DeployItem): Pick<DeployItemView, 'error' | 'reason' | 'codes'> {
  const { phase, lastError } = status
  const hasFailed = phase === 'Failed' || phase === 'DeleteFailed'
  if (!hasFailed || lastError === undefined) return { error: undefined }
  const codes = (lastError.codes ?? []).filter((code) => CODE.test(code)).slice(0, MAX_CODES)
  return {
    error: lastError.message.slice(0, MAX_ERROR_LENGTH),
    reason: lastError.reason,
    ...(codes.length > 0 && { codes }),
  }
}

/**
 * Milliseconds until the pickup timeout of an item whose job waits for its deployer; undefined when nothing is waited for.
 * Items that the run deploys itself have none: their work waits durably in Temporal. Source: spec/landscaper.md 2.10.
 */
export function pickupMs(
  object: DeployItem,
  run: HandledPartitions,
  { landscaper, now }: PickupLimit,
): number | undefined {
  const { pickupTimeoutMs } = landscaper
  if (pickupTimeoutMs === undefined || isTypeHandled(object.spec.type, run)) return undefined
  const waitedMs = waitedForPickupMs(object, now())
  return waitedMs === undefined ? undefined : pickupTimeoutMs - waitedMs
}

/** Milliseconds since an item was triggered that no deployer has taken up yet; undefined for any other item. */
export function waitedForPickupMs(object: DeployItem, now: Date): number | undefined {
  const { status = {} } = object
  const triggered = Date.parse(status.jobIDGenerationTime ?? '')
  if (isIdle(status) || Number.isNaN(triggered) || isTakenUp(object)) return undefined
  return now.getTime() - triggered
}

/** A deployer has begun the item's job. Source: spec/landscaper.md 4.9 rule 3. */
export function isTakenUp({ status = {} }: DeployItem): boolean {
  const { lastReconcileTime, jobIDGenerationTime, transitionTimes, phase = '' } = status
  // The trigger clears it, so this sign needs no common clock.
  if (transitionTimes?.initTime !== undefined) return true
  const triggered = Date.parse(jobIDGenerationTime ?? '')
  const reconciled = Date.parse(lastReconcileTime ?? '')
  if (reconciled >= triggered) return true
  // Deployers write whole seconds (metav1.Time): that of the trigger may be the answer to it, or the end of the job before. A final phase says
  // which, for the trigger leaves the phase as it is.
  return reconciled >= Math.floor(triggered / 1000) * 1000 && phase !== '' && !FINAL_PHASES.includes(phase)
}
