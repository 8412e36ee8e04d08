// The loop of every workflow: wait for a wake, run one pass, settle, wait again; and what a pass of a job is.
// Source: docs/architecture.md "How data flows". It arms no timers: the next due time goes into the journal's wake row.
//
//   R1. A run starts from the phase it observes, never assumes Init, and ends at once when the job is finished.
//   R2. Phases that need no outside event fold into one pass; a pass that changed nothing writes nothing.
//   R3. What ends a job is written in one settle: the final phase with jobIDFinished.
//   R4. A wake that arrives during a pass leads to a pass that starts after it.

import {
  condition,
  continueAsNew,
  defineSignal,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow'
import {
  type By,
  type ErrorReport,
  type GroupController,
  type GroupPass,
  GONE,
  isIdle,
  type JobController,
  type JobInput,
  type JobPass,
  type JobPlan,
  type JobState,
  type StatusDraft,
  SUPERSEDED,
} from './job.ts'
import { done, type Fault, interrupts, joinOutcomes, type Outcome } from '../plan/outcome.ts'
import {
  type SettleActivities,
  type SettledTarget,
  type SettleInput,
  type SettleResult,
  type StatusChange,
  statusChange,
} from './settle.ts'
import { runStep } from '../plan/step.ts'
import { insistentActivities, startWork, temporalRuntime } from './temporal.ts'
import { createTracks } from './tracks.ts'

export { insistentActivities, longActivities, shortActivities } from './temporal.ts'

/** A wake: something journaled up to `seq` concerns the subject. Carries no object (a level, not an edge). */
export const wakeSignal = defineSignal<[{ readonly seq: number }]>('wake')

/** How a run ended: a final phase, `Deleted` when the subject is gone, `Superseded` when the job is another run's, `Done` for groups. */
export type RunResult = string

/** A fault with this code says that the pass looked at an older object than the activity found; the next pass looks again at once. */
export const CHANGED = 'Changed'

interface PassReport {
  readonly outcome: Outcome
  /** How the run ends; undefined while it goes on. */
  readonly result?: RunResult | undefined
  readonly change?: StatusChange | undefined
  /** Work goes on beside the passes, in activities that wait for the end of the workflow task. */
  readonly isBusy?: boolean
  settled?(target: Partial<SettledTarget>): void
}

/** Runs the reconcile job of one subject. */
export async function runJob<State extends JobState, Act>(
  controller: JobController<State, Act>,
  input: JobInput,
): Promise<RunResult> {
  let state: State | undefined
  return await loop(input, async (by) => {
    const observed = await attempt(() => controller.observe(controller.act, input, by, state))
    // Nothing was seen, so nothing can be final.
    if ('outcome' in observed) return { outcome: retryable(observed.outcome) }
    if (observed.value === undefined) return { outcome: done, result: 'Deleted' }
    state = observed.value

    const pass = startPass(input, by, state, controller.act)
    const ended = verdict(controller, pass)
    if (ended !== undefined) return { outcome: done, result: ended }

    const { outcome, result } = await runPass(controller, pass)
    state = pass.state
    setCurrentDetails(controller.details(pass))
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
  })
}

/** Runs a group: many objects of one job, each with a status of its own, which its actions write. */
export async function runGroup<State, Act>(
  controller: GroupController<State, Act>,
  input: JobInput,
): Promise<RunResult> {
  const { act } = controller
  const wakes = createWakes()
  let latest: GroupPass<State, Act> | undefined
  const tracks = createTracks<State>({
    start: startWork,
    toOutcome: (error) => temporalRuntime.toOutcome(error),
    ended(change) {
      if (latest === undefined) return
      latest.state = change(latest.state)
      setCurrentDetails(controller.details(latest))
    },
    wake: wakes.wake,
  })
  const runOnce = async (by: By): Promise<PassReport> => {
    const observed = await attempt(() => controller.observe(act, input, by, () => latest?.state))
    if ('outcome' in observed) return { outcome: retryable(observed.outcome) }
    const pass = {
      subject: input.subject,
      jobID: input.jobID,
      by,
      act,
      state: observed.value,
      tracks,
      wake: wakes.wake,
    }
    latest = pass
    const ran = await attempt(() => runStep(controller.step, pass, temporalRuntime))
    setCurrentDetails(controller.details(pass))
    const outcome = joinOutcomes('outcome' in ran ? ran.outcome : ran.value, tracks.takeFailures())
    const isOver = outcome.faults.length === 0 && tracks.running === 0 && controller.isOver(pass)
    return isOver ? { outcome: done, result: 'Done' } : { outcome: retryable(outcome), isBusy: tracks.running > 0 }
  }
  return await loop(input, runOnce, { wakes, leave: () => tracks.stop() })
}

/** The level that the loop waits for: one or ten wakes lead to one pass. */
export function createWakes() {
  let woken = true
  return {
    wake: () => {
      woken = true
    },
    isWoken: () => woken,
    take: () => {
      woken = false
    },
  }
}

type Wakes = ReturnType<typeof createWakes>

interface LoopOptions {
  readonly wakes?: Wakes
  /** Before the run gives way to the next one of its ID. */
  readonly leave?: () => void
}

async function loop(
  input: JobInput,
  runOnce: (by: By) => Promise<PassReport>,
  { wakes = createWakes(), leave }: LoopOptions = {},
): Promise<RunResult> {
  const { settle, endRun } = insistentActivities<SettleActivities>()
  let attempts = 0
  setHandler(wakeSignal, wakes.wake)
  for (let pass = 1; ; pass++) {
    await condition(wakes.isWoken)
    wakes.take()
    const by = { workflowID: workflowInfo().workflowId, runID: workflowInfo().runId, pass }
    const report = await runOnce(by)
    attempts = report.outcome.faults.length > 0 ? attempts + 1 : 0
    const base = { ...by, ...input, lingers: lingers(report, wakes) }
    const settled = await settlePass(settle, base, report, attempts)
    if (settled === 'overtaken') wakes.wake()
    const result = resultOf(report, settled)
    if (result !== undefined) {
      if (!isClosed(report, settled)) await endRun({ ...by, ...input, outcome: result })
      upsertSearchAttributes({ PawlOutcome: [result] })
      return result
    }
    if (typeof settled === 'object') takeSettled(report, settled, wakes)
    // Also when a wake is pending: the new run begins with a pass (R4).
    if (workflowInfo().continueAsNewSuggested) {
      leave?.()
      await continueAsNew<(input: JobInput) => Promise<RunResult>>(input)
    }
  }
}

/** A run that waits for a change may see it come; one that met a fault, or whose activities are to be sent, gives its task back. */
function lingers({ outcome, result, isBusy = false }: PassReport, wakes: Wakes): boolean {
  return result === undefined && outcome.faults.length === 0 && outcome.againMs !== 0 && !isBusy && !wakes.isWoken()
}

function takeSettled(report: PassReport, { target, woken }: Settled, wakes: Wakes): void {
  report.settled?.(target)
  if (woken) wakes.wake()
}

type Settled = Extract<SettleResult, { result: 'settled' }>
type Unsettled = Exclude<SettleResult, Settled>['result']

function resultOf({ result }: PassReport, settled: Settled | Unsettled | undefined): RunResult | undefined {
  if (settled === 'superseded') return 'Superseded'
  return settled === 'overtaken' ? undefined : result
}

/** A final settle has closed the run's row in the journal. */
function isClosed({ change }: PassReport, settled: Settled | Unsettled | undefined): boolean {
  return settled !== 'superseded' && change?.finished === true
}

async function settlePass(
  settle: SettleActivities['settle'],
  base: Pick<SettleInput, keyof (By & JobInput) | 'lingers'>,
  { outcome, change, result }: PassReport,
  attempts: number,
): Promise<Settled | Unsettled | undefined> {
  const againMs = result === undefined ? dueIn(outcome) : undefined
  if (change === undefined && againMs === undefined && !base.lingers) return undefined
  const isBackingOff = outcome.faults.some((fault) => fault.code !== CHANGED)
  const settled = await settle({
    ...base,
    ...{ change, againMs, attempt: isBackingOff ? attempts : 0, fault: faultOf(outcome) },
  })
  return settled.result === 'settled' ? settled : settled.result
}

/** What people are told of the faults of a pass. */
export function faultOf({ faults }: Outcome): SettleInput['fault'] {
  const [first] = faults
  if (first === undefined) return undefined
  return {
    reason: first.code,
    message: faults
      .map(({ message }) => message)
      .join('; ')
      .slice(0, LONGEST_MESSAGE),
  }
}

// For people; a group of hundreds of items may fail in all of them.
const LONGEST_MESSAGE = 2000

/** Delay until the next pass; with faults the largest number, which settle bounds by its back-off. */
function dueIn(outcome: Outcome): number | undefined {
  if (outcome.faults.length === 0) return outcome.againMs
  return outcome.faults.every((fault) => fault.code === CHANGED) ? 0 : (outcome.againMs ?? Number.MAX_SAFE_INTEGER)
}

function retryable(outcome: Outcome): Outcome {
  return { ...outcome, faults: outcome.faults.map((fault) => ({ ...fault, retryable: true })) }
}

/** Failures of the world as an outcome; everything else is thrown on. */
export async function attempt<T>(run: () => Promise<T>): Promise<{ value: T } | { outcome: Outcome }> {
  try {
    return { value: await run() }
  } catch (error) {
    const outcome = temporalRuntime.toOutcome(error)
    if (outcome === undefined) throw error
    return { outcome }
  }
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

interface Progress {
  readonly outcome: Outcome
  readonly result: RunResult | undefined
}

async function runPass<State extends JobState, Act>(
  controller: JobController<State, Act>,
  pass: JobPass<State, Act>,
): Promise<Progress> {
  const { begin } = controller
  const begun = begin === undefined ? { value: done } : await attempt(() => begin(pass))
  const outcome = 'outcome' in begun ? begun.outcome : begun.value
  if (outcome.stopped === SUPERSEDED) return { outcome: done, result: 'Superseded' }
  if (outcome.faults.length > 0) return { outcome: retryable(outcome), result: undefined }
  return await runPhases(controller, pass)
}

async function runPhases<State extends JobState, Act>(
  { plan }: JobController<State, Act>,
  pass: JobPass<State, Act>,
): Promise<Progress> {
  startPhases(plan, pass)
  for (;;) {
    const name: string = pass.draft.phase ?? ''
    const phase = plan.phases[name]
    if (phase === undefined) return finish(plan, pass, [unknownPhase(plan, name)])
    const ran = await attempt(() => runStep(phase.step, pass, temporalRuntime))
    const outcome = 'outcome' in ran ? ran.outcome : ran.value
    if (outcome.stopped === GONE) return { outcome, result: 'Deleted' }
    const final = outcome.faults.filter((fault) => !fault.retryable && fault.code !== CHANGED)
    if (final.length > 0) return finish(plan, pass, final)
    const retried = outcome.faults.filter((fault) => fault.code !== CHANGED)
    // A step that waits has got over what it met before.
    if (outcome.faults.length === 0 || retried.length > 0) pass.draft.lastError = errorOf(plan, name, retried)
    if (interrupts(outcome)) return { outcome, result: undefined }
    pass.draft.phase = phase.next
    if (plan.finalPhases.includes(phase.next)) {
      pass.draft.marks.push('finishedTime')
      return { outcome: done, result: phase.next }
    }
  }
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

function finish<State extends JobState, Act>(
  plan: JobPlan<JobPass<State, Act>>,
  pass: JobPass<State, Act>,
  faults: readonly Fault[],
): Progress {
  const phase = pass.draft.phase ?? ''
  const result = plan.failed(phase)
  pass.draft.lastError = errorOf(plan, phase, faults)
  pass.draft.phase = result
  pass.draft.marks.push('finishedTime')
  return { outcome: done, result }
}

function errorOf<Pass>(plan: JobPlan<Pass>, phase: string, faults: readonly Fault[]): ErrorReport | undefined {
  if (faults.length === 0) return undefined
  return (plan.report ?? plainReport)(phase, faults)
}

function plainReport(phase: string, faults: readonly Fault[]): ErrorReport {
  const message = faults.map((fault) => fault.message).join('; ')
  return { operation: phase, reason: faults[0]?.code ?? 'Unknown', message }
}
