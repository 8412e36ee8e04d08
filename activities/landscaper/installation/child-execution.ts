// Writes the rendered items to the Execution of an Installation. Source: spec/landscaper.md 1.3, 2.3 "Init" 9.

import {
  CACHE_HELM_CHARTS_ANNOTATION,
  FINALIZER,
  RENDERED_FROM_ANNOTATION,
} from '../../../workflows/landscaper/contract.ts'
import type { DeployItem } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { type By, ownerOfKind, type Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { subscribe } from '../../journal/write/subscriptions.ts'
import { finalFailure, retryableFailure } from '../../kube/errors.ts'
import { additivePatch, mergePatch, withoutUndefined, type Patch } from '../../kube/merge-patch.ts'
import { readObject } from '../../kube/read-family.ts'
import { isOwnedBy, ownerReference } from '../../kube/owners.ts'
import { ownerOf, targetView, isDeletedWithoutFinalizers } from '../../kube/object-views.ts'
import { type Write, writeAll, type Writer } from '../../kube/write.ts'
import type { ExecutionSpec, RenderedExecution } from '../render/executions.ts'
import { readItemsOf } from './observe.ts'
import { type ChildExecution, childExecution, writtenRenderedFrom, executionOf } from './views.ts'
import { addRequest, deleteChild } from '../../run/children.ts'
import { WITHOUT_UNINSTALL } from '../requests.ts'

export interface WriteExecutionInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

export type WriteExecutionResult =
  | { readonly result: 'applied'; readonly execution: ChildExecution | undefined }
  /** Items have started in this job: nothing was written. */
  | { readonly result: 'stands'; readonly execution: Execution }
  /** The Installation became the owner of the orphaned Execution of an earlier Installation with this name; nothing else was written. */
  | { readonly result: 'adopted' }
  /** An Execution of an earlier Installation with this name is still being deleted; its end wakes this job. */
  | { readonly result: 'waiting'; readonly reason: string }

export interface Rendered extends Pick<RenderedExecution, 'spec' | 'hasItems'> {
  /** Undefined if nothing is imported. */
  readonly importsHash: string | undefined
}

interface DesiredExecution {
  readonly spec: ExecutionSpec
  /** An undefined annotation must not exist. */
  readonly annotations: Readonly<Record<string, string | undefined>>
}

/**
 * Creates or updates the Execution; writes nothing if it has the items, or if items have started (`stands`).
 *
 * @param existing the Execution as read before rendering.
 * @throws `NameTaken` (final) when the Execution has another owner; `Changed` when it was replaced meanwhile; KubeError when the write fails.
 */
export async function writeExecution(
  deps: LandscaperDeps,
  input: WriteExecutionInput,
  { installation, existing }: { readonly installation: Installation; readonly existing: Execution | undefined },
  { spec, hasItems, importsHash }: Rendered,
): Promise<WriteExecutionResult> {
  const { by, subject, jobID } = input
  const renderedFrom = writtenRenderedFrom({ generation: installation.metadata.generation, importsHash })
  const wanted = { spec, annotations: annotationsOf(installation, renderedFrom) }
  if (existing === undefined && !hasItems) return { result: 'applied', execution: undefined }
  const writer = { ...by, step: 'applyChildren', fieldManager: 'pawl-installation' }
  if (existing !== undefined) return await updateExecution(deps, { ...input, writer }, existing, wanted)
  const [answer] = await writeAll(deps, writer, [creation(installation, wanted)])
  switch (answer?.result) {
    case 'ok':
      // An existing Execution is from an attempt that crashed before its answer was journaled; it may hold the items of that attempt.
      if (answer.wrote) return { result: 'applied', execution: await childExecution(deps, answer.object, subject) }
      return hasStartedItems(answer.object, await readItemsOf(deps, by, answer.object, {}), jobID)
        ? { result: 'stands', execution: answer.object }
        : await updateExecution(deps, { ...input, writer }, answer.object, wanted)
    case 'superseded':
      return isOrphan(answer.object)
        ? await adopt(deps, { ...input, writer }, installation, answer.object)
        : await waitForPrevious(deps, input, answer.object)
    case 'failed':
      throw answer.error
    default:
      throw replacedError(subject, jobID)
  }
}

/**
 * Whether an item of this job has started. Then the items must not be rendered again, because templates may be random and imports may have changed.
 * The pass's observation may be older: a repeated activity call uses the recorded observation.
 */
export function hasStartedItems({ metadata }: Execution, items: readonly DeployItem[], jobID: string): boolean {
  return metadata.deletionTimestamp === undefined && items.some(({ status }) => status?.jobID === jobID)
}

async function updateExecution(
  deps: LandscaperDeps,
  input: WriteExecutionInput & { readonly writer: Writer },
  existing: Execution,
  wanted: DesiredExecution,
): Promise<WriteExecutionResult> {
  const { subject, jobID, writer } = input
  if (existing.metadata.deletionTimestamp !== undefined) return await waitForPrevious(deps, input, existing)
  const write = update(existing, wanted)
  if (write === undefined) return { result: 'applied', execution: await childExecution(deps, existing, subject) }
  const [answer] = await writeAll(deps, writer, [write])
  if (answer?.result === 'failed') throw answer.error
  if (answer?.result !== 'ok') throw replacedError(subject, jobID)
  return { result: 'applied', execution: await childExecution(deps, answer.object, subject) }
}

/** The Execution of an earlier Installation without an owner reference, left by `kubectl delete --cascade=orphan`. */
function isOrphan({ metadata: { annotations, deletionTimestamp, ownerReferences = [] } }: Execution): boolean {
  const isWritten = annotations?.[RENDERED_FROM_ANNOTATION] !== undefined
  return isWritten && deletionTimestamp === undefined && ownerReferences.length === 0
}

async function adopt(
  deps: LandscaperDeps,
  { subject, jobID, writer }: WriteExecutionInput & { readonly writer: Writer },
  installation: Installation,
  { metadata }: Execution,
): Promise<WriteExecutionResult> {
  const { namespace, name, uid, resourceVersion: version } = metadata
  const patch = { metadata: { ownerReferences: [ownerReference(installationKind, installation.metadata)] } }
  const reapply = (current: Execution) => {
    if (isOwnedBy(current, installationKind, installation.metadata)) return 'done'
    return current.metadata.uid === uid && isOrphan(current) ? patch : 'superseded'
  }
  const [answer] = await writeAll(deps, writer, [
    { verb: 'patch', watched: executionKind, namespace, name, version, patch, reapply },
  ])
  if (answer?.result === 'failed') throw answer.error
  if (answer?.result !== 'ok') throw replacedError(subject, jobID)
  return { result: 'adopted' }
}

function replacedError({ namespace, name }: Subject, jobID: string): Error {
  return finalFailure('Changed', `Execution "${namespace}/${name}" was replaced while job ${jobID} wrote it`)
}

async function waitForPrevious(
  deps: LandscaperDeps,
  { subject, jobID }: WriteExecutionInput,
  existing: Execution,
): Promise<WriteExecutionResult> {
  const name = `Execution "${subject.namespace}/${subject.name}"`
  const owner = ownerOf(existing)
  const isOfEarlier = ownerOfKind(existing, installationKind)?.name === subject.name
  if (existing.metadata.deletionTimestamp === undefined && !isOfEarlier) {
    throw finalFailure(
      'NameTaken',
      `${name} exists and ${owner === undefined ? 'has no owner' : `belongs to ${owner.kind} "${owner.name}"`}; rename the installation or delete the Execution`,
    )
  }
  const { group, kind } = executionKind
  const at = { cluster: deps.cluster, group, kind, namespace: subject.namespace, name: subject.name }
  await subscribe(deps.db, { ...at, controller: 'installation', uid: subject.uid, job_id: jobID }, deps.now())
  // Its end may have been journaled before the subscription (subscriptions.ts, S1).
  const current = await readObject(deps, executionKind, subject.namespace, subject.name)
  if (current?.metadata.uid !== existing.metadata.uid) throw replacedError(subject, jobID)
  return { result: 'waiting', reason: `waiting for the deletion of ${name} of an earlier installation` }
}

/** @param renderedFrom the annotation's value. */
function annotationsOf({ metadata }: Installation, renderedFrom: string): DesiredExecution['annotations'] {
  return {
    [RENDERED_FROM_ANNOTATION]: renderedFrom,
    [CACHE_HELM_CHARTS_ANNOTATION]: metadata.annotations?.[CACHE_HELM_CHARTS_ANNOTATION],
  }
}

function creation({ metadata }: Installation, { spec, annotations }: DesiredExecution): Write<typeof executionKind> {
  const { name, namespace } = metadata
  return {
    verb: 'create',
    watched: executionKind,
    namespace,
    name,
    body: {
      apiVersion: executionKind.apiVersion,
      kind: executionKind.kind,
      // Created with its finalizer, which saves a write of the Execution's own job.
      metadata: {
        name,
        namespace,
        ownerReferences: [ownerReference(installationKind, metadata)],
        finalizers: [FINALIZER],
        annotations: withoutUndefined(annotations),
      },
      spec,
    },
    isOurs: (existing) => isOwnedBy(existing, installationKind, metadata),
  }
}

function update(existing: Execution, wanted: DesiredExecution): Write<typeof executionKind> | undefined {
  const patch = difference(existing, wanted)
  if (patch === undefined) return undefined
  return {
    verb: 'patch',
    watched: executionKind,
    namespace: existing.metadata.namespace,
    name: existing.metadata.name,
    version: existing.metadata.resourceVersion,
    patch,
    reapply: (current) => {
      // If it has another job, our job has ended and the rendered items are outdated.
      const isSame =
        current.metadata.uid === existing.metadata.uid && targetView(current).jobID === targetView(existing).jobID
      return isSame ? (difference(current, wanted) ?? 'done') : 'superseded'
    },
  }
}

function difference({ metadata, spec: found }: Execution, wanted: DesiredExecution): Patch | undefined {
  const spec = mergePatch(found, { ...wanted.spec })
  const annotations = additivePatch(metadata.annotations ?? {}, wanted.annotations)
  if (spec === undefined && annotations === undefined) return undefined
  return { ...(spec !== undefined && { spec }), ...(annotations !== undefined && { metadata: { annotations } }) }
}

// Deletes the Execution of an Installation. The hosted job removes its items. Source: spec/landscaper.md 2.4.

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
        `Execution "${subject.namespace}/${subject.name}" runs another job, or was replaced`,
      )
    case 'gone':
    case undefined:
      return undefined
  }
}
