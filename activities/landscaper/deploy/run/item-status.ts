// The deployer's side of the contract: which status an item shows when its job starts, ends or fails.
// Source: spec/landscaper.md 2.9, 4.9.

import { type Condition, nextError } from '../../../../workflows/landscaper/contract.ts'
import { type DeployItem, SKIPPED_CONDITION } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { type JobStage, nextConditions } from '../../../../workflows/landscaper/job-conditions.ts'
import { canonicalJson, type ErrorReport, isIdle, parseDuration } from '../../../../workflows/kit/index.ts'
import type { Patch } from '../../../kube/write.ts'
import type { Beginning } from './begin-job.ts'
import type { DeployStep, ProviderStatus } from './deployer.ts'

export const FINAL_PHASES: readonly string[] = ['Succeeded', 'Failed', 'DeleteFailed']

/** One job of one item, at one moment. */
export interface ItemJob {
  readonly object: DeployItem
  readonly jobID: string
  readonly now: Date
  /** Name of the deployer's folder, for `status.deployer`. */
  readonly deployer: string
  /** The job begins with the next status write: the object shows it as it will be. Absent: it has begun. */
  readonly begins?: Beginning | undefined
}

/** What the item says of itself; nothing before its first job. */
export function itemStatus({ object }: Pick<ItemJob, 'object'>): NonNullable<DeployItem['status']> {
  return object.status ?? {}
}

/** No deployer has taken the job up yet: the trigger clears the time, a job before this one may have left its final phase. */
export function isStarting(job: Pick<ItemJob, 'object'>): boolean {
  const { phase = '', transitionTimes } = itemStatus(job)
  return transitionTimes?.initTime === undefined || FINAL_PHASES.includes(phase)
}

/**
 * Whether the job takes the item away. One that was picked up goes on as it began: a deletion that comes meanwhile has a job of its own. Where none
 * runs, the next one does, whatever phase a hand has left there.
 */
export function isUninstall(object: DeployItem): boolean {
  if (object.metadata.deletionTimestamp === undefined) return false
  const { phase = '', jobID, jobIDFinished } = itemStatus({ object })
  return isIdle({ jobID, jobIDFinished }) || isStarting({ object }) || phase === 'InitDelete' || phase === 'Deleting'
}

/** A job on the spec that the last job has done with success, when the item asks for no more. Source: spec/landscaper.md 2.9 "updateOnChangeOnly". */
export function isUnchanged({ object }: ItemJob): boolean {
  const { phase, observedGeneration, conditions = [] } = itemStatus({ object })
  // One that was left out was not deployed; a former build has left it its generation all the same (execution/skip-items.ts).
  if (object.spec.updateOnChangeOnly !== true || conditions.some(({ type }) => type === SKIPPED_CONDITION)) return false
  return phase === 'Succeeded' && observedGeneration === object.metadata.generation
}

/** What is wrong with the item's time-out, for whoever wrote it. */
export function timeoutProblem({ metadata, spec }: DeployItem): string | undefined {
  const { timeout } = spec
  if (timeout === undefined || parseDuration(timeout) !== undefined) return undefined
  const expected = 'a duration such as 1m30s, at most 2562047h, or none'
  return `deploy item ${metadata.name}: spec.timeout is another text; expected ${expected}`
}

// Source: spec/landscaper.md 1.4.
const DEFAULT_TIMEOUT_MS = 600_000

/** How long a job of the item may take, in milliseconds; undefined = for ever. A text that is no duration counts as the default. */
export function timeLimitMs({ spec }: DeployItem): number | undefined {
  const { timeout } = spec
  const limitMs = timeout === undefined ? DEFAULT_TIMEOUT_MS : (parseDuration(timeout) ?? DEFAULT_TIMEOUT_MS)
  return limitMs === 'none' ? undefined : limitMs
}

/** Milliseconds until the job of the item times out; undefined = never. Source: spec/landscaper.md 2.9 "Timeout". */
export function remainingMs(object: DeployItem, now: Date): number | undefined {
  const { transitionTimes, jobIDGenerationTime } = itemStatus({ object })
  const limitMs = timeLimitMs(object)
  const started = transitionTimes?.initTime ?? jobIDGenerationTime
  if (limitMs === undefined || started === undefined) return undefined
  return Date.parse(started) + limitMs - now.getTime()
}

/** The job has begun, and its time is up. */
export function isOverdue(job: ItemJob): boolean {
  const remaining = remainingMs(job.object, job.now)
  return !isStarting(job) && remaining !== undefined && remaining <= 0
}

/** The spec that was done before is the spec of this job: nothing but the times is new. Source: spec/landscaper.md 2.9. */
export function unchanged(job: ItemJob): Patch {
  const now = job.now.toISOString()
  const transitionTimes = { initTime: initTime(job), finishedTime: now }
  const said = conditions(job, { phase: 'Succeeded', finished: true })
  return { status: { jobIDFinished: job.jobID, lastReconcileTime: now, transitionTimes, ...said } }
}

const KEPT_ERRORS = 5

/**
 * The job goes on although something failed; undefined when the item says so already. Source: spec/landscaper.md 2.9.
 *
 * @param phase in which the item is while its deployer works: `Progressing`, or `Deleting`.
 */
export function failing(
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
      ...common(job),
      ...fields,
      ...conditions(job, { phase: next, finished: false, lastError: error }, fields),
      phase: next,
      ...(!isSame && errors(job, error)),
    },
  }
}

/** The job has been picked up and is in `phase`. */
export function pickedUp(job: ItemJob, phase: string, fields: Patch = {}): Patch {
  const said = conditions(job, { phase, finished: false }, fields)
  return { status: { ...common(job), ...fields, ...said, phase, ...noErrors(job) } }
}

/** The job waits in `phase` for what it has sent; undefined when the item says so already. */
export function waiting(job: ItemJob, phase: string, fields: Patch): Patch | undefined {
  const { phase: current, lastError } = itemStatus(job)
  const isSaid = !isStarting(job) && current === phase && lastError === undefined
  return isSaid ? undefined : pickedUp(job, phase, fields)
}

/** The job has ended; the phase and jobIDFinished come in one write. What failed on the way stays to be seen when the end is a failure. */
export function ended(job: ItemJob, phase: string, fields: Patch = {}, error?: ErrorReport): Patch {
  const { jobID, now } = job
  return {
    status: {
      ...common(job),
      ...fields,
      ...conditions(job, { phase, finished: true, lastError: error }, fields),
      phase,
      jobIDFinished: jobID,
      transitionTimes: { initTime: initTime(job), finishedTime: now.toISOString() },
      ...(error === undefined ? noErrors(job) : errors(job, error)),
    },
  }
}

/** @param fields of the same write: those that say something of another aspect have the whole list as it was. */
function conditions(job: ItemJob, stage: JobStage, fields: Patch = {}): Patch {
  const said = fields['conditions'] as readonly Condition[] | undefined
  const { generation } = job.object.metadata
  const news = { stage: { ...stage, generation }, isFirst: isStarting(job) && said === undefined }
  return { conditions: nextConditions(said ?? itemStatus(job).conditions, news, job.now.toISOString()) }
}

// What the job met on its way stays to be seen; what the job before met does not.
function noErrors(job: ItemJob): Patch {
  return isStarting(job) ? { lastError: null, lastErrors: null, firstError: null } : { lastError: null }
}

function errors(job: ItemJob, error: ErrorReport): Patch {
  const { lastError: before, lastErrors = [], firstError } = itemStatus(job)
  const isNew = isStarting(job)
  const lastError = nextError(isNew ? undefined : before, error, job.now.toISOString())
  return {
    lastError,
    lastErrors: [...(isNew ? [] : lastErrors), lastError].slice(-KEPT_ERRORS),
    firstError: isNew ? lastError : (firstError ?? lastError),
  }
}

// What is behind the word in the full names of the original deployers. Source: spec/landscaper.md 1.13, 4.1.
const DEPLOYER_DOMAIN = '.deployer.landscaper.gardener.cloud'

function common(job: ItemJob): Patch {
  const now = job.now.toISOString()
  return {
    observedGeneration: job.object.metadata.generation,
    lastReconcileTime: now,
    deployer: { identity: 'pawl', name: `${job.deployer}${DEPLOYER_DOMAIN}`, version: '0.1.0' },
    transitionTimes: { initTime: initTime(job) },
  }
}

// The trigger clears the time, so one that is there is this job's.
function initTime(job: ItemJob): string {
  return itemStatus(job).transitionTimes?.initTime ?? job.now.toISOString()
}

/** The provider status that a step returned, if it returned one. */
export function remembered({ providerStatus }: Pick<DeployStep, 'providerStatus'>): {
  providerStatus?: ProviderStatus
} {
  return providerStatus === undefined ? {} : { providerStatus }
}

/** The fields, or nothing when the item's status has them all: an error that repeats writes nothing. */
export function changed({ object }: ItemJob, fields: Patch): Patch {
  const status: Patch = itemStatus({ object })
  const isSame = Object.entries(fields).every(([key, value]) => canonicalJson(status[key]) === canonicalJson(value))
  return isSame ? {} : fields
}
