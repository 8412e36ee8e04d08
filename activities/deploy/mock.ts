// The mock deployer: does nothing, and says what it was told to say. Source: spec/landscaper.md 4.8, 2.9, 4.9.
//
//   M1. One write per item and job when the item ends at once, one more for an export.
//   M2. All items of a batch are written together; one that fails delays none of its siblings.

import { createHash } from 'node:crypto'
import { deployItemKind, MOCK_TYPE } from '../../workflows/deploy-item/kind.ts'
import { type By, nextError, type LastError, type Subject } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { deployItemView } from '../kube/deploy-item-view.ts'
import { toApplicationFailure } from '../kube/errors.ts'
import { finalizerPatch, isReleased } from '../kube/finalize.ts'
import { readObject } from '../kube/observe.ts'
import { secretResource } from '../kube/secrets.ts'
import { targetView } from '../kube/views.ts'
import { type Patch, type Write, type WriteAnswer, writeAll } from '../kube/write.ts'
import { groupItem, listGroupObjects } from './observe.ts'
import { readMockConfig } from './mock-config.ts'
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

const FINAL_PHASES = ['Succeeded', 'Failed', 'DeleteFailed']
const WRITER = 'pawl-deploy'

export const mockActivities = (deps: Deps) => ({
  /**
   * Brings mock items to what their configurations say, in this job. Idempotent: an item that is finished, or that waits as told, is left alone.
   *
   * @returns the items as they are now; failures per item, to be tried again.
   */
  async deployMockItems({ by, subject, jobID, uids, ownVersion }: DeployInput): Promise<DeployResult> {
    try {
      const objects = (await readItems(deps, subject, ownVersion)).filter((object) => uids.includes(object.metadata.uid ?? ''))
      const steps = objects.map((object) => decide(object, jobID, deps.now()))
      await exportAll(deps, by, steps)
      const acting = steps.filter((step) => step.write !== undefined)
      const answers = await writeAll(deps, { ...by, step: 'deployMockItems', fieldManager: WRITER }, acting.flatMap((step) => step.write ?? []))
      return result(steps, acting, answers, deps.now())
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
  readonly write: Write | undefined
  readonly exported: { readonly name: string; readonly content: string } | undefined
}

function decide(object: KubeObject, jobID: string, now: Date): MockStep {
  const { jobID: current, jobIDFinished, deleting, finalizers } = targetView(object)
  const idle = { object, write: undefined, exported: undefined }
  if (current !== jobID || jobIDFinished === jobID || deployItemView(object).type !== MOCK_TYPE) return idle
  if (deleting) return { ...idle, write: releaseItem(object, finalizers) }
  const { patch, exported } = nextStatus(object, jobID, now)
  return patch === undefined ? idle : { object, write: statusWrite(object, jobID, patch), exported }
}

function at({ metadata }: KubeObject) {
  return { watched: deployItemKind, namespace: metadata.namespace ?? '', name: metadata.name, version: metadata.resourceVersion ?? '' }
}

function releaseItem(object: KubeObject, finalizers: readonly string[]): Write {
  return {
    verb: 'patch',
    ...at(object),
    patch: finalizerPatch(finalizers, false),
    reapply: (current) => (current.metadata.uid === object.metadata.uid ? finalizerPatch(current.metadata.finalizers ?? [], false) : 'superseded'),
  }
}

function statusWrite(object: KubeObject, jobID: string, patch: Patch): Write {
  return {
    verb: 'patchStatus',
    ...at(object),
    patch,
    reapply: (current) => {
      const { jobID: now, jobIDFinished } = targetView(current)
      if (current.metadata.uid !== object.metadata.uid || now !== jobID) return 'superseded'
      return jobIDFinished === jobID ? 'done' : patch
    },
  }
}

interface MockStatus {
  readonly phase?: string
  readonly lastError?: LastError
  readonly observedGeneration?: number
  readonly transitionTimes?: { readonly initTime?: string | null }
}

function nextStatus(object: KubeObject, jobID: string, now: Date): { patch: Patch | undefined; exported: MockStep['exported'] } {
  const status = (object['status'] ?? {}) as MockStatus
  const spec = (object['spec'] ?? {}) as { updateOnChangeOnly?: boolean }
  const isStarting = status.phase === undefined || status.phase === '' || status.phase === 'Init' || FINAL_PHASES.includes(status.phase)
  // Source: spec/landscaper.md 2.9 "updateOnChangeOnly".
  if (spec.updateOnChangeOnly === true && status.phase === 'Succeeded' && status.observedGeneration === object.metadata.generation) {
    return { patch: { status: { jobIDFinished: jobID } }, exported: undefined }
  }
  const config = readMockConfig(object)
  if ('problem' in config) return { patch: finished(object, jobID, 'Failed', now, configurationError(status, config.problem, now)), exported: undefined }
  const remaining = groupItem(object, now).remainingMs
  if (!isStarting && remaining !== undefined && remaining <= 0) {
    return { patch: finished(object, jobID, 'Failed', now, timeoutError(status, now)), exported: undefined }
  }
  const exported = config.export === undefined ? undefined : { name: exportName(object), content: JSON.stringify(config.export) }
  const fields = {
    ...(config.providerStatus !== undefined && { providerStatus: config.providerStatus }),
    ...(exported !== undefined && { exportRef: { name: exported.name, namespace: object.metadata.namespace } }),
  }
  if (config.phase !== undefined) return { patch: phasePatch(object, jobID, config.phase, now, fields), exported }
  if (config.initialPhase === undefined) return { patch: finished(object, jobID, 'Succeeded', now, undefined, fields), exported }
  return isStarting ? { patch: phasePatch(object, jobID, config.initialPhase, now, fields), exported } : { patch: undefined, exported: undefined }
}

function phasePatch(object: KubeObject, jobID: string, phase: string, now: Date, fields: Patch): Patch | undefined {
  const status = (object['status'] ?? {}) as MockStatus
  if (!FINAL_PHASES.includes(phase)) {
    return status.phase === phase && status.transitionTimes?.initTime != null ? undefined : { status: { ...started(object, now), ...fields, phase } }
  }
  const report = { operation: 'Reconcile', reason: 'MockPhase', message: `the configuration asks for phase ${phase}`, codes: [] }
  return finished(object, jobID, phase, now, phase === 'Succeeded' ? undefined : nextError(status.lastError, report, now.toISOString()), fields)
}

// eslint-disable-next-line max-params -- one row of the status table of spec/landscaper.md 2.9
function finished(object: KubeObject, jobID: string, phase: string, now: Date, error: LastError | undefined, fields: Patch = {}): Patch {
  return {
    status: {
      ...started(object, now),
      ...fields,
      phase,
      jobIDFinished: jobID,
      transitionTimes: { initTime: initTime(object, now), finishedTime: now.toISOString() },
      lastError: error ?? null,
      lastErrors: error === undefined ? null : [error],
      firstError: error ?? null,
    },
  }
}

function started(object: KubeObject, now: Date): Patch {
  return {
    observedGeneration: object.metadata.generation ?? 0,
    lastReconcileTime: now.toISOString(),
    deployer: { identity: 'pawl', name: 'mock', version: '0.1.0' },
    transitionTimes: { initTime: initTime(object, now) },
  }
}

function initTime(object: KubeObject, now: Date): string {
  return ((object['status'] ?? {}) as MockStatus).transitionTimes?.initTime ?? now.toISOString()
}

function configurationError({ lastError }: MockStatus, message: string, now: Date): LastError {
  return nextError(lastError, { operation: 'Reconcile', reason: 'InvalidConfiguration', message, codes: ['ERR_CONFIGURATION_PROBLEM'] }, now.toISOString())
}

function timeoutError({ lastError }: MockStatus, now: Date): LastError {
  const message = 'timeout at: "mock deployer: waiting in the initial phase"'
  return nextError(lastError, { operation: 'Reconcile', reason: 'ProgressingTimeout', message, codes: ['ERR_TIMEOUT'] }, now.toISOString())
}

function exportName({ metadata }: KubeObject): string {
  return `mock-export-${createHash('sha256').update(metadata.uid ?? '').digest('hex').slice(0, 10)}`
}

async function exportAll(deps: Deps, by: By, steps: readonly MockStep[]): Promise<void> {
  const wanted = steps.flatMap(({ object, exported }) => (exported === undefined ? [] : [{ object, ...exported }]))
  const planned = await Promise.all(wanted.map((one) => exportWrite(deps, one)))
  for (const answer of await writeAll(deps, { ...by, step: 'exportMockItems', fieldManager: WRITER }, planned.flat())) {
    if (answer.result === 'failed') throw answer.error
  }
}

async function exportWrite(deps: Deps, { object, name, content }: { object: KubeObject; name: string; content: string }): Promise<Write[]> {
  const { namespace = '', uid = '' } = object.metadata
  const data = { config: Buffer.from(content).toString('base64') }
  const target = { watched: secretResource, namespace, name }
  const existing = await readObject(deps, secretResource, namespace, name)
  if (existing === undefined) {
    const owner = { apiVersion: deployItemKind.apiVersion, kind: deployItemKind.kind, name: object.metadata.name, uid, controller: true, blockOwnerDeletion: true }
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, ownerReferences: [owner] }, type: 'Opaque', data }
    return [{ verb: 'create', ...target, body, isOurs: (found) => found.metadata.ownerReferences?.some((one) => one.uid === uid) ?? false }]
  }
  if ((existing['data'] as { config?: string } | undefined)?.config === data.config) return []
  return [{ verb: 'patch', ...target, version: existing.metadata.resourceVersion ?? '', patch: { data }, reapply: () => ({ data }) }]
}

function result(steps: readonly MockStep[], acting: readonly MockStep[], answers: readonly WriteAnswer[], now: Date): DeployResult {
  const items = steps.filter((step) => step.write === undefined).map((step) => groupItem(step.object, now))
  const gone: string[] = []
  const failures: DeployResult['failures'][number][] = []
  answers.forEach((answer, index) => {
    const name = acting[index]?.object.metadata.name ?? ''
    if (answer.result === 'failed') failures.push({ object: name, code: answer.error.reason, message: answer.error.message })
    else if (answer.result === 'gone' || isReleased(answer.object)) gone.push(acting[index]?.object.metadata.uid ?? '')
    else items.push(groupItem(answer.object, now))
  })
  return { items, gone, failures }
}
