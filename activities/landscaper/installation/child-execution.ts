// The Installation's hand on its Execution: the job ID that starts it, and its deletion. Source: spec/landscaper.md 2.3, 2.4.

import { DELETE_WITHOUT_UNINSTALL_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { type By, isIdle, type Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { retryableFailure } from '../../kube/errors.ts'
import { isReleased, targetView } from '../../kube/views.ts'
import { type Patch, type Write, writeAll } from '../../kube/write.ts'
import { forgetInterrupt } from './interrupt.ts'
import { type ChildExecution, childExecution } from './views.ts'

export interface ExecutionInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly execution: ChildExecution
}

export const childExecutionActivities = (deps: LandscaperDeps) => ({
  /**
   * Hands the job ID to the Execution. One that has it already stays as it is.
   *
   * @returns the Execution as it is now; undefined when it is gone.
   * @throws `ExecutionBusy` (retried) while another job of it runs.
   */
  async triggerExecution({ by, subject, jobID, execution }: ExecutionInput): Promise<ChildExecution | undefined> {
    const triggerTime = deps.now().toISOString()
    const patch = {
      status: { jobID, transitionTimes: { triggerTime, initTime: null, waitTime: null, finishedTime: null } },
    }
    return await writeOne(
      deps,
      { by, subject, step: 'triggerExecution' },
      {
        verb: 'patchStatus',
        ...at(subject),
        version: await forgetInterrupt(deps, { by, subject }, execution),
        patch,
        reapply: (current) => retrigger(current, execution, jobID, patch),
      },
    )
  },

  /** Deletes the Execution; its finalizer holds it until its own job has removed the items. */
  async deleteExecution({
    by,
    subject,
    execution,
    withoutUninstall,
  }: ExecutionInput & { withoutUninstall: boolean }): Promise<ChildExecution | undefined> {
    const write = { by, subject, step: 'deleteExecution' }
    const marked = withoutUninstall ? await mark(deps, write, execution) : execution
    if (marked === undefined || marked.deleting) return marked
    return await writeOne(deps, write, { verb: 'delete', ...at(subject), uid: execution.uid, version: marked.version })
  },
})

async function mark(
  deps: LandscaperDeps,
  write: { by: By; subject: Subject; step: string },
  execution: ChildExecution,
) {
  const patch = { metadata: { annotations: { [DELETE_WITHOUT_UNINSTALL_ANNOTATION]: 'true' } } }
  return await writeOne(deps, write, {
    verb: 'patch',
    ...at(write.subject),
    version: execution.version,
    patch,
    reapply: (current) => (current.metadata.uid === execution.uid ? patch : 'superseded'),
  })
}

function at(subject: Subject) {
  return { watched: executionKind, namespace: subject.namespace, name: subject.name }
}

function retrigger(
  current: KubeObject,
  observed: ChildExecution,
  jobID: string,
  patch: Patch,
): Patch | 'done' | 'superseded' {
  if (current.metadata.uid !== observed.uid) return 'superseded'
  const status = targetView(current)
  if (status.jobID === jobID) return 'done'
  // A job that came and went meanwhile means that ours is over: this is the late write of a worker that lost it.
  return isIdle(status) && status.jobID === observed.jobID ? patch : 'superseded'
}

async function writeOne(
  deps: LandscaperDeps,
  { by, subject, step }: { by: By; subject: Subject; step: string },
  write: Write,
): Promise<ChildExecution | undefined> {
  const [answer] = await writeAll(deps, { ...by, step, fieldManager: 'pawl-installation' }, [write])
  switch (answer?.result) {
    case 'ok':
      return isReleased(answer.object) ? undefined : childExecution(answer.object, subject)
    case 'failed':
      throw answer.error
    case 'superseded':
      throw retryableFailure(
        'ExecutionBusy',
        `execution ${subject.namespace}/${subject.name} runs another job, or is not the one that was observed`,
      )
    case 'gone':
    case undefined:
      return undefined
  }
}
