// Defines how Installations, Executions and DeployItems report a job in their status: the fields of each write, and the conditions. Pure.
// Wire format: spec/landscaper.md 1.1 to 1.4, 1.16.

import type { ConditionChange, ErrorReport, Fault, JobStatus, StatusChange, StatusFields } from '../kit/index.ts'
import { type Condition, FINALIZER, type LastError, nextError, setCondition } from './contract.ts'

export const jobStatus: JobStatus = {
  finalizer: FINALIZER,
  firstPhase: (deleting) => (deleting ? 'InitDelete' : 'Init'),
  onBegin: (now, { phase, generation }) => ({
    conditions: firstConditions({ phase, finished: false, generation }, now),
    phaseTransitionTime: now,
    lastError: null,
    transitionTimes: { triggerTime: now, initTime: now, waitTime: null, finishedTime: null },
  }),
  onHandDown: (now) => ({
    conditions: firstConditions({ phase: undefined, finished: false }, now),
    transitionTimes: { triggerTime: now, initTime: null, waitTime: null, finishedTime: null },
  }),
  needsCurrentStatus: () => true,
  onSettle: settled,
}

function settled(change: StatusChange, before: StatusFields = {}, now: string): StatusFields {
  const known = before as { readonly lastError?: LastError; readonly conditions?: readonly Condition[] }
  const { phase, observedPhase, lastError, marks } = change
  return {
    ...(phase !== observedPhase && { phaseTransitionTime: now }),
    lastError: lastError === undefined ? null : nextError(known.lastError, lastError, now),
    conditions: nextConditions(known.conditions, conditionChanges(change), now),
    ...(marks.length > 0 && { transitionTimes: transitionTimes(change, now) }),
  }
}

function conditionChanges({ phase, finished, lastError, observedGeneration, conditions, begins, marks }: StatusChange) {
  return {
    stage: { phase, finished, lastError, generation: observedGeneration },
    changes: conditions,
    // A hosted job starts with the mark of the first phase.
    isFirst: begins !== undefined || marks.includes('initTime'),
  }
}

function transitionTimes({ marks }: StatusChange, now: string): StatusFields {
  // The marks of a new job replace those of the previous job.
  const cleared = marks.includes('initTime') ? { waitTime: null, finishedTime: null } : {}
  return { ...cleared, ...Object.fromEntries(marks.map((mark) => [mark, now])) }
}

/** How faults become a last error, where the wire format defines other texts; by the fault's code. Source: spec/landscaper.md 1.16. */
export interface ReportTexts {
  /** Additional codes that users expect for a reason. */
  readonly codes?: Readonly<Record<string, readonly string[]>>
  readonly names?: Readonly<Record<string, { readonly operation: string; readonly reason: string }>>
}

const COMMON: ReportTexts = { codes: { WebhookUnavailable: ['ERR_WEBHOOK'] } }

/** Builds the last error of a job from the faults in a phase. */
export function reportOf({ codes = {}, names = {} }: ReportTexts = {}) {
  return (phase: string, faults: readonly Fault[]): ErrorReport => {
    const code = faults[0]?.code ?? 'Unknown'
    const own = (fault: Fault) =>
      codes[fault.code] ?? COMMON.codes?.[fault.code] ?? (fault.code.startsWith('ERR_') ? [fault.code] : [])
    return {
      operation: `handlePhase${phase}`,
      reason: code,
      ...names[code],
      message: faults.map((fault) => fault.message).join(' | '),
      codes: [...new Set(faults.flatMap((fault) => [...own(fault), ...(fault.codes ?? [])]))],
    }
  }
}

// The conditions with which tools that do not know Landscaper's phases follow a job: Ready, and Reconciling or Stalled. Pure.
// Source: Kubernetes' API conventions ("Typical status properties"), kstatus ("Conditions"), docs/adr/0045.
//
//   J1. Ready is Unknown from the first status write of a job on; the last write sets it to True after a success and to False after a failure.
//   J2. Reconciling exists while the job runs, Stalled after it failed; neither exists with status False (kstatus: "abnormal-true").
//   J3. The first write of a job removes the other conditions of the previous job.
//   J4. The conditions cause no writes of their own: they are part of the writes for the phase or the job ID.

export const READY_CONDITION = 'Ready'
export const RECONCILING_CONDITION = 'Reconciling'
export const STALLED_CONDITION = 'Stalled'

/** The progress of a job. */
export interface JobStage {
  /** Undefined: the job ID was handed down, and no controller has started the job. */
  readonly phase: string | undefined
  readonly finished: boolean
  readonly lastError?: Pick<ErrorReport, 'reason' | 'message'> | undefined
  /** The generation that the job works on; undefined if the writer does not know it: then `status.observedGeneration` counts. */
  readonly generation?: number | undefined
}

/** The changes of a status write. */
export interface ConditionChanges {
  readonly stage: JobStage
  /** Changes of other conditions. */
  readonly changes?: readonly ConditionChange[]
  /** Whether this is the job's first write (J3). */
  readonly isFirst: boolean
}

/** The complete new list. @param before the current list; undefined if the status has none. */
export function nextConditions(
  before: readonly Condition[] | undefined,
  { stage, changes = [], isFirst }: ConditionChanges,
  now: string,
): readonly Condition[] {
  const said = [...jobConditions(stage), ...changes.map((change) => ({ ...generationOf(stage), ...change }))]
  const types = new Set(said.map(({ type }) => type))
  const remaining = (before ?? []).filter(({ type }) => types.has(type) || !(isFirst || isAbnormal(type)))
  return said.reduce<readonly Condition[]>((all, one) => setCondition(all, one, now), remaining)
}

/** The complete list for a job's first write, for writers that do not know the current list: the conditions of the previous job are removed. */
export function firstConditions(stage: JobStage, now: string): readonly Condition[] {
  return nextConditions(undefined, { stage, isFirst: true }, now)
}

/** J1, J2 */
function jobConditions(stage: JobStage): readonly ConditionChange[] {
  const { phase, finished, lastError } = stage
  const why = { ...generationOf(stage), ...reasonOf(stage) }
  if (!finished)
    return [
      { type: READY_CONDITION, status: 'Unknown', ...why },
      { type: RECONCILING_CONDITION, status: 'True', ...why },
    ]
  if (phase === SUCCEEDED && lastError === undefined) return [{ type: READY_CONDITION, status: 'True', ...why }]
  return [
    { type: READY_CONDITION, status: 'False', ...why },
    { type: STALLED_CONDITION, status: 'True', ...why },
  ]
}

const SUCCEEDED = 'Succeeded'

function generationOf({ generation }: JobStage): { readonly observedGeneration?: number } {
  return generation === undefined ? {} : { observedGeneration: generation }
}

function reasonOf({ phase, finished, lastError }: JobStage): Pick<ConditionChange, 'reason' | 'message'> {
  if (phase === undefined) return { reason: 'WaitingForTurn', message: 'the job waits for its turn' }
  if (lastError !== undefined)
    return { reason: conditionReason(lastError.reason, phase), message: shortened(lastError.message) }
  if (!finished) return { reason: phase, message: `the job is in phase ${phase}` }
  return { reason: phase, message: phase === SUCCEEDED ? 'the job has succeeded' : `the job has ended: ${phase}` }
}

// Landscaper's reasons may contain blanks ("children failed"); reasons of conditions must not. Source: API conventions, metav1.Condition.
function conditionReason(reason: string, otherwise: string): string {
  const words = reason.split(/[^A-Za-z0-9_]+/).filter((part) => part !== '')
  const joined = words.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('')
  return /^[A-Za-z]/.test(joined) ? joined : otherwise
}

// lastError has the complete message.
const LONGEST_MESSAGE = 1000

function shortened(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE)}...`
}

function isAbnormal(type: string): boolean {
  return type === RECONCILING_CONDITION || type === STALLED_CONDITION
}
