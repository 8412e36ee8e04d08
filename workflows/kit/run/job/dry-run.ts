// Dry run of a job for `pawl plan -f`: a controller runs its plan with activities that write nothing.

import { done, type Fault, joinOutcomes, type Outcome } from '../../plan/outcome.ts'
import { runStep, type Runtime } from '../../plan/step.ts'
import type { JobPass, JobPlan, JobState } from './job.ts'
import type { GroupKind } from '../../kind/group-kind.ts'
import type { By, Subject } from '../subject.ts'

export interface DryRunRequest {
  readonly by: By
  /** Runs the plan's steps. */
  readonly runtime: Runtime
  /** The activities can read the object. */
  readonly subject: Subject
  readonly jobID: string
}

/** A child that the job runs itself: it gets no own job. */
export interface DryRunItem extends GroupKind {
  readonly name: string
  /** The name that siblings use for it. */
  readonly item: string
  readonly type: string
  /** From 1: items of the same level start together. */
  readonly level: number
  readonly uninstalls: boolean
}

export interface DryRunJob {
  readonly subject: Subject
  /** `waits`: the job waits for something outside of the dry run. */
  readonly end: 'succeeds' | 'fails' | 'waits'
  /** The reason of a failure or wait, as in the status. Part of the JSON output. */
  readonly told?: string
  /** In the order of their start. */
  readonly items: readonly DryRunItem[]
  /** Jobs of children, in the order of their end. */
  readonly jobs: readonly DryRunJob[]
}

/** A controller's dry run; it calls the same activities as its passes. */
export type DryRun = (act: never, asked: DryRunRequest) => Promise<DryRunJob>

/** The result of running phases. */
export interface DryRunPhases {
  /** The phase that did not end, or the phase `until`. */
  readonly phase: string
  readonly end: DryRunJob['end']
  readonly told?: string
}

/** The limit of immediate retries of a step. */
const MOST_AGAIN = 5

/** Runs the phases of a plan from `from` up to `until`, which it does not run. @param enters called with each phase before its step. */
export async function dryRunPhases<State extends JobState, Act>(
  plan: JobPlan<JobPass<State, Act>>,
  pass: JobPass<State, Act>,
  { runtime, from, until, enters }: Walk,
): Promise<DryRunPhases> {
  let phase = from
  while (phase !== until) {
    const { step, next } = plan.phases[phase] ?? {}
    if (step === undefined || next === undefined) throw new Error(`the plan of ${plan.kind} has no phase ${phase}`)
    enters(phase)
    let outcome = done
    for (let tries = 0; tries < MOST_AGAIN; tries++) {
      outcome = await outcomeOf(runtime, async () => await runStep(step, pass, runtime))
      if (outcome.againMs !== 0 || outcome.faults.length > 0) break
    }
    const { faults, stopped } = outcome
    if (faults.length > 0) return { phase, end: 'fails', told: textOf(faults) }
    if (stopped !== undefined) return { phase, end: 'waits', told: stopped }
    phase = next
  }
  return { phase, end: 'succeeds' }
}

interface Walk {
  readonly runtime: Runtime
  readonly from: string
  readonly until: string
  readonly enters: (phase: string) => void
}

async function outcomeOf(runtime: Runtime, run: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await run()
  } catch (error) {
    const outcome = runtime.toOutcome(error)
    if (outcome === undefined) throw error
    return joinOutcomes(done, outcome)
  }
}

function textOf(faults: readonly Fault[]): string {
  return faults.map(({ code, message }) => `${code}: ${message}`).join('; ')
}
