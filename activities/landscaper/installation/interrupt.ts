// The interrupt of an Installation: handed to its Execution, then taken off. Source: spec/landscaper.md 2.11.
//
//   N1. It is handed over only while the Execution runs the same job, so that it never waits there for a later one.
//   N2. It is taken off last, so that a crash in between repeats it. Handed over twice it ends nothing twice.

import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject, WatchedKind } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { targetView } from '../../kube/views.ts'
import { ask, isRunning, withdraw } from '../../run/children.ts'
import { INTERRUPT } from '../requests.ts'
import { type Write, type WriteAnswer, writeAll } from '../../kube/write.ts'
import { type ChildExecution, executionOf, type InstallationView, installationView } from './views.ts'

export interface InterruptInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** The version of the Installation that the pass observed. */
  readonly version: string
  /** The Execution that runs the job; undefined: none does. */
  readonly execution: ChildExecution | undefined
}

type Step = Pick<InterruptInput, 'by' | 'subject'>

export const interruptActivities = (deps: LandscaperDeps) => ({
  /**
   * Hands the interrupt to the Execution and takes it off the Installation. Idempotent.
   *
   * @returns the Installation as it is now; undefined when it is gone or has another job.
   * @throws retryable failures of the API server.
   */
  async interruptInstallation(input: InterruptInput): Promise<InstallationView | undefined> {
    if (input.execution !== undefined) await handOver(deps, input, input.execution)
    const answer = await takeOff(deps, input)
    return answer?.result === 'ok' ? installationView(answer.object) : undefined
  },
})

/** Takes off an idle Execution the interrupt of a job that is over, before the next is handed out. @returns the version to go on from. */
export async function forgetInterrupt(deps: LandscaperDeps, step: Step, execution: ChildExecution): Promise<string> {
  if (!execution.interruptRequested) return execution.version
  const isSameJob = (current: KubeObject) => targetView(current).jobID === execution.jobID
  const write = withdraw(executionOf(step.subject, execution), INTERRUPT, isSameJob)
  const answer = await writeOne(deps, step, 'forgetInterrupt', write)
  return answer?.result === 'ok' ? answer.object.metadata.resourceVersion : execution.version
}

async function handOver(deps: LandscaperDeps, input: InterruptInput, execution: ChildExecution): Promise<void> {
  const isMeant = (current: KubeObject) => isRunning(current, input.jobID)
  const write = ask(executionOf(input.subject, execution), INTERRUPT, isMeant)
  await writeOne(deps, input, 'interruptInstallation', write)
}

async function takeOff(
  deps: LandscaperDeps,
  input: InterruptInput,
): Promise<WriteAnswer<typeof installationKind> | undefined> {
  const { subject, jobID, version } = input
  const isMeant = (current: KubeObject) => isRunning(current, jobID)
  const write = withdraw({ ...subject, watched: installationKind, version }, INTERRUPT, isMeant)
  return await writeOne(deps, input, 'interruptInstallation', write)
}

async function writeOne<Watched extends WatchedKind>(
  deps: LandscaperDeps,
  { by }: Step,
  step: string,
  write: Write<Watched>,
): Promise<WriteAnswer<Watched> | undefined> {
  const [answer] = await writeAll(deps, { ...by, step, fieldManager: 'pawl-installation' }, [write])
  if (answer?.result === 'failed') throw answer.error
  return answer
}
