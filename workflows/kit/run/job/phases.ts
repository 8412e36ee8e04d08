// The phases of a job, as far as one pass gets with them. Pure: how a step is run is a parameter.
//
//   P1. A pass starts from the phase that was observed; it begins with the first one only where there is none, or an ended job's.
//   P2. Phases that need no outside event fold into one pass.
//   P3. What ends a job stands in one draft: the final phase with the time and the fault.
//   P4. A job whose plan does something before its end has not ended until that is done: the next pass comes to its end anew.

import type { JobPass, JobPlan, JobState } from './job.ts'
import type { ConditionChange } from '../conditions.ts'
import type { ErrorReport } from '../subject.ts'
import { BEGIN_OPERATION, GONE } from './job.ts'
import { CHANGED, retryable } from '../next-pass.ts'
import { done, type Fault, interrupts, joinOutcomes, type Outcome } from '../../plan/outcome.ts'
import type { Step } from '../../plan/step.ts'

/** How far a pass got; `result` is how the job ended, undefined while it goes on. */
export interface Progress {
  readonly outcome: Outcome
  readonly result: string | undefined
}

/**
 * Runs phase after phase until one interrupts the pass or the job is over; says so in the pass's draft.
 *
 * @param run a step's outcome, failures of the world included.
 * @returns `Deleted` as the result when a step says that the subject is gone.
 */
export async function runPhases<State extends JobState, Act>(
  plan: JobPlan<JobPass<State, Act>>,
  pass: JobPass<State, Act>,
  run: (step: Step<JobPass<State, Act>>) => Promise<Outcome>,
): Promise<Progress> {
  const fail = async (faults: readonly Fault[]) => {
    const phase = pass.draft.phase ?? ''
    const lastError = errorOf(plan, phase, faults)
    return await finish(plan, pass, { phase: plan.failed(phase), lastError, conditions: conditionsOf(faults) }, run)
  }
  startPhases(plan, pass)
  let later = done
  for (;;) {
    const name: string = pass.draft.phase ?? ''
    // A hand may write any word, `constructor` too.
    const phase = Object.hasOwn(plan.phases, name) ? plan.phases[name] : undefined
    if (phase === undefined) return await fail([unknownPhase(plan, name)])
    const outcome = await run(phase.step)
    if (outcome.stopped === GONE) return { outcome, result: 'Deleted' }
    const final = outcome.faults.filter((fault) => !fault.retryable && fault.code !== CHANGED)
    if (final.length > 0) return await fail(final)
    const retried = outcome.faults.filter((fault) => fault.code !== CHANGED)
    // A step that waits has got over what it met before.
    if (outcome.faults.length === 0 || retried.length > 0) pass.draft.lastError = errorOf(plan, name, retried)
    later = joinOutcomes(later, outcome)
    if (interrupts(outcome)) return { outcome: retryable(later), result: undefined }
    if (plan.finalPhases.includes(phase.next)) return await finish(plan, pass, { phase: phase.next }, run)
    pass.draft.phase = phase.next
  }
}

/** Says in the pass's draft why the job cannot begin yet; a pass that looked at an older object than there is says nothing. */
export function reportBeginFault<State extends JobState, Act>(
  plan: JobPlan<JobPass<State, Act>>,
  { draft }: JobPass<State, Act>,
  faults: readonly Fault[],
): void {
  const report = errorOf(
    plan,
    draft.phase ?? '',
    faults.filter(({ code }) => code !== CHANGED),
  )
  if (report !== undefined) draft.lastError = { ...report, operation: BEGIN_OPERATION }
}

function startPhases<State extends JobState, Act>(
  plan: JobPlan<JobPass<State, Act>>,
  { draft, state }: JobPass<State, Act>,
): void {
  if (draft.phase !== undefined && draft.phase !== '' && !plan.finalPhases.includes(draft.phase)) return
  draft.phase = plan.first(state.target.deleting)
  draft.observedGeneration = state.target.generation
  draft.lastError = undefined
  draft.marks.push('initTime')
}

function unknownPhase<Pass>(plan: JobPlan<Pass>, name: string): Fault {
  return {
    code: 'UnknownPhase',
    message: `status.phase is "${name}"; expected one of ${Object.keys(plan.phases).join(', ')}`,
    retryable: false,
  }
}

interface End {
  readonly phase: string
  /** Absent: as it is. */
  readonly lastError?: ErrorReport | undefined
  readonly conditions?: readonly ConditionChange[]
}

/** P3; what the plan does before must be done first (P4). */
async function finish<State extends JobState, Act>(
  { ending }: JobPlan<JobPass<State, Act>>,
  pass: JobPass<State, Act>,
  { phase, lastError, conditions = [] }: End,
  run: (step: Step<JobPass<State, Act>>) => Promise<Outcome>,
): Promise<Progress> {
  const { draft } = pass
  const now = { phase: draft.phase, lastError: draft.lastError }
  Object.assign(draft, { phase, ...(lastError !== undefined && { lastError }) })
  const outcome = ending === undefined ? done : await run(ending)
  if (interrupts(outcome)) {
    Object.assign(draft, now)
    return { outcome: retryable(outcome), result: undefined }
  }
  draft.conditions.push(...conditions)
  draft.marks.push('finishedTime')
  return { outcome: done, result: phase }
}

function conditionsOf(faults: readonly Fault[]): readonly ConditionChange[] {
  return faults.flatMap(({ condition, message }) =>
    condition === undefined ? [] : [{ ...condition, status: 'False' as const, message }],
  )
}

function errorOf<Pass>(plan: JobPlan<Pass>, phase: string, faults: readonly Fault[]): ErrorReport | undefined {
  if (faults.length === 0) return undefined
  return (plan.report ?? plainReport)(phase, faults)
}

function plainReport(phase: string, faults: readonly Fault[]): ErrorReport {
  const message = faults.map((fault) => fault.message).join('; ')
  return { operation: phase, reason: faults[0]?.code ?? 'Unknown', message }
}
