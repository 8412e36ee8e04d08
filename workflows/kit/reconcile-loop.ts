// The loop of every job's workflow: wait for a wake, observe, run the plan's phases as far as they go, settle, wait again.
// Source: design.md "How data flows". It arms no timers: the next due time goes into the journal's wake row.
//
//   R1. A run starts from the phase it observes, never assumes Init, and ends at once when the job is finished.
//   R2. Phases that need no outside event fold into one pass; a pass that changed nothing writes nothing.
//   R3. What ends a job is written in one settle: the final phase with jobIDFinished.
//   R4. A wake that arrives during a pass leads to a pass that starts after it.

import { condition, continueAsNew, defineSignal, setCurrentDetails, setHandler, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow'
import { isIdle, type JobController, type JobInput, type JobPass, type JobState, type StatusDraft } from './job.ts'
import { done, type Fault, type Outcome } from './outcome.ts'
import { type SettleActivities, type SettleInput, statusChange } from './settle.ts'
import { runStep } from './step.ts'
import { insistentActivities, temporalRuntime } from './temporal.ts'

export { insistentActivities, longActivities, shortActivities } from './temporal.ts'

/** A wake: something journaled up to `seq` concerns the subject. Carries no object (a level, not an edge). */
export const wakeSignal = defineSignal<[{ readonly seq: number }]>('wake')

/** How a run ended: a final phase, `Deleted` when the subject is gone, or `Superseded` when the job is another run's. */
export type RunResult = string

/** A fault with this code says that the pass looked at an older object than the activity found; the next pass looks again at once. */
const CHANGED = 'Changed'

export async function runJob<State extends JobState>(controller: JobController<State>, input: JobInput): Promise<RunResult> {
  const settle = insistentActivities<SettleActivities>()
  let woken = true
  let attempt = 0
  let number = 0
  let state: State | undefined
  setHandler(wakeSignal, () => {
    woken = true
  })

  for (;;) {
    await condition(() => woken)
    woken = false
    number++

    const observed = await observe(controller, input, number, state)
    if ('outcome' in observed) {
      attempt++
      await settle.settle({ ...settleBase(input, number), change: undefined, ...due(observed.outcome, attempt) })
      continue
    }
    state = observed.state
    if (state === undefined) return await end(settle, input, number, 'Deleted')

    const pass = startPass(input, number, state)
    const ended = verdict(controller, pass)
    if (ended !== undefined) return await end(settle, input, number, ended)

    const { outcome, result } = await runPass(controller, pass)
    setCurrentDetails(controller.details(pass))
    if (result === 'Deleted' || result === 'Superseded') return await end(settle, input, number, result)

    attempt = outcome.faults.some((fault) => fault.retryable) ? attempt + 1 : outcome.againMs === undefined ? attempt : 0
    const change = statusChange(pass, controller.plan.finalPhases)
    const wish = due(outcome, attempt)
    if (change !== undefined || wish.againMs !== undefined) {
      const settled = await settle.settle({ ...settleBase(input, number), change, ...wish })
      if (settled.result === 'superseded') return await end(settle, input, number, 'Superseded')
      state = { ...state, target: { ...state.target, ...settled.target } }
    }
    if (result !== undefined) {
      upsertSearchAttributes({ PawlOutcome: [result] })
      return result
    }
    if (workflowInfo().continueAsNewSuggested && !isWoken()) await continueAsNew<(input: JobInput) => Promise<RunResult>>(input)
  }

  function isWoken(): boolean {
    return woken
  }
}

async function observe<State extends JobState>(
  controller: JobController<State>,
  input: JobInput,
  number: number,
  previous: State | undefined,
): Promise<{ state: State | undefined } | { outcome: Outcome }> {
  try {
    return { state: await controller.observe(input, number, previous) }
  } catch (error) {
    const outcome = temporalRuntime.toOutcome(error)
    if (outcome === undefined) throw error
    // Nothing was seen, so nothing can be final.
    return { outcome: { ...outcome, faults: outcome.faults.map((fault) => ({ ...fault, retryable: true })) } }
  }
}

function startPass<State extends JobState>({ subject, jobID }: JobInput, number: number, state: State): JobPass<State> {
  const { phase, observedGeneration, lastError } = state.target
  const draft: StatusDraft = { phase, observedGeneration, lastError, conditions: [], marks: [], fields: {} }
  return { subject, jobID, number, state, draft }
}

/** Whether there is anything to do for this run at all (R1). */
function verdict<State extends JobState>(controller: JobController<State>, { jobID, state: { target } }: JobPass<State>): RunResult | undefined {
  if (target.jobIDFinished === jobID) return target.phase ?? 'Finished'
  if (target.jobID === jobID) return undefined
  return controller.begin !== undefined && isIdle(target) ? undefined : 'Superseded'
}

async function runPass<State extends JobState>(
  controller: JobController<State>,
  pass: JobPass<State>,
): Promise<{ outcome: Outcome; result: RunResult | undefined }> {
  if (controller.begin !== undefined) {
    const begun = await attemptStep(() => controller.begin?.(pass) ?? Promise.resolve(done))
    if (begun.stopped === SUPERSEDED) return { outcome: done, result: 'Superseded' }
    if (begun.faults.length > 0 || begun.againMs !== undefined) return { outcome: begun, result: undefined }
  }
  return await runPhases(controller, pass)
}

/** The reason with which `begin` says that another run has the job. */
export const SUPERSEDED = 'superseded'

async function runPhases<State extends JobState>(
  { plan }: JobController<State>,
  pass: JobPass<State>,
): Promise<{ outcome: Outcome; result: RunResult | undefined }> {
  const { draft, state } = pass
  if (draft.phase === undefined || draft.phase === '' || plan.finalPhases.includes(draft.phase)) {
    draft.phase = plan.first(state.target.deleting)
    draft.observedGeneration = state.target.generation
    draft.lastError = undefined
    draft.marks.push('initTime')
  }
  for (;;) {
    const name = draft.phase
    const phase = plan.phases[name]
    if (phase === undefined) return finish(pass, plan.failed(name), [{ code: 'UnknownPhase', message: `status.phase is "${name}"; expected one of ${Object.keys(plan.phases).join(', ')}`, retryable: false }])
    const outcome = await attemptStep(() => runStep(phase.step, pass, temporalRuntime))
    if (outcome.stopped === GONE) return { outcome, result: 'Deleted' }
    const final = outcome.faults.filter((fault) => !fault.retryable && fault.code !== CHANGED)
    if (final.length > 0) return finish(pass, plan.failed(name), final)
    if (outcome.faults.length > 0) {
      draft.lastError = errorOf(name, outcome.faults)
      return { outcome, result: undefined }
    }
    if (outcome.againMs !== undefined || outcome.stopped !== undefined) return { outcome, result: undefined }
    draft.phase = phase.next
    if (plan.finalPhases.includes(phase.next)) {
      draft.lastError = undefined
      draft.marks.push('finishedTime')
      return { outcome: done, result: phase.next }
    }
  }
}

/** The reason with which a step says that the subject is gone: its finalizer was the last thing that held it. */
export const GONE = 'gone'

function finish<State extends JobState>(pass: JobPass<State>, phase: string, faults: readonly Fault[]): { outcome: Outcome; result: RunResult } {
  pass.draft.lastError = errorOf(pass.draft.phase ?? '', faults)
  pass.draft.phase = phase
  pass.draft.marks.push('finishedTime')
  return { outcome: done, result: phase }
}

function errorOf(phase: string, faults: readonly Fault[]) {
  return {
    operation: `handlePhase${phase}`,
    reason: faults[0]?.code ?? 'Unknown',
    message: faults.map((fault) => fault.message).join('; '),
    codes: faults.map((fault) => fault.code).filter((code) => code.startsWith('ERR_')),
  }
}

async function attemptStep(run: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await run()
  } catch (error) {
    const outcome = temporalRuntime.toOutcome(error)
    if (outcome === undefined) throw error
    return outcome
  }
}

function due(outcome: Outcome, attempt: number): { againMs: number | undefined; attempt: number } {
  if (outcome.faults.some((fault) => fault.code === CHANGED)) return { againMs: 0, attempt: 0 }
  const retrying = outcome.faults.some((fault) => fault.retryable)
  return { againMs: retrying ? (outcome.againMs ?? Infinity) : outcome.againMs, attempt: retrying ? attempt : 0 }
}

function settleBase({ subject, jobID }: JobInput, pass: number): Pick<SettleInput, 'subject' | 'jobID' | 'pass' | 'workflowID'> {
  return { subject, jobID, pass, workflowID: workflowInfo().workflowId }
}

async function end(settle: SettleActivities, input: JobInput, pass: number, outcome: RunResult): Promise<RunResult> {
  await settle.endRun({ ...settleBase(input, pass), outcome })
  upsertSearchAttributes({ PawlOutcome: [outcome] })
  return outcome
}

