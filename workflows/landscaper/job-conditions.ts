// The conditions by which tools that know no phases follow a job: Ready, with Reconciling or Stalled beside it. Pure.
// Source: Kubernetes' API conventions ("Typical status properties"), kstatus ("Conditions"), docs/adr/0045.
//
//   J1. Ready is Unknown from the first write of a job's status on; it is True in the write that ends it with success, False in that of a failure.
//   J2. Reconciling is there while the job runs, Stalled once it has failed; neither is ever there as False (kstatus: "abnormal-true").
//   J3. With the first write of a job goes what the job before has said of other aspects.
//   J4. They are no reason to write: they are in writes that are made for the phase or the job ID.

import type { ConditionChange, ErrorReport } from '../kit/index.ts'
import { type Condition, setCondition } from './contract.ts'

export const READY_CONDITION = 'Ready'
export const RECONCILING_CONDITION = 'Reconciling'
export const STALLED_CONDITION = 'Stalled'

/** How far a job is. */
export interface JobStage {
  /** Undefined: it was handed out, and nobody has taken it up. */
  readonly phase: string | undefined
  readonly finished: boolean
  readonly lastError?: Pick<ErrorReport, 'reason' | 'message'> | undefined
  /** The generation that the job works on; undefined: whoever writes does not know it, and `status.observedGeneration` counts. */
  readonly generation?: number | undefined
}

/** What is written of a status, beside what is there. */
export interface ConditionNews {
  readonly stage: JobStage
  /** Of other aspects. */
  readonly changes?: readonly ConditionChange[]
  /** The job's first write (J3). */
  readonly isFirst: boolean
}

/** The whole list as it shall be. @param before as it is; undefined where the status has none. */
export function nextConditions(
  before: readonly Condition[] | undefined,
  { stage, changes = [], isFirst }: ConditionNews,
  now: string,
): readonly Condition[] {
  const said = [...jobConditions(stage), ...changes.map((change) => ({ ...about(stage), ...change }))]
  const types = new Set(said.map(({ type }) => type))
  const kept = (before ?? []).filter(({ type }) => types.has(type) || !(isFirst || isAbnormal(type)))
  return said.reduce<readonly Condition[]>((all, one) => setCondition(all, one, now), kept)
}

/** The same where the first write of a job does not know what is there: what the job before has said goes. */
export function firstConditions(stage: JobStage, now: string): readonly Condition[] {
  return nextConditions(undefined, { stage, isFirst: true }, now)
}

/** J1, J2 */
function jobConditions(stage: JobStage): readonly ConditionChange[] {
  const { phase, finished, lastError } = stage
  const why = { ...about(stage), ...reasonOf(stage) }
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

function about({ generation }: JobStage): { readonly observedGeneration?: number } {
  return generation === undefined ? {} : { observedGeneration: generation }
}

function reasonOf({ phase, finished, lastError }: JobStage): Pick<ConditionChange, 'reason' | 'message'> {
  if (phase === undefined) return { reason: 'WaitingForTurn', message: 'the job was handed out and waits for its turn' }
  if (lastError !== undefined) return { reason: word(lastError.reason, phase), message: short(lastError.message) }
  if (!finished) return { reason: phase, message: `the job is in phase ${phase}` }
  return { reason: phase, message: phase === SUCCEEDED ? 'the job has succeeded' : `the job has ended: ${phase}` }
}

// The original's reasons may have blanks ("children failed"); those of a condition must not. Source: API conventions, metav1.Condition.
function word(reason: string, otherwise: string): string {
  const words = reason.split(/[^A-Za-z0-9_]+/).filter((part) => part !== '')
  const joined = words.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('')
  return /^[A-Za-z]/.test(joined) ? joined : otherwise
}

// The whole stands in lastError.
const LONGEST_MESSAGE = 1000

function short(message: string): string {
  return message.length <= LONGEST_MESSAGE ? message : `${message.slice(0, LONGEST_MESSAGE)}...`
}

function isAbnormal(type: string): boolean {
  return type === RECONCILING_CONDITION || type === STALLED_CONDITION
}
