// The run of a job: passes over one object, phase by phase, until the job has ended; with those of the children that it hosts.

import type { JobController, JobInput, JobPass, JobState } from '../job.ts'
import type { By } from '../subject.ts'
import { retryable } from '../next-pass.ts'
import { type Progress, runPhases, tellBegin } from '../phases.ts'
import { failedPhases, failureOf } from '../run-failure.ts'
import { statusChange } from '../settle.ts'
import { endBy, verdict } from '../verdict.ts'
import { done, joinOutcomes } from '../../plan/outcome.ts'
import type { HostedWork } from './host.ts'
import { createWakes, loop, type RunResult } from './loop.ts'
import { Member } from './member.ts'
import { jobCourse, type JobReport } from './settle-job.ts'
import { attempt, runOnTemporal, showDetails } from './temporal.ts'

/**
 * Runs the reconcile job of one subject.
 *
 * @param hosts what the controller's steps run the passes of children with.
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
  // What the run itself has under way is nothing from outside: its failures take turns with other retries.
  const hooks = { wake: wakes.isDue, show }
  const root = new Member(controller, hooks)
  for (const host of hosts) host.attach(hooks)
  const works = () => [root.tracks, ...hosts.flatMap(({ tracks }) => tracks ?? [])]

  const { serves } = input
  const tree = [input.subject.uid]
  const runOnce = async (acting: By): Promise<JobReport> => {
    const by = { ...acting, tree, ...(serves !== undefined && { serves }) }
    const observed = await attempt(() => controller.observe(controller.act, input, by, () => root.state))
    // Nothing was seen, so nothing can be final, and there is no status to say it in.
    if ('outcome' in observed) return { outcome: retryable(observed.outcome), result: undefined, isUnseen: true }
    if (observed.value === undefined) return { outcome: done, result: 'Deleted' }
    const pass = root.start({ ...input, by }, observed.value)
    const ended = verdict(pass.state.target, input.jobID, { begins: controller.begin !== undefined })
    if (ended !== undefined) return { outcome: done, result: ended }

    const { outcome: ran, result } = await runPass(controller, pass)
    show()
    const outcome = joinOutcomes(ran, retryable(root.tracks.takeFailures()), ...pass.hosted.map((one) => one.outcome))
    if (result === 'Superseded') return { outcome, result }
    const change = result === 'Deleted' ? undefined : statusChange(pass, controller.plan.finalPhases)
    return { outcome, result, change, hosted: pass.hosted, settled: (target) => root.settled(target) }
  }
  const leave = () => works().forEach((work) => work.stop())
  const failed = failedPhases(controller.plan)
  const failure = (result: RunResult) => failureOf(failed, result, input.jobID, root.state?.target)
  const found = () => hosts.flatMap((host) => host.found())
  return await loop(input, wakes, jobCourse(input, wakes, { runPass: runOnce, leave, failure, found }))
}

async function runPass<State extends JobState, Act>(
  { begin, plan, hooks }: JobController<State, Act>,
  pass: JobPass<State, Act>,
): Promise<Progress> {
  const begun = begin === undefined ? { value: done } : await attempt(() => begin(pass))
  const outcome = 'outcome' in begun ? begun.outcome : begun.value
  const ended = endBy(outcome)
  if (ended !== undefined) return { outcome: done, result: ended }
  if (outcome.faults.length > 0) {
    tellBegin(plan, pass, outcome.faults)
    return { outcome: retryable(outcome), result: undefined }
  }
  return await runPhases(plan, pass, (step) => runOnTemporal(step, pass, hooks))
}
