// What a job would do, told before there is one: how a controller answers `pawl plan -f` by running its plan with activities that write nowhere.

import { done, type Fault, joinOutcomes, type Outcome } from '../../plan/outcome.ts'
import type { Runtime } from '../../plan/runtime.ts'
import { runStep } from '../../plan/step.ts'
import type { JobPass, JobPlan, JobState } from './job.ts'
import type { By, Subject } from '../subject.ts'

export interface DryRunRequest {
  readonly by: By
  /** How the plan's steps are run. */
  readonly runtime: Runtime
  /** It is to be there for the activities. */
  readonly subject: Subject
  readonly jobID: string
}

/** One child that the job brings to work, and takes no job of its own from. */
export interface DryRunItem {
  readonly name: string
  /** By which its siblings mean it. */
  readonly item: string
  readonly type: string
  /** From 1: those of one level begin together. */
  readonly level: number
  readonly uninstalls: boolean
}

export interface DryRunJob {
  readonly subject: Subject
  /** `waits`: it comes so far, and then waits for something that is beside what was asked. */
  readonly end: 'succeeds' | 'fails' | 'waits'
  /** What it fails of or waits for, as its status would say. */
  readonly told?: string
  /** In the order in which they begin. */
  readonly items: readonly DryRunItem[]
  /** Jobs that it hands down, in the order in which they end. */
  readonly jobs: readonly DryRunJob[]
}

/** What a controller answers with; its activities are those of its own passes. */
export type DryRun = (act: never, asked: DryRunRequest) => Promise<DryRunJob>

/** How far the phases of a plan come. */
export interface DryRunPhases {
  /** The phase that did not end, or the one at which it was to stop. */
  readonly phase: string
  readonly end: DryRunJob['end']
  readonly told?: string
}

/** One that asks to be called again at once is, so often. */
const MOST_AGAIN = 5

/** Runs the phases of a plan from its first up to one that is not run any more. @param enters told of each phase before its step. */
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
