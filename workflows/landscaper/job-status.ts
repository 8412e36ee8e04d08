// Defines how Installations, Executions and DeployItems report a job in their status. Wire format: spec/landscaper.md 1.1 to 1.4, 1.16.

import type { ErrorReport, Fault, JobStatus, StatusChange, StatusFields } from '../kit/index.ts'
import { type Condition, FINALIZER, type LastError, nextError } from './contract.ts'
import { firstConditions, nextConditions } from './job-conditions.ts'

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
    conditions: nextConditions(known.conditions, conditionNews(change), now),
    ...(marks.length > 0 && { transitionTimes: transitionTimes(change, now) }),
  }
}

function conditionNews({ phase, finished, lastError, observedGeneration, conditions, begins, marks }: StatusChange) {
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
export interface ReportWords {
  /** Additional codes that users expect for a reason. */
  readonly codes?: Readonly<Record<string, readonly string[]>>
  readonly names?: Readonly<Record<string, { readonly operation: string; readonly reason: string }>>
}

const COMMON: ReportWords = { codes: { WebhookUnavailable: ['ERR_WEBHOOK'] } }

/** Builds the last error of a job from the faults in a phase. */
export function reportOf({ codes = {}, names = {} }: ReportWords = {}) {
  return (phase: string, faults: readonly Fault[]): ErrorReport => {
    const code = faults[0]?.code ?? 'Unknown'
    const own = (fault: Fault) =>
      codes[fault.code] ?? COMMON.codes?.[fault.code] ?? (fault.code.startsWith('ERR_') ? [fault.code] : [])
    return {
      operation: `handlePhase${phase}`,
      reason: code,
      ...names[code],
      message: faults.map((fault) => fault.message).join('; '),
      codes: [...new Set(faults.flatMap((fault) => [...own(fault), ...(fault.codes ?? [])]))],
    }
  }
}
