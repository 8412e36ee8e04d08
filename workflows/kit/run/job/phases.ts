// Runs the phases of a job within one pass. Pure: the step runner is a parameter.
//
//   P1. A pass starts with the observed phase, or with the first phase when the status has no phase or a final phase.
//   P2. Phases that wait for no external event run in the same pass.
//   P3. One draft contains the end of a job: final phase, time and fault.
//   P4. A job with an `ending` step ends only after this step is done: the next pass repeats it.

import type { JobPass, JobPlan, JobState } from './job.ts'
import type { ConditionChange } from '../conditions.ts'
import type { ErrorReport } from '../subject.ts'
import { BEGIN_OPERATION, GONE } from './job.ts'
import { CHANGED, retryable } from '../next-pass.ts'
import { done, type Fault, interrupts, joinOutcomes, type Outcome } from '../../plan/outcome.ts'
import type { Step } from '../../plan/step.ts'

/** The outcome of a pass; `result` is the final phase, undefined while the job runs. */
export interface Progress {
  readonly outcome: Outcome
  readonly result: string | undefined
}

/**
 * Runs phases until a step interrupts the pass or the job ends, and updates the draft.
 *
 * @param run returns a step's outcome; activity failures are faults.
 * @returns `Deleted` as the result when a step finds the object deleted.
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
    // A user may write any phase, even `constructor`.
    const phase = Object.hasOwn(plan.phases, name) ? plan.phases[name] : undefined
    if (phase === undefined) return await fail([unknownPhase(plan, name)])
    const outcome = await run(phase.step)
    if (outcome.stopped === GONE) return { outcome, result: 'Deleted' }
    const final = outcome.faults.filter((fault) => !fault.retryable && fault.code !== CHANGED)
    if (final.length > 0) return await fail(final)
    const retried = outcome.faults.filter((fault) => fault.code !== CHANGED)
    // A waiting step clears the error of an earlier pass.
    if (outcome.faults.length === 0 || retried.length > 0) pass.draft.lastError = errorOf(plan, name, retried)
    later = joinOutcomes(later, outcome)
    if (interrupts(outcome)) return { outcome: retryable(later), result: undefined }
    if (plan.finalPhases.includes(phase.next)) return await finish(plan, pass, { phase: phase.next }, run)
    pass.draft.phase = phase.next
  }
}

/** Adds the faults of `begin` to the draft, except conflicts with a newer version of the object. */
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
    message: `status.phase: found "${name}"; expected one of ${Object.keys(plan.phases).join(', ')}`,
    retryable: false,
  }
}

interface End {
  readonly phase: string
  /** Absent: unchanged. */
  readonly lastError?: ErrorReport | undefined
  readonly conditions?: readonly ConditionChange[]
}

/** P3, P4 */
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
