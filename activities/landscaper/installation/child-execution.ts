// Deletes the Execution of an Installation. The hosted job removes its items. Source: spec/landscaper.md 2.4.

import type { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { retryableFailure } from '../../kube/errors.ts'
import { isDeletedWithoutFinalizers } from '../../kube/object-views.ts'
import { type Write, writeAll } from '../../kube/write.ts'
import { addRequest, deleteChild } from '../../run/children.ts'
import { WITHOUT_UNINSTALL } from '../requests.ts'
import { type ChildExecution, childExecution, executionOf } from './views.ts'

export interface ExecutionInput {
  readonly by: By
  readonly subject: Subject
  /** The Execution as the pass observed it. */
  readonly execution: ChildExecution
}

export const childExecutionActivities = (deps: LandscaperDeps) => ({
  /** Deletes the Execution; its finalizer stays until its own job has removed the items. */
  async deleteExecution({
    by,
    subject,
    execution,
    withoutUninstall,
  }: ExecutionInput & { withoutUninstall: boolean }): Promise<ChildExecution | undefined> {
    const write = { by, subject, step: 'deleteExecution' }
    const marked = withoutUninstall ? await mark(deps, write, execution) : execution
    if (marked === undefined || marked.deleting) return marked
    return await writeOne(deps, write, deleteChild(executionOf(subject, marked)))
  },
})

async function mark(
  deps: LandscaperDeps,
  write: { by: By; subject: Subject; step: string },
  execution: ChildExecution,
) {
  return await writeOne(
    deps,
    write,
    addRequest(executionOf(write.subject, execution), WITHOUT_UNINSTALL, () => true),
  )
}

async function writeOne(
  deps: LandscaperDeps,
  { by, subject, step }: { by: By; subject: Subject; step: string },
  write: Write<typeof executionKind>,
): Promise<ChildExecution | undefined> {
  const [answer] = await writeAll(deps, { ...by, step, fieldManager: 'pawl-installation' }, [write])
  switch (answer?.result) {
    case 'ok':
      return isDeletedWithoutFinalizers(answer.object) ? undefined : await childExecution(deps, answer.object, subject)
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
