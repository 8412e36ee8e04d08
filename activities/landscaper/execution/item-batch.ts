// Batches of writes to the deploy items of an Execution, and what became of each item.

import type { deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import { type DeployItemView, deployItemView } from '../deploy-item-view.ts'
import { type KubeError, toApplicationFailure } from '../../kube/errors.ts'
import { isReleased } from '../../kube/views.ts'
import { type Write, type WriteAnswer, writeAll } from '../../kube/write.ts'
import type { LandscaperDeps } from '../deps.ts'

export const FIELD_MANAGER = 'pawl-execution'

export type ItemWrite = Write<typeof deployItemKind>

export interface ItemsInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** `item` is for people who read the call's summary. */
  readonly items: readonly (Pick<DeployItemView, 'uid' | 'name' | 'version' | 'finalizers' | 'jobID'> &
    Partial<Pick<DeployItemView, 'item'>>)[]
}

/** What became of a batch: the items as they are now, those that are gone, and what went wrong per item. */
export interface BatchResult {
  readonly items: readonly DeployItemView[]
  readonly gone: readonly string[]
  readonly failures: readonly {
    readonly object: string
    readonly code: string
    readonly message: string
    readonly retryable: boolean
  }[]
}

/** Sends the writes of one step. @throws retryable failures of the journal; those of single writes are in the result. */
export async function send(
  deps: LandscaperDeps,
  { by, step }: { readonly by: By; readonly step: string },
  writes: readonly ItemWrite[],
): Promise<BatchResult> {
  return batchResult(deps, by, writes, await writeAll(deps, { ...by, step, fieldManager: FIELD_MANAGER }, writes))
}

export function batchResult(
  deps: LandscaperDeps,
  by: By,
  writes: readonly ItemWrite[],
  answers: readonly WriteAnswer<typeof deployItemKind>[],
): BatchResult {
  const items: DeployItemView[] = []
  const gone: string[] = []
  const failures: BatchResult['failures'][number][] = []
  answers.forEach((answer, index) => {
    const object = writes[index]?.name ?? ''
    if (answer.result === 'gone') gone.push(object)
    else if (answer.result === 'failed') failures.push(failureOf(object, answer.error))
    else if (isReleased(answer.object)) gone.push(object)
    else if (answer.result === 'superseded' && writes[index]?.verb === 'create') {
      failures.push({
        object,
        code: 'NameTaken',
        message: `deploy item ${object} exists and belongs to somebody else`,
        retryable: false,
      })
    } else items.push(deployItemView(answer.object, by, deps))
  })
  return { items, gone, failures }
}

function failureOf(object: string, error: KubeError) {
  const failure = toApplicationFailure(error)
  return { object, code: error.reason, message: failure.message, retryable: failure.nonRetryable !== true }
}
