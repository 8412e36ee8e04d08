// Runs of jobs: `runJob` for controllers with phases and hosted children, `runSteps` for controllers whose actions
// write the status themselves. Both settle a pass with one conditional status write and the next due time.
//
//   S1. A pass without changes and without a due time writes nothing. A run that continues still settles it, to learn of events since the
//       observation.
//   S2. One settle writes the end of a job and closes the run's row.
//   S3. A status that the API server rejects occupies no workflow task: the run waits for the journal's back-off like for any other wake.

import type { JobController, JobInput, JobPass, JobState, StepController, StepPass } from '../job/job.ts'
import type { By } from '../subject.ts'
import { type NextPass, retryable } from '../next-pass.ts'
import { type Progress, runPhases, reportBeginFault } from '../job/phases.ts'
import { exitByStop, failedPhases, runFailureOf, earlyExit } from '../job/run-result.ts'
import {
  type ChildChange,
  settleInputOfHosted,
  type SettleActivities,
  type SettleInput,
  type SettleResult,
  statusChange,
  applySettledChildren,
} from '../job/settle.ts'
import { done, joinOutcomes } from '../../plan/outcome.ts'
import type { HostedWork } from './host.ts'
import {
  type LoopStrategy,
  createWakes,
  loop,
  type PassReport,
  type RunResult,
  type Settled,
  type Wakes,
} from './loop.ts'
import { ReconciledObject } from './reconciled-object.ts'
import {
  attempt,
  endlesslyRetriedActivities,
  runOnTemporal,
  showDetails,
  startWork,
  temporalRuntime,
} from './temporal.ts'
import type { HostedResult, SettledTarget, StatusChange } from '../job/job-status.ts'
import { SETTLE_SUMMARIES } from '../temporal-ui.ts'
import { createBackgroundActivities } from '../job/background-activities.ts'

/**
 * Runs the reconcile job of one object.
 *
 * @param hosts run the passes of hosted children.
 */
export async function runJob<State extends JobState, Act>(
  controller: JobController<State, Act>,
  input: JobInput,
  hosts: readonly HostedWork[] = [],
): Promise<RunResult> {
  const wakes = createWakes()
  const show = () =>
    showDetails(
      [root, ...hosts]
        .map((one) => one.details())
        .filter(Boolean)
        .join('\n\n'),
    )
  // Wakes by the run's own work are not external: their faults count against the retry rate.
  const hooks = { wake: wakes.isDue, show }
  const root = new ReconciledObject(controller, hooks)
  for (const host of hosts) host.attach(hooks)
  const works = () => [root.background, ...hosts.flatMap(({ background: background }) => background ?? [])]

  const { serves } = input
  const tree = [input.subject.uid]
  const runOnce = async (acting: By): Promise<JobReport> => {
    const by = { ...acting, tree, ...(serves !== undefined && { serves }) }
    const observed = await attempt(() => controller.observe(controller.act, input, by, () => root.state))
    // Nothing was observed: no fault can be final, and no status can show it.
    if ('outcome' in observed) return { outcome: retryable(observed.outcome), result: undefined, isUnseen: true }
    if (observed.value === undefined) return { outcome: done, result: 'Deleted' }
    const pass = root.start({ ...input, by }, observed.value)
    const ended = earlyExit(pass.state.target, input.jobID, { begins: controller.begin !== undefined })
    if (ended !== undefined) return { outcome: done, result: ended }

    const { outcome: ran, result } = await runPass(controller, pass)
    show()
    const outcome = joinOutcomes(
      ran,
      retryable(root.background.takeFailures()),
      ...pass.hosted.map((one) => one.outcome),
    )
    if (result === 'Superseded') return { outcome, result }
    const change = result === 'Deleted' ? undefined : statusChange(pass, controller.plan.finalPhases)
    return { outcome, result, change, hosted: pass.hosted, applySettled: (target) => root.applySettled(target) }
  }
  const stopWork = () => works().forEach((work) => work.stop())
  const failed = failedPhases(controller.plan)
  const failure = (result: RunResult) => runFailureOf(failed, result, input.jobID, root.state?.target)
  const searchAttributes = () => hosts.flatMap((host) => host.searchAttributes())
  return await loop(
    input,
    wakes,
    jobStrategy(input, wakes, { runPass: runOnce, beforeContinueAsNew: stopWork, failure, searchAttributes }),
  )
}

async function runPass<State extends JobState, Act>(
  { begin, plan, hooks }: JobController<State, Act>,
  pass: JobPass<State, Act>,
): Promise<Progress> {
  const attempted = begin === undefined ? { value: done } : await attempt(() => begin(pass))
  const outcome = 'outcome' in attempted ? attempted.outcome : attempted.value
  const ended = exitByStop(outcome)
  if (ended !== undefined) return { outcome: done, result: ended }
  if (outcome.faults.length > 0) {
    reportBeginFault(plan, pass, outcome.faults)
    return { outcome: retryable(outcome), result: undefined }
  }
  return await runPhases(plan, pass, (step) => runOnTemporal(step, pass, hooks))
}

export interface JobReport extends PassReport {
  readonly change?: StatusChange | undefined
  /** Results of hosted children. */
  readonly hosted?: readonly HostedResult[]
  /** The pass could not observe the object, or not start the job. */
  readonly isUnseen?: true | undefined
  /** Updates the state after settle. */
  applySettled?(target: Partial<SettledTarget>): void
}

/** The loop strategy of jobs. */
export function jobStrategy(
  input: JobInput,
  wakes: Wakes,
  passes: Pick<LoopStrategy<JobReport>, 'runPass' | 'failure' | 'beforeContinueAsNew' | 'searchAttributes'>,
): LoopStrategy<JobReport> {
  const { settle, endRun } = endlesslyRetriedActivities<SettleActivities>(SETTLE_SUMMARIES)
  let refusals = 0
  let gone: readonly Pick<ChildChange, 'by' | 'subject'>[] = []
  const settlePass = async (by: By, report: JobReport, next: NextPass): Promise<Settled> => {
    const { change, result, hosted, isUnseen } = report
    const part = settleInputOfHosted(input.subject, hosted)
    gone = goneOf(hosted)
    const againMs = result === undefined ? next.againMs : undefined
    const isClosed = change?.finished === true
    const said = { ...part, change, againMs, isUnseen }
    if (isNothing(said) && (result !== undefined || wakes.isWoken())) return { result, isClosed }
    const settled = await settle(toSettle({ ...by, ...input, ...next, ...said }, refusals))
    refusals = refusalsAfter(settled, refusals)
    switch (settled.result) {
      case 'superseded':
        return { result: 'Superseded', isClosed: false }
      case 'refused':
        return { result: undefined, isClosed: false }
      case 'overtaken':
        wakes.wake()
        return { result: undefined, isClosed: false }
      case 'settled':
        report.applySettled?.(settled.target)
        applySettledChildren(hosted, settled.children)
        if (settled.woken) wakes.wake()
        return { result, isClosed }
    }
  }
  return {
    ...passes,
    settle: settlePass,
    close: async (by, outcome) => await endRun({ ...by, ...input, outcome, ...(gone.length > 0 && { gone }) }),
    endsWithPendingWake: true,
  }
}

function goneOf(hosted: readonly HostedResult[] = []): readonly Pick<ChildChange, 'by' | 'subject'>[] {
  return hosted.filter(({ isGone }) => isGone).map(({ by, subject }) => ({ by, subject }))
}

/** S3 */
function toSettle(input: SettleInput, refusals: number): SettleInput {
  return refusals === 0 ? input : { ...input, refusals }
}

function refusalsAfter({ result }: SettleResult, before: number): number {
  return result === 'refused' ? before + 1 : 0
}

function isNothing({ children, change, againMs }: Pick<SettleInput, 'children' | 'change' | 'againMs'>): boolean {
  return children === undefined && change === undefined && againMs === undefined
}

/** Runs the job of one object whose actions write the status. */
export async function runSteps<State, Act>(
  controller: StepController<State, Act>,
  input: JobInput,
): Promise<RunResult> {
  const { act, step, shown } = controller
  const { subject, jobID } = input
  const wakes = createWakes()
  let latest: StepPass<State, Act> | undefined
  const background = createBackgroundActivities<State>({
    start: startWork,
    toOutcome: (error) => temporalRuntime.toOutcome(error),
    ended(change) {
      if (latest === undefined) return
      latest.state = change(latest.state)
      showDetails(controller.details(latest))
    },
    wake: wakes.wake,
  })
  const ended = (result: RunResult): JobReport => {
    background.stop()
    return { outcome: done, result }
  }
  const resultOf = (state: State) => {
    const target = shown(state)
    return target === undefined ? 'Deleted' : earlyExit(target, jobID, { begins: true })
  }
  const runOnce = async (by: By): Promise<JobReport> => {
    const observed = await attempt(() => controller.observe(act, input, by, () => latest?.state))
    // Nothing was observed: no fault can be final.
    if ('outcome' in observed) return { outcome: retryable(observed.outcome), result: undefined }
    if (observed.value === undefined) return ended('Deleted')
    const pass = { subject, jobID, by, act, state: observed.value, background }
    latest = pass
    const before = resultOf(pass.state)
    if (before !== undefined) return ended(before)
    const ran = await runOnTemporal(step, pass, controller.hooks)
    showDetails(controller.details(pass))
    const result = exitByStop(ran) ?? resultOf(pass.state)
    if (result !== undefined) return ended(result)
    const outcome = retryable(joinOutcomes(ran, background.takeFailures()))
    return { outcome, result }
  }
  const last = () => (latest === undefined ? undefined : shown(latest.state))
  const failure = (result: RunResult) => runFailureOf(controller.failedPhases, result, jobID, last())
  const stopWork = () => background.stop()
  return await loop(
    input,
    wakes,
    jobStrategy(input, wakes, { runPass: runOnce, beforeContinueAsNew: stopWork, failure }),
  )
}
