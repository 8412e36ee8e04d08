// The mock deployer: does nothing, and says what it was told to say. Source: spec/landscaper.md 4.8, 2.9, 4.9.
//
//   M1. One write per item and job when the item ends at once, one more for an export.
//   M2. All items of a batch are written together; one that fails delays none of its siblings.

import { deployItemKind, MOCK_TYPE } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { By, Subject } from '../../../../workflows/kit/index.ts'
import type { Deps } from '../../../deps.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { deployItemView } from '../../deploy-item-view.ts'
import { isFinal, toApplicationFailure } from '../../../kube/errors.ts'
import { isReleased } from '../../../kube/views.ts'
import { readSubject } from '../../../kube/read-family.ts'
import { targetView } from '../../../kube/views.ts'
import { type Patch, type Write, type WriteAnswer, type Writer, writeAll } from '../../../kube/write.ts'
import {
  ended,
  failing,
  FINAL_PHASES,
  isStarting,
  isUnchanged,
  type ItemJob,
  itemStatus,
  pickedUp,
  remainingMs,
  timeoutProblem,
  unchanged,
} from '../run/item-status.ts'
import { releaseWrite, statusWrite, warnOfError } from '../run/item-write.ts'
import { type MockConfig, readMockConfig } from './mock-config.ts'
import { type ExportFailure, type ItemExport, mockExportName, writeExports } from '../run/item-export.ts'
import { groupItem, listGroupObjects } from '../run/observe.ts'
import type { GroupItem } from '../run/views.ts'

export interface DeployInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly uids: readonly string[]
  readonly ownVersion: number
}

export interface DeployResult {
  readonly items: readonly GroupItem[]
  readonly gone: readonly string[]
  readonly failures: readonly { readonly object: string; readonly code: string; readonly message: string }[]
}

const WRITER = 'pawl-deploy'

export const mockActivities = (deps: Deps) => ({
  /**
   * Brings mock items to what their configurations say, in this job. Idempotent: an item that is finished, or that waits as told, is left alone.
   *
   * @returns the items as they are now; failures per item, to be tried again.
   */
  async deployMockItems({ by, subject, jobID, uids, ownVersion }: DeployInput): Promise<DeployResult> {
    try {
      const now = deps.now()
      const job = { jobID, now, deployer: 'mock' }
      const all = await readItems(deps, subject, ownVersion)
      const decided = all
        .filter((object) => uids.includes(object.metadata.uid ?? ''))
        .map((object) => decide({ object, ...job }))
      const exports = decided.flatMap(({ exported }) => exported ?? [])
      const refused = await writeExports(deps, { ...by, step: 'exportMockItems', fieldManager: WRITER }, exports)
      const steps = decided.map((step) => withoutExport(step, job, refused))
      const first = await write(deps, { ...by, step: 'deployMockItems', fieldManager: WRITER }, steps)
      // What the server refuses is not tried in vain for ever: the item ends, and says why.
      const ends = first.flatMap(({ step, answer }) => refusedEnd(step, answer, job))
      const second = await write(deps, { ...by, step: 'endRefusedItems', fieldManager: WRITER }, ends)
      const ended = new Set(ends.map(({ object }) => object))
      const written = [...first.filter(({ step }) => !ended.has(step.object)), ...second]
      for (const { answer } of written) await warnOfError(deps, jobID, answer)
      return result(steps, written, now)
    } catch (error) {
      throw toApplicationFailure(error)
    }
  },
})

async function readItems(deps: Deps, subject: Subject, ownVersion: number): Promise<readonly KubeObject[]> {
  if (subject.kind === 'Execution') return await listGroupObjects(deps, subject, ownVersion)
  const item = await readSubject(deps, deployItemKind, subject)
  return item === undefined ? [] : [item]
}

interface MockStep {
  readonly object: KubeObject
  readonly write?: Write
  readonly exported?: ItemExport
  /** To be tried again. */
  readonly failure?: ExportFailure
}

interface Written {
  readonly step: MockStep
  readonly answer: WriteAnswer
}

async function write(deps: Deps, writer: Writer, steps: readonly MockStep[]): Promise<Written[]> {
  const acting = steps.flatMap((step) => (step.write === undefined ? [] : [{ step, write: step.write }]))
  const writes = acting.map((one) => one.write)
  const answers = await writeAll(deps, writer, writes)
  return acting.flatMap(({ step }, index) => {
    const answer = answers[index]
    return answer === undefined ? [] : [{ step, answer }]
  })
}

/** An item whose export could not be written does not say that it was. */
function withoutExport(
  step: MockStep,
  job: Omit<ItemJob, 'object'>,
  refused: ReadonlyMap<string, ExportFailure>,
): MockStep {
  const { object } = step
  const failure = refused.get(object.metadata.uid ?? '')
  if (failure === undefined) return step
  const item = { ...job, object }
  const { code: reason, message } = failure
  const error = { operation: 'Export', reason, message }
  if (failure.isFinal) {
    const patch = ended(item, 'Failed', {}, { ...error, codes: ['ERR_CONFIGURATION_PROBLEM'] })
    return { object, write: statusWrite(item, patch) }
  }
  const patch = reason === 'Changed' ? undefined : failing(item, error)
  return { object, failure, ...(patch !== undefined && { write: statusWrite(item, patch) }) }
}

function refusedEnd({ object, write }: MockStep, answer: WriteAnswer, job: Omit<ItemJob, 'object'>): MockStep[] {
  if (write?.verb !== 'patchStatus' || answer.result !== 'failed' || !isFinal(answer.error)) return []
  const item = { ...job, object }
  const { reason, message } = answer.error
  const error = { operation: 'Reconcile', reason, message, codes: ['ERR_CONFIGURATION_PROBLEM'] }
  return [{ object, write: statusWrite(item, ended(item, 'Failed', {}, error)) }]
}

function decide(job: ItemJob): MockStep {
  const { object, jobID } = job
  const { jobID: current, jobIDFinished, deleting } = targetView(object)
  if (current !== jobID || jobIDFinished === jobID || deployItemView(object).type !== MOCK_TYPE) return { object }
  if (deleting) return { object, write: releaseWrite(object) }
  const { patch, exported } = nextStatus(job)
  if (patch === undefined) return { object }
  return {
    object,
    write: statusWrite(job, patch),
    ...(exported !== undefined && { exported: { object, name: mockExportName(object), content: exported } }),
  }
}

interface NextStatus {
  /** Undefined: the item waits as it was told to. */
  readonly patch: Patch | undefined
  readonly exported?: Readonly<Record<string, unknown>>
}

function nextStatus(job: ItemJob): NextStatus {
  if (isUnchanged(job)) return { patch: unchanged(job) }
  const wrong = timeoutProblem(job.object)
  const config = wrong === undefined ? readMockConfig(job.object) : { problem: wrong }
  if ('problem' in config) {
    const codes = ['ERR_CONFIGURATION_PROBLEM']
    const error = { operation: 'Reconcile', reason: 'InvalidConfiguration', message: config.problem, codes }
    return { patch: ended(job, 'Failed', {}, error) }
  }
  const remaining = remainingMs(job.object, job.now)
  if (!isStarting(job) && remaining !== undefined && remaining <= 0) return { patch: timedOut(job) }
  return { patch: configured(job, config), ...(config.export !== undefined && { exported: config.export }) }
}

function timedOut(job: ItemJob): Patch {
  const message = 'timeout at: "mock deployer: waiting in the phase that the configuration names"'
  return ended(
    job,
    'Failed',
    {},
    { operation: 'Reconcile', reason: 'ProgressingTimeout', message, codes: ['ERR_TIMEOUT'] },
  )
}

function configured(job: ItemJob, config: MockConfig): Patch | undefined {
  const { namespace } = job.object.metadata
  const fields = {
    ...(config.providerStatus !== undefined && { providerStatus: config.providerStatus }),
    ...(config.export !== undefined && { exportRef: { name: mockExportName(job.object), namespace } }),
  }
  const phase = config.phase ?? config.initialPhase ?? 'Succeeded'
  if (FINAL_PHASES.includes(phase)) {
    const message = `the configuration asks for phase ${phase}`
    const error = phase === 'Succeeded' ? undefined : { operation: 'Reconcile', reason: 'MockPhase', message }
    return ended(job, phase, fields, error)
  }
  return isStarting(job) || itemStatus(job).phase !== phase ? pickedUp(job, phase, fields) : undefined
}

function result(steps: readonly MockStep[], written: readonly Written[], now: Date): DeployResult {
  const items = steps.filter((step) => step.write === undefined).map((step) => groupItem(step.object, now))
  const gone: string[] = []
  const failures: DeployResult['failures'][number][] = steps.flatMap(({ object, failure }) =>
    failure === undefined ? [] : [{ object: object.metadata.name, code: failure.code, message: failure.message }],
  )
  for (const { step, answer } of written) {
    const { name, uid = '' } = step.object.metadata
    if (answer.result === 'failed') {
      failures.push({ object: name, code: answer.error.reason, message: answer.error.message })
    } else if (answer.result === 'gone' || isReleased(answer.object)) gone.push(uid)
    else items.push(groupItem(answer.object, now))
  }
  return { items, gone, failures }
}
