// The run of a group: many objects of one job, each with a status of its own, which its actions write. Work that takes longer than a pass
// may goes on beside the passes, on tracks.

import type { GroupController, GroupPass, JobInput } from '../job.ts'
import type { By } from '../subject.ts'
import { retryable } from '../next-pass.ts'
import { createTracks } from '../tracks.ts'
import { done, joinOutcomes } from '../../plan/outcome.ts'
import { createWakes, loop, type RunResult } from './loop.ts'
import { jobCourse, type JobReport } from './settle-job.ts'
import { attempt, runOnTemporal, showDetails, startWork, temporalRuntime } from './temporal.ts'

/** Runs a group until nothing is left to do, and nothing more will come. */
export async function runGroup<State, Act>(
  controller: GroupController<State, Act>,
  input: JobInput,
): Promise<RunResult> {
  const { act } = controller
  const { subject, jobID } = input
  const wakes = createWakes()
  let latest: GroupPass<State, Act> | undefined
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
  const runOnce = async (by: By): Promise<JobReport> => {
    const observed = await attempt(() => controller.observe(act, input, by, () => latest?.state))
    if ('outcome' in observed) return { outcome: retryable(observed.outcome), result: undefined }
    const pass = { subject, jobID, by, act, state: observed.value, tracks, wake: wakes.wake }
    latest = pass
    const ran = await runOnTemporal(controller.step, pass)
    showDetails(controller.details(pass))
    const outcome = joinOutcomes(ran, tracks.takeFailures())
    const isOver = outcome.faults.length === 0 && tracks.running === 0 && controller.isOver(pass)
    if (isOver) return { outcome: done, result: 'Done' }
    return { outcome: retryable(outcome), result: undefined }
  }
  const leave = () => tracks.stop()
  return await loop(input, wakes, jobCourse(input, wakes, { runPass: runOnce, leave }))
}
