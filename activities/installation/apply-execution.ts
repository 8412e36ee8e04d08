// From blueprint to Execution: reads the Installation, renders its deploy executions and writes the result, all inside one activity,
// so that no value of the user passes through a workflow. Source: spec/landscaper.md 2.3 "Init", 3.6.

import { gzipSync } from 'node:zlib'
import { contextKind } from '../../workflows/context/kind.ts'
import { executionKind } from '../../workflows/execution/kind.ts'
import { installationKind } from '../../workflows/installation/kind.ts'
import { type By, canonicalJson, type Subject } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { finalFailure, toApplicationFailure } from '../kube/errors.ts'
import { mergePatch } from '../kube/merge.ts'
import { readObject, readSubject } from '../kube/observe.ts'
import { ownerOf, targetView } from '../kube/views.ts'
import { type Patch, type Write, writeAll } from '../kube/write.ts'
import { subscribe } from '../journal/subscriptions.ts'
import { readBlueprint } from '../render/blueprint.ts'
import { BlueprintError } from '../render/blueprint-error.ts'
import { type DeployItemTemplate, renderDeployItems } from '../render/executions.ts'
import { type ChildExecution, childExecution } from './views.ts'

export interface ApplyExecutionInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly generation: number
}

export type ApplyExecutionResult =
  | { readonly result: 'applied'; readonly execution: ChildExecution | undefined }
  /** An Execution of an earlier Installation of this name is still being deleted; its end will wake this job. */
  | { readonly result: 'waiting'; readonly reason: string }

export const applyExecutionActivities = (deps: Deps) => ({
  /**
   * Renders the Installation's deploy items and makes its Execution hold them. Idempotent; writes nothing when it holds them already.
   *
   * @throws `Changed` when the Installation has another generation than the pass observed; final faults for what its author can mend.
   */
  async applyExecution(input: ApplyExecutionInput): Promise<ApplyExecutionResult> {
    try {
      const installation = await readInstallation(deps, input)
      const items = await render(deps, installation)
      return await writeExecution(deps, input, installation, items)
    } catch (error) {
      throw toApplicationFailure(userMistake(error))
    }
  },
})

/** What the author of a blueprint can mend, as a final failure; anything else as it is. */
export function userMistake(error: unknown): unknown {
  return error instanceof BlueprintError ? finalFailure(error.code, error.message) : error
}

/** The Installation as the pass observed it. @throws `Changed`, `NotFound`. */
export async function readInstallation(
  deps: Deps,
  { subject, generation }: Pick<ApplyExecutionInput, 'subject' | 'generation'>,
): Promise<KubeObject> {
  const installation = await readSubject(deps, installationKind, subject)
  const name = `installation ${subject.namespace}/${subject.name}`
  if (installation === undefined) throw finalFailure('NotFound', `${name} is gone`)
  if (installation.metadata.generation !== generation) {
    throw finalFailure(
      'Changed',
      `${name} has generation ${installation.metadata.generation ?? 0}; the pass observed ${generation}`,
    )
  }
  return installation
}

interface InstallationSpec {
  readonly context?: string
  readonly blueprint?: unknown
  readonly imports?: { readonly data?: readonly unknown[]; readonly targets?: readonly unknown[] }
}

async function render(deps: Deps, installation: KubeObject): Promise<readonly DeployItemTemplate[]> {
  const spec = (installation['spec'] ?? {}) as InstallationSpec
  const { name, namespace = '' } = installation.metadata
  await checkContext(deps, namespace, spec.context ?? 'default')
  if ((spec.imports?.data ?? []).length + (spec.imports?.targets ?? []).length > 0) {
    throw finalFailure(
      'NotSupported',
      `installation ${namespace}/${name}: spec.imports is not supported yet; expected an installation without imports`,
    )
  }
  const blueprint = readBlueprint(spec.blueprint)
  const bindings = { blueprint: spec.blueprint, imports: {}, namespace }
  return (await renderDeployItems(deps.templates, blueprint, bindings)).items
}

// An absent Context named default counts as empty; any other must be there. Source: issue text and spec/landscaper.md 1.7.
async function checkContext(deps: Deps, namespace: string, name: string): Promise<void> {
  if (name === 'default') return
  const context = await readObject(deps, { ...contextKind, projection: [], hashed: [] }, namespace, name)
  if (context === undefined)
    throw finalFailure('ContextNotFound', `spec.context names context ${namespace}/${name}; there is none`)
}

async function writeExecution(
  deps: Deps,
  input: ApplyExecutionInput,
  installation: KubeObject,
  items: readonly DeployItemTemplate[],
): Promise<ApplyExecutionResult> {
  const { by, subject, jobID } = input
  const existing = await readObject(deps, executionKind, subject.namespace, subject.name)
  if (existing === undefined && items.length === 0) return { result: 'applied', execution: undefined }
  if (
    existing !== undefined &&
    (ownerOf(existing)?.uid !== subject.uid || existing.metadata.deletionTimestamp !== undefined)
  ) {
    return await waitForOther(deps, input, existing)
  }
  const spec = executionSpec(installation, items)
  const write = existing === undefined ? creation(installation, spec) : update(existing, spec)
  if (write === undefined) return { result: 'applied', execution: childExecution(existing, subject.uid) }
  const [answer] = await writeAll(deps, { ...by, step: 'applyExecution', fieldManager: 'pawl-installation' }, [write])
  switch (answer?.result) {
    case 'ok':
      return { result: 'applied', execution: childExecution(answer.object, subject.uid) }
    case 'failed':
      throw answer.error
    default:
      throw finalFailure(
        'Changed',
        `execution ${subject.namespace}/${subject.name} was replaced while job ${jobID} wrote it`,
      )
  }
}

async function waitForOther(
  deps: Deps,
  { subject, jobID }: ApplyExecutionInput,
  existing: KubeObject,
): Promise<ApplyExecutionResult> {
  const name = `execution ${subject.namespace}/${subject.name}`
  const owner = ownerOf(existing)
  if (existing.metadata.deletionTimestamp === undefined && owner?.kind !== 'Installation') {
    throw finalFailure(
      'NameTaken',
      `${name} exists and belongs to ${owner === undefined ? 'nobody' : `${owner.kind} ${owner.name}`}; expected none, or one of this installation`,
    )
  }
  await subscribe(
    deps.db,
    [
      {
        controller: 'installation',
        uid: subject.uid,
        job_id: jobID,
        cluster: deps.cluster,
        kind: executionKind.kind,
        namespace: subject.namespace,
        name: subject.name,
        seenVersion: Number(existing.metadata.resourceVersion),
        subjectName: subject.name,
      },
    ],
    deps.now(),
  )
  return { result: 'waiting', reason: `waiting for ${name} of an earlier installation to be gone` }
}

function executionSpec(installation: KubeObject, items: readonly DeployItemTemplate[]): Patch {
  const context = (installation['spec'] as InstallationSpec).context ?? 'default'
  // Always the compressed form, for the size limit of objects. Source: spec/landscaper.md 1.3. Canonical, so that equal items are equal bytes.
  return { context, deployItemsCompressed: gzipSync(canonicalJson(items)).toString('base64') }
}

function creation({ metadata }: KubeObject, spec: Patch): Write {
  const { name, namespace = '', uid = '' } = metadata
  const owner = {
    apiVersion: installationKind.apiVersion,
    kind: installationKind.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  }
  return {
    verb: 'create',
    watched: executionKind,
    namespace,
    name,
    body: {
      apiVersion: executionKind.apiVersion,
      kind: executionKind.kind,
      metadata: { name, namespace, ownerReferences: [owner] },
      spec,
    },
    isOurs: (existing) => ownerOf(existing)?.uid === uid,
  }
}

function update(existing: KubeObject, spec: Patch): Write | undefined {
  const patch = mergePatch((existing['spec'] ?? {}) as Patch, spec)
  if (patch === undefined) return undefined
  return {
    verb: 'patch',
    watched: executionKind,
    namespace: existing.metadata.namespace ?? '',
    name: existing.metadata.name,
    version: existing.metadata.resourceVersion ?? '',
    patch: { spec: patch },
    reapply: (current) => {
      const again = mergePatch((current['spec'] ?? {}) as Patch, spec)
      // Another job of it means that ours is over, and its items are old.
      const isSame =
        current.metadata.uid === existing.metadata.uid && targetView(current).jobID === targetView(existing).jobID
      return !isSame ? 'superseded' : again === undefined ? 'done' : { spec: again }
    },
  }
}
