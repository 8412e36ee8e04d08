// Sends batches of writes to the deploy items of an Execution, and returns the result of each item.

import type { deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import { type DeployItemView, deployItemView } from '../deploy-item-view.ts'
import { type KubeError, toApplicationFailure } from '../../kube/errors.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { isDeletedWithoutFinalizers } from '../../kube/object-views.ts'
import { PARALLEL_WRITES, type Write, type WriteAnswer, writeAll } from '../../kube/write.ts'
import { processInTime } from '../../run/process-in-time.ts'
import type { LandscaperDeps } from '../deps.ts'

export const FIELD_MANAGER = 'pawl-execution'

export type ItemWrite = Write<typeof deployItemKind>

type ItemAnswer = WriteAnswer<typeof deployItemKind>

export interface ItemsInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** `item` is for the call's summary; `type` exists if the call hands a job down. */
  readonly items: readonly (Pick<DeployItemView, 'uid' | 'name' | 'version' | 'finalizers' | 'jobID'> &
    Partial<Pick<DeployItemView, 'item' | 'type'>>)[]
}

/** The result of a batch: the current items, deleted items, and the failures per item. */
export interface BatchResult {
  readonly items: readonly DeployItemView[]
  readonly gone: readonly string[]
  readonly failures: readonly {
    readonly object: string
    readonly code: string
    readonly message: string
    readonly retryable: boolean
  }[]
  /** Names of the objects that the call had no time for; the caller passes them again. Absent: none. */
  readonly left?: readonly string[]
}

/**
 * Sends the writes of one step until the time of the call is up.
 *
 * @param onAnswer observes each answer after its write.
 * @throws retryable failures of the journal; failures of single writes are in the result.
 */
export async function send(
  deps: LandscaperDeps,
  { by, step }: { readonly by: By; readonly step: string },
  writes: readonly ItemWrite[],
  onAnswer?: (answer: ItemAnswer) => Promise<void>,
): Promise<BatchResult> {
  const writer = { ...by, step, fieldManager: FIELD_MANAGER }
  const { results, left } = await processInTime(deps, writes, async (part) => {
    const answers = await writeAll(deps, writer, part)
    if (onAnswer !== undefined) await inParallel(answers, PARALLEL_WRITES, onAnswer)
    return answers
  })
  const sent = writes.slice(0, writes.length - left.length)
  return { ...batchResult(deps, by, sent, results.flat()), left: left.map(({ name }) => name) }
}

function batchResult(
  deps: LandscaperDeps,
  by: By,
  writes: readonly ItemWrite[],
  answers: readonly ItemAnswer[],
): BatchResult {
  const items: DeployItemView[] = []
  const gone: string[] = []
  const failures: BatchResult['failures'][number][] = []
  answers.forEach((answer, index) => {
    const object = writes[index]?.name ?? ''
    if (answer.result === 'gone') gone.push(object)
    else if (answer.result === 'failed') failures.push(failureOf(object, answer.error))
    else if (isDeletedWithoutFinalizers(answer.object)) gone.push(object)
    else if (answer.result === 'superseded' && writes[index]?.verb === 'create') {
      failures.push({
        object,
        code: 'NameTaken',
        message: `DeployItem "${object}" exists and has another owner; rename the item or delete that object`,
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
