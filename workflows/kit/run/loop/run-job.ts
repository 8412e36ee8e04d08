// The run of a job: passes over one object, phase by phase, until the job has ended.
//
//   R1. A run ends at once when its job is finished, and leaves another run's job alone.

import {
  type By,
  isIdle,
  type JobController,
  type JobInput,
  type JobPass,
  type JobState,
  type StatusDraft,
  SUPERSEDED,
} from '../job.ts'
import { retryable } from '../next-pass.ts'
import { type Progress, runPhases } from '../phases.ts'
import { statusChange } from '../settle.ts'
import { done } from '../../plan/outcome.ts'
import { createWakes, loop, type RunResult } from './loop.ts'
import { jobCourse, type JobReport } from './settle-job.ts'
import { attempt, runOnTemporal, showDetails } from './temporal.ts'

/** Runs the reconcile job of one subject. */
export async function runJob<State extends JobState, Act>(
  controller: JobController<State, Act>,
  input: JobInput,
): Promise<RunResult> {
  let state: State | undefined
  const runOnce = async (by: By): Promise<JobReport> => {
    const observed = await attempt(() => controller.observe(controller.act, input, by, state))
    // Nothing was seen, so nothing can be final.
    if ('outcome' in observed) return { outcome: retryable(observed.outcome), result: undefined }
    if (observed.value === undefined) return { outcome: done, result: 'Deleted' }
    state = observed.value

    const pass = startPass(input, by, state, controller.act)
    const ended = verdict(controller, pass)
    if (ended !== undefined) return { outcome: done, result: ended }

    const { outcome, result } = await runPass(controller, pass)
    state = pass.state
    showDetails(controller.details(pass))
    if (result === 'Deleted' || result === 'Superseded') return { outcome, result }
    const change = statusChange(pass, controller.plan.finalPhases)
    return {
      outcome,
      result,
      change,
      settled: (target) => {
        state = { ...pass.state, target: { ...pass.state.target, ...target } }
      },
    }
  }
  const wakes = createWakes()
  return await loop(input, wakes, jobCourse(input, wakes, { runPass: runOnce }))
}

function startPass<State extends JobState, Act>(
  { subject, jobID }: JobInput,
  by: By,
  state: State,
  act: Act,
): JobPass<State, Act> {
  const { phase, observedGeneration, lastError } = state.target
  const draft: StatusDraft = { phase, observedGeneration, lastError, conditions: [], marks: [], fields: {} }
  return { subject, jobID, by, act, state, draft }
}

/** Whether there is anything to do for this run at all (R1). */
function verdict<State extends JobState, Act>(
  { begin }: JobController<State, Act>,
  { jobID, state: { target } }: JobPass<State, Act>,
): RunResult | undefined {
  if (target.jobIDFinished === jobID) return target.phase ?? 'Finished'
  if (target.jobID === jobID) return undefined
  return begin !== undefined && isIdle(target) ? undefined : 'Superseded'
}

async function runPass<State extends JobState, Act>(
  { begin, plan }: JobController<State, Act>,
  pass: JobPass<State, Act>,
): Promise<Progress> {
  const begun = begin === undefined ? { value: done } : await attempt(() => begin(pass))
  const outcome = 'outcome' in begun ? begun.outcome : begun.value
  if (outcome.stopped === SUPERSEDED) return { outcome: done, result: 'Superseded' }
  if (outcome.faults.length > 0) return { outcome: retryable(outcome), result: undefined }
  return await runPhases(plan, pass, (step) => runOnTemporal(step, pass))
}
