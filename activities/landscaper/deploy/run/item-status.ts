// Computes the status of an item when its job starts, waits, fails or ends. Source: spec/landscaper.md 2.9, 4.9.

import { type Condition, nextError, setCondition } from '../../../../workflows/landscaper/contract.ts'
import {
  type DeployItem,
  RESOURCES_READY_CONDITION as TYPE,
  SKIPPED_CONDITION,
} from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { type JobStage, nextConditions } from '../../../../workflows/landscaper/job-status.ts'
import { canonicalJson, type ErrorReport, isIdle, parseDuration } from '../../../../workflows/kit/index.ts'
import type { Patch } from '../../../kube/merge-patch.ts'
import type { FirstWrite } from './begin-job.ts'
import type { DeployStep, ProviderStatus } from './deployer.ts'

export const FINAL_PHASES: readonly string[] = ['Succeeded', 'Failed', 'DeleteFailed']

/** One job of one item at one time. */
export interface ItemJob {
  readonly object: DeployItem
  readonly jobID: string
  readonly now: Date
  /** Name of the deployer's folder, for `status.deployer`. */
  readonly deployer: string
  /** Set if the next status write starts the job: `object` already shows that status. Absent: the job has started. */
  readonly begins?: FirstWrite | undefined
}

/** The item's status; empty before its first job. */
export function itemStatus({ object }: Pick<ItemJob, 'object'>): NonNullable<DeployItem['status']> {
  return object.status ?? {}
}

/** Whether no deployer has picked the job up: the trigger clears initTime, and a previous job may have left its final phase. */
export function isStarting(job: Pick<ItemJob, 'object'>): boolean {
  const { phase = '', transitionTimes } = itemStatus(job)
  return transitionTimes?.initTime === undefined || FINAL_PHASES.includes(phase)
}

/**
 * Whether the job uninstalls the item. A job that was picked up as a deployment stays one: a later deletion gets its own job. If no job runs, the
 * next one uninstalls, whatever phase a user wrote into the status.
 */
export function isUninstall(object: DeployItem): boolean {
  if (object.metadata.deletionTimestamp === undefined) return false
  const { phase = '', jobID, jobIDFinished } = itemStatus({ object })
  return isIdle({ jobID, jobIDFinished }) || isStarting({ object }) || phase === 'InitDelete' || phase === 'Deleting'
}

/** Whether the last job already succeeded with this spec, and the item requests no more. Source: spec/landscaper.md 2.9 "updateOnChangeOnly". */
export function isUnchanged({ object }: ItemJob): boolean {
  const { phase, observedGeneration, conditions = [] } = itemStatus({ object })
  // A skipped item was not deployed, although an earlier build wrote its generation (execution/end-items.ts).
  if (object.spec.updateOnChangeOnly !== true || conditions.some(({ type }) => type === SKIPPED_CONDITION)) return false
  return phase === 'Succeeded' && observedGeneration === object.metadata.generation
}

const MAX_TIMEOUT_SHOWN = 80

/** The defect of the item's timeout, for messages. */
export function timeoutProblem({ spec }: DeployItem): string | undefined {
  const { timeout } = spec
  if (timeout === undefined || parseDuration(timeout) !== undefined) return undefined
  const expected = 'a duration such as 1m30s, at most 2562047h, or none'
  return `spec.timeout: found "${timeout.slice(0, MAX_TIMEOUT_SHOWN)}"; expected ${expected}`
}

// Source: spec/landscaper.md 1.4.
const DEFAULT_TIMEOUT_MS = 600_000

/** The timeout of a job in milliseconds; undefined: none. A text that is no duration counts as the default. */
export function timeLimitMs({ spec }: DeployItem): number | undefined {
  const { timeout } = spec
  const limitMs = timeout === undefined ? DEFAULT_TIMEOUT_MS : (parseDuration(timeout) ?? DEFAULT_TIMEOUT_MS)
  return limitMs === 'none' ? undefined : limitMs
}

/** Milliseconds until the item's job times out; undefined: never. Source: spec/landscaper.md 2.9 "Timeout". */
export function remainingMs(object: DeployItem, now: Date): number | undefined {
  const { transitionTimes, jobIDGenerationTime } = itemStatus({ object })
  const limitMs = timeLimitMs(object)
  const started = transitionTimes?.initTime ?? jobIDGenerationTime
  if (limitMs === undefined || started === undefined) return undefined
  return Date.parse(started) + limitMs - now.getTime()
}

/** Whether the job has started and its time is up. */
export function isOverdue(job: ItemJob): boolean {
  const remaining = remainingMs(job.object, job.now)
  return !isStarting(job) && remaining !== undefined && remaining <= 0
}

/** The status of a job whose spec the last job already deployed: only the times change. Source: spec/landscaper.md 2.9. */
export function unchangedStatus(job: ItemJob): Patch {
  const now = job.now.toISOString()
  const transitionTimes = { initTime: initTime(job), finishedTime: now }
  const said = conditions(job, { phase: 'Succeeded', finished: true })
  return { status: { jobIDFinished: job.jobID, lastReconcileTime: now, transitionTimes, ...said } }
}

const MAX_ERRORS = 5

/**
 * The status after a failure that is retried; undefined if the status has the failure already. Source: spec/landscaper.md 2.9.
 *
 * @param phase the phase while the deployer works: `Progressing` or `Deleting`.
 */
export function failingStatus(
  job: ItemJob,
  error: ErrorReport,
  phase = 'Progressing',
  fields: Patch = {},
): Patch | undefined {
  const { lastError: before } = itemStatus(job)
  const isNew = isStarting(job)
  const isSame = !isNew && before?.reason === error.reason && before.message === error.message
  if (isSame && Object.keys(fields).length === 0) return undefined
  const next = isNew ? phase : itemStatus(job).phase
  return {
    status: {
      ...commonFields(job),
      ...fields,
      ...conditions(job, { phase: next, finished: false, lastError: error }, fields),
      phase: next,
      ...(!isSame && addedErrors(job, error)),
    },
  }
}

/** The status of a job that was picked up and is in `phase`. */
export function pickedUpStatus(job: ItemJob, phase: string, fields: Patch = {}): Patch {
  const said = conditions(job, { phase, finished: false }, fields)
  return { status: { ...commonFields(job), ...fields, ...said, phase, ...clearedErrors(job) } }
}

/** The status of a job that waits in `phase` for its objects; undefined if the status is correct already. */
export function waitingStatus(job: ItemJob, phase: string, fields: Patch): Patch | undefined {
  const { phase: current, lastError } = itemStatus(job)
  const isSaid = !isStarting(job) && current === phase && lastError === undefined
  return isSaid ? undefined : pickedUpStatus(job, phase, fields)
}

/** The status of a job that has ended; phase and jobIDFinished are in one write. Earlier errors of the job stay if the job failed. */
export function endedStatus(job: ItemJob, phase: string, fields: Patch = {}, error?: ErrorReport): Patch {
  const { jobID, now } = job
  return {
    status: {
      ...commonFields(job),
      ...fields,
      ...conditions(job, { phase, finished: true, lastError: error }, fields),
      phase,
      jobIDFinished: jobID,
      transitionTimes: { initTime: initTime(job), finishedTime: now.toISOString() },
      ...(error === undefined ? clearedErrors(job) : addedErrors(job, error)),
    },
  }
}

/** @param fields of the same write. If they contain conditions, they contain the complete list. */
function conditions(job: ItemJob, stage: JobStage, fields: Patch = {}): Patch {
  const said = fields['conditions'] as readonly Condition[] | undefined
  const { generation } = job.object.metadata
  const news = { stage: { ...stage, generation }, isFirst: isStarting(job) && said === undefined }
  return { conditions: nextConditions(said ?? itemStatus(job).conditions, news, job.now.toISOString()) }
}

// Errors of this job stay, errors of the previous job are removed.
function clearedErrors(job: ItemJob): Patch {
  return isStarting(job) ? { lastError: null, lastErrors: null, firstError: null } : { lastError: null }
}

function addedErrors(job: ItemJob, error: ErrorReport): Patch {
  const { lastError: before, lastErrors = [], firstError } = itemStatus(job)
  const isNew = isStarting(job)
  const lastError = nextError(isNew ? undefined : before, error, job.now.toISOString())
  return {
    lastError,
    lastErrors: [...(isNew ? [] : lastErrors), lastError].slice(-MAX_ERRORS),
    firstError: isNew ? lastError : (firstError ?? lastError),
  }
}

// The suffix of Landscaper's deployer names. Source: spec/landscaper.md 1.13, 4.1.
const DEPLOYER_DOMAIN = '.deployer.landscaper.gardener.cloud'

function commonFields(job: ItemJob): Patch {
  const now = job.now.toISOString()
  return {
    observedGeneration: job.object.metadata.generation,
    lastReconcileTime: now,
    deployer: { identity: 'pawl', name: `${job.deployer}${DEPLOYER_DOMAIN}`, version: '0.1.0' },
    transitionTimes: { initTime: initTime(job) },
  }
}

// The trigger clears initTime, so an existing value belongs to this job.
function initTime(job: ItemJob): string {
  return itemStatus(job).transitionTimes?.initTime ?? job.now.toISOString()
}

/** The provider status of a step, if the step returned one. */
export function providerStatusOf({ providerStatus }: Pick<DeployStep, 'providerStatus'>): {
  providerStatus?: ProviderStatus
} {
  return providerStatus === undefined ? {} : { providerStatus }
}

/** The fields, or none if the status has them all: a repeated error causes no write. */
export function changedFields({ object }: ItemJob, fields: Patch): Patch {
  const status: Patch = itemStatus({ object })
  const isSame = Object.entries(fields).every(([key, value]) => canonicalJson(status[key]) === canonicalJson(value))
  return isSame ? {} : fields
}

// The condition that names the objects for which a deployed item waits: `kubectl describe` shows it without Temporal or the target.

/**
 * The `conditions` of the item's status.
 *
 * @param waitingFor the object that is not ready and its missing state; undefined: all are ready, which is only written after a wait.
 */
export function readyConditions(job: ItemJob, waitingFor: string | undefined): Patch {
  const { conditions = [] } = itemStatus(job)
  const isSaid = conditions.some(({ type }) => type === TYPE)
  if (waitingFor === undefined && !isSaid) return {}
  const change =
    waitingFor === undefined
      ? { type: TYPE, status: 'True' as const, reason: 'ResourcesReady', message: 'all resources are ready' }
      : { type: TYPE, status: 'False' as const, reason: 'WaitingForResources', message: waitingFor }
  return { conditions: setCondition(conditions, change, job.now.toISOString()) }
}

/** The `conditions` of a failing item: withdraws an earlier True. Empty if the condition was not True. */
export function withdrawnReadyConditions(job: ItemJob, message: string): Patch {
  const isSaid = itemStatus(job).conditions?.some(({ type, status }) => type === TYPE && status === 'True') === true
  return isSaid ? readyConditions(job, message) : {}
}

/** Whether the condition has a different message. */
export function hasOtherMessage(job: ItemJob, waitingFor: string): boolean {
  return itemStatus(job).conditions?.find(({ type }) => type === TYPE)?.message !== waitingFor
}
