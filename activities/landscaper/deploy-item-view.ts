// The view of a DeployItem that workflows receive, in the run of its Execution and in its own. It does not contain the configuration.

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
  /**
   * The item is idle, and no deployer has ever worked on it, so nothing can have been deployed. For items of handled types only set while they are
   * being deleted.
   */
  readonly untouched?: boolean
  /** The error of the last job, shortened; undefined while the job runs, or if it succeeded. */
  readonly error?: string | undefined
  /** The reason of that error. */
  readonly reason?: string
  /** The codes of that error, for the status of the Execution. */
  readonly codes?: readonly string[]
  /** The start of the job, for users. */
  readonly since?: string | undefined
  /** The duration of the last job, in milliseconds. */
  readonly tookMs?: number | undefined
  /** Milliseconds from the observation until the item fails because no deployer has started its job; undefined: without limit. */
  readonly pickupMs?: number | undefined
  /** Milliseconds from the observation until the time-out of the item's job; undefined: without time-out. */
  readonly remainingMs?: number | undefined
  /** The item's job uninstalls it. */
  readonly uninstalls: boolean
  /** The item counts as succeeded without being deployed, because of an annotation. */
  readonly isSkipped?: true
  /** The item requests its own job. */
  readonly retry?: RequestedRetry
  /** The cluster to which it is deployed; absent if it is uninstalled whether or not the cluster exists. */
  readonly cluster?: ItemCluster
}

/** The input of an item's own job. */
export interface RequestedRetry {
  readonly generation: number
}

/** The Shoot to which an item is deployed, by its annotation, and its Target. */
export interface ItemCluster {
  readonly shoot: string
  readonly target: string
}

/** How long an item may wait for its deployer in milliseconds (undefined: without limit), and the current time. */
export type PickupLimit = Pick<LandscaperDeps, 'now'> & {
  readonly landscaper: Pick<LandscaperDeps['landscaper'], 'pickupTimeoutMs'>
}

/**
 * @param run the run that receives the view: items of types that it does not handle are foreign to it.
 * @param limit of the pickup, and the current time; without it `pickupMs` and `remainingMs` are undefined.
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
    ...requestsOf(object),
  }
}

function requestsOf(object: DeployItem): Pick<DeployItemView, 'isSkipped' | 'retry'> {
  const { generation, deletionTimestamp } = object.metadata
  if (deletionTimestamp !== undefined) return {}
  return {
    ...(skipReason(object) !== undefined && { isSkipped: true }),
    ...(hasRequest(object, RETRY) && { retry: { generation } }),
  }
}

/** The reason to skip the item; undefined without the annotation. */
export function skipReason({ metadata }: Pick<DeployItem, 'metadata'>): string | undefined {
  const value = (metadata.annotations?.[SKIP_ANNOTATION] ?? '').trim().slice(0, MAX_REASON_LENGTH)
  return value === '' || value === 'false' ? undefined : value
}

const MAX_REASON_LENGTH = 256

/** Source: spec/landscaper.md 2.8 "Deletion". The texts may be written by any user, so they are validated as names. */
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

// Failures that were written without the deployer. Source: spec/landscaper.md 2.10, 2.11.
const ENDED_FROM_OUTSIDE: readonly string[] = ['PickupTimeout', 'InterruptOperation']

// Not set for items of handled types before their deletion, where no step needs it. Such items are claimed in their status before the deployer sends
// anything.
function untouchedMark(
  { metadata, spec, status = {} }: DeployItem,
  run: HandledPartitions,
): Pick<DeployItemView, 'untouched'> {
  const isUnstarted = (status.phase ?? '') === '' || ENDED_FROM_OUTSIDE.includes(status.lastError?.reason ?? '')
  const isAsked = metadata.deletionTimestamp !== undefined || !isTypeHandled(spec.type, run)
  return isAsked && isIdle(status) && isUnstarted && !hasDeployerFields(status) ? { untouched: true } : {}
}

type ItemStatus = NonNullable<DeployItem['status']>

function hasDeployerFields({ lastReconcileTime, deployer, providerStatus }: ItemStatus): boolean {
  return [lastReconcileTime, deployer, providerStatus].some((sign) => sign !== undefined)
}

// A hint for the Execution's status; the item's own status has the whole message.
const MAX_ERROR_LENGTH = 300

// Other deployers write the codes: only those with the form of spec/landscaper.md 1.16 are used.
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
 * Milliseconds until the pickup time-out of an item whose job waits for its deployer; undefined if it does not wait. Items of handled types have no
 * time-out: their work waits durably in Temporal. Source: spec/landscaper.md 2.10.
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

/** Milliseconds since the trigger of an item whose job no deployer has started; undefined for other items. */
export function waitedForPickupMs(object: DeployItem, now: Date): number | undefined {
  const { status = {} } = object
  const triggered = Date.parse(status.jobIDGenerationTime ?? '')
  if (isIdle(status) || Number.isNaN(triggered) || isTakenUp(object)) return undefined
  return now.getTime() - triggered
}

/** Whether a deployer has started the item's job. Source: spec/landscaper.md 4.9 rule 3. */
export function isTakenUp({ status = {} }: DeployItem): boolean {
  const { lastReconcileTime, jobIDGenerationTime, transitionTimes, phase = '' } = status
  // The trigger clears this field, so it needs no synchronized clocks.
  if (transitionTimes?.initTime !== undefined) return true
  const triggered = Date.parse(jobIDGenerationTime ?? '')
  const reconciled = Date.parse(lastReconcileTime ?? '')
  if (reconciled >= triggered) return true
  // Deployers write whole seconds (metav1.Time), so a time in the second of the trigger may belong to this job or the previous one. The trigger does
  // not change the phase, so a final phase belongs to the previous job.
  return reconciled >= Math.floor(triggered / 1000) * 1000 && phase !== '' && !FINAL_PHASES.includes(phase)
}
