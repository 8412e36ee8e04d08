// The run of a job whose actions write the status of its object themselves: the same step in every pass, until the object says that the job has
// ended. Work that takes longer than a pass may goes on beside the passes, on tracks.

import type { JobInput, StepController, StepPass } from '../job.ts'
import type { By } from '../subject.ts'
import { retryable } from '../next-pass.ts'
import { failureOf } from '../run-failure.ts'
import { createTracks } from '../tracks.ts'
import { endBy, verdict } from '../verdict.ts'
import { done, joinOutcomes } from '../../plan/outcome.ts'
import { createWakes, loop, type RunResult } from './loop.ts'
import { jobCourse, type JobReport } from './settle-job.ts'
import { attempt, runOnTemporal, showDetails, startWork, temporalRuntime } from './temporal.ts'

/** Runs the job of one subject. */
export async function runSteps<State, Act>(
  controller: StepController<State, Act>,
  input: JobInput,
): Promise<RunResult> {
  const { act, step, shown } = controller
  const { subject, jobID } = input
  const wakes = createWakes()
  let latest: StepPass<State, Act> | undefined
  const tracks = createTracks<State>({
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
    tracks.stop()
    return { outcome: done, result }
  }
  const resultOf = (state: State) => {
    const target = shown(state)
    return target === undefined ? 'Deleted' : verdict(target, jobID, { begins: true })
  }
  const runOnce = async (by: By): Promise<JobReport> => {
    const observed = await attempt(() => controller.observe(act, input, by, () => latest?.state))
    // Nothing was seen, so nothing can be final.
    if ('outcome' in observed) return { outcome: retryable(observed.outcome), result: undefined }
    if (observed.value === undefined) return ended('Deleted')
    const pass = { subject, jobID, by, act, state: observed.value, tracks }
    latest = pass
    const before = resultOf(pass.state)
    if (before !== undefined) return ended(before)
    const ran = await runOnTemporal(step, pass, controller.hooks)
    showDetails(controller.details(pass))
    const result = endBy(ran) ?? resultOf(pass.state)
    if (result !== undefined) return ended(result)
    const outcome = retryable(joinOutcomes(ran, tracks.takeFailures()))
    return { outcome, result }
  }
  const last = () => (latest === undefined ? undefined : shown(latest.state))
  const failure = (result: RunResult) => failureOf(controller.failedPhases, result, jobID, last())
  const leave = () => tracks.stop()
  return await loop(input, wakes, jobCourse(input, wakes, { runPass: runOnce, leave, failure }))
}
