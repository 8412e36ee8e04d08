// The mock deployer: does nothing, and says what it was told to say. Source: spec/landscaper.md 4.8, 2.9, 4.9.
//
//   M1. One write per item and job when the item ends at once, one more for an export.
//   M2. All items of a batch are written together; one that fails delays none of its siblings.

import { deployItemKind, MOCK_TYPE } from '../../workflows/deploy-item/kind.ts'
import type { By, Subject } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { deployItemView } from '../kube/deploy-item-view.ts'
import { toApplicationFailure } from '../kube/errors.ts'
import { recordWarning } from '../kube/events.ts'
import { finalizerPatch, isReleased } from '../kube/finalize.ts'
import { readObject } from '../kube/observe.ts'
import { targetView } from '../kube/views.ts'
import { type Patch, type Write, type WriteAnswer, writeAll } from '../kube/write.ts'
import { ended, FINAL_PHASES, isStarting, type ItemJob, itemStatus, pickedUp } from './item-status.ts'
import { type MockConfig, readMockConfig } from './mock-config.ts'
import { exportName, type MockExport, writeExports } from './mock-export.ts'
import { groupItem, listGroupObjects } from './observe.ts'
import type { GroupItem } from './views.ts'

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
      const all = await readItems(deps, subject, ownVersion)
      const steps = all
        .filter((object) => uids.includes(object.metadata.uid ?? ''))
        .map((object) => decide({ object, jobID, now }))
      const exports = steps.flatMap(({ exported }) => exported ?? [])
      await writeExports(deps, { ...by, step: 'exportMockItems', fieldManager: WRITER }, exports)
      const acting = steps.filter((step) => step.write !== undefined)
      const writes = acting.flatMap((step) => step.write ?? [])
      const answers = await writeAll(deps, { ...by, step: 'deployMockItems', fieldManager: WRITER }, writes)
      await warnOfErrors(deps, jobID, answers)
      return result(steps, acting, answers, now)
    } catch (error) {
      throw toApplicationFailure(error)
    }
  },
})

async function readItems(deps: Deps, subject: Subject, ownVersion: number): Promise<readonly KubeObject[]> {
  if (subject.kind === 'Execution') return await listGroupObjects(deps, subject, ownVersion)
  const item = await readObject(deps, deployItemKind, subject.namespace, subject.name)
  return item?.metadata.uid === subject.uid ? [item] : []
}

interface MockStep {
  readonly object: KubeObject
  readonly write?: Write
  readonly exported?: MockExport
}

function decide(job: ItemJob): MockStep {
  const { object, jobID } = job
  const { jobID: current, jobIDFinished, deleting, finalizers } = targetView(object)
  if (current !== jobID || jobIDFinished === jobID || deployItemView(object).type !== MOCK_TYPE) return { object }
  if (deleting) return { object, write: releaseItem(object, finalizers) }
  const { patch, exported } = nextStatus(job)
  if (patch === undefined) return { object }
  return {
    object,
    write: statusWrite(job, patch),
    ...(exported !== undefined && { exported: { object, content: exported } }),
  }
}

function at({ metadata }: KubeObject) {
  const { name, namespace = '', resourceVersion: version = '' } = metadata
  return { watched: deployItemKind, namespace, name, version }
}

function releaseItem(object: KubeObject, finalizers: readonly string[]): Write {
  return {
    verb: 'patch',
    ...at(object),
    patch: finalizerPatch(finalizers, false),
    reapply: ({ metadata }) =>
      metadata.uid === object.metadata.uid ? finalizerPatch(metadata.finalizers ?? [], false) : 'superseded',
  }
}

function statusWrite({ object, jobID }: ItemJob, patch: Patch): Write {
  return {
    verb: 'patchStatus',
    ...at(object),
    patch,
    reapply: (current) => {
      const { jobID: found, jobIDFinished } = targetView(current)
      if (current.metadata.uid !== object.metadata.uid || found !== jobID) return 'superseded'
      return jobIDFinished === jobID ? 'done' : patch
    },
  }
}

interface NextStatus {
  /** Undefined: the item waits as it was told to. */
  readonly patch: Patch | undefined
  readonly exported?: Readonly<Record<string, unknown>>
}

function nextStatus(job: ItemJob): NextStatus {
  if (isUnchanged(job)) return { patch: { status: { jobIDFinished: job.jobID } } }
  const config = readMockConfig(job.object)
  if ('problem' in config) {
    const codes = ['ERR_CONFIGURATION_PROBLEM']
    const error = { operation: 'Reconcile', reason: 'InvalidConfiguration', message: config.problem, codes }
    return { patch: ended(job, 'Failed', {}, error) }
  }
  const remaining = groupItem(job.object, job.now).remainingMs
  if (!isStarting(job) && remaining !== undefined && remaining <= 0) return { patch: timedOut(job) }
  return { patch: configured(job, config), ...(config.export !== undefined && { exported: config.export }) }
}

// Source: spec/landscaper.md 2.9 "updateOnChangeOnly".
function isUnchanged(job: ItemJob): boolean {
  const { phase, observedGeneration } = itemStatus(job)
  const { updateOnChangeOnly } = (job.object['spec'] ?? {}) as { updateOnChangeOnly?: boolean }
  return updateOnChangeOnly === true && phase === 'Succeeded' && observedGeneration === job.object.metadata.generation
}

function timedOut(job: ItemJob): Patch {
  const message = 'timeout at: "mock deployer: waiting in the phase that the configuration names"'
  return ended(job, 'Failed', {}, { operation: 'Reconcile', reason: 'ProgressingTimeout', message, codes: ['ERR_TIMEOUT'] })
}

function configured(job: ItemJob, config: MockConfig): Patch | undefined {
  const { namespace } = job.object.metadata
  const fields = {
    ...(config.providerStatus !== undefined && { providerStatus: config.providerStatus }),
    ...(config.export !== undefined && { exportRef: { name: exportName(job.object), namespace } }),
  }
  const phase = config.phase ?? config.initialPhase ?? 'Succeeded'
  if (FINAL_PHASES.includes(phase)) {
    const message = `the configuration asks for phase ${phase}`
    const error = phase === 'Succeeded' ? undefined : { operation: 'Reconcile', reason: 'MockPhase', message }
    return ended(job, phase, fields, error)
  }
  return isStarting(job) || itemStatus(job).phase !== phase ? pickedUp(job, phase, fields) : undefined
}

async function warnOfErrors(deps: Deps, jobID: string, answers: readonly WriteAnswer[]): Promise<void> {
  for (const answer of answers) {
    if (answer.result !== 'ok' || !answer.wrote) continue
    const { lastError } = itemStatus(answer)
    if (lastError === undefined) continue
    const { name, namespace = '', uid = '' } = answer.object.metadata
    await recordWarning(deps, { kind: deployItemKind.kind, namespace, name, uid }, jobID, lastError)
  }
}

function result(
  steps: readonly MockStep[],
  acting: readonly MockStep[],
  answers: readonly WriteAnswer[],
  now: Date,
): DeployResult {
  const items = steps.filter((step) => step.write === undefined).map((step) => groupItem(step.object, now))
  const gone: string[] = []
  const failures: DeployResult['failures'][number][] = []
  answers.forEach((answer, index) => {
    const { name, uid = '' } = acting[index]?.object.metadata ?? { name: '' }
    if (answer.result === 'failed') {
      failures.push({ object: name, code: answer.error.reason, message: answer.error.message })
    } else if (answer.result === 'gone' || isReleased(answer.object)) gone.push(uid)
    else items.push(groupItem(answer.object, now))
  })
  return { items, gone, failures }
}
