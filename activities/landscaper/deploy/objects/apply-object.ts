// Applies one object to the target by its policy. Source: spec/landscaper.md 4.2 "policy", "updateStrategy".
//
//   A1. Creates and updates are conditional on the observed object: after a conflict, a creation or a deletion meanwhile, the object is read again.
//   A2. The API server decides whether a difference is drift or only its own notation: if a dry run changes nothing, the object is not written.
//   A3. If the fields of other managers make the object invalid, the manifest is written without them.

import { isDeepStrictEqual } from 'node:util'
import type { KubeClient, KubeObject } from '../../../kube/client.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { isAlreadyExists, isConflict, isNotFound, KubeError } from '../../../kube/errors.ts'
import { DeployError } from '../run/deployer.ts'
import { configurationProblem, shortenText } from '../run/deploy-errors.ts'
import { objectOf } from '../target/answers.ts'
import type { ServedKind, TargetCluster } from '../target/target-cluster.ts'
import { type OwnershipLabels, isLabelled } from './ownership-labels.ts'
import { type Change, creation, type ApplyLabels, patchChange, type Request, update } from './changes.ts'
import type { Manifest } from './manifest.ts'
import { without } from './replacement.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { describeObject, readObject } from '../target/read-object.ts'
import type { Json } from './config-reader.ts'
import { attempt, type Problem } from './problems.ts'

export const OPERATION = 'ApplyManifests'
const MAX_ATTEMPTS = 5

export interface ObjectApply {
  readonly kube: Pick<KubeClient, 'request'>
  readonly served: ServedKind
  readonly manifest: Manifest
  readonly marks: ApplyLabels
  /** The uids of the item's known objects. */
  readonly own: ReadonlySet<string | undefined>
  readonly signal: AbortSignal
  /** The object runs once, and this job has applied it: it is not created again. */
  readonly isFinished: boolean
}

/**
 * @returns the current object; undefined when another owner's object stays by the policy, or a finished object is gone. @throws KubeError, DeployError
 */
export async function applyObject(wanted: ObjectApply): Promise<KubeObject | undefined> {
  const sending = { ...wanted, manifest: inNamespace(wanted) }
  const path = objectPath(sending)
  for (let tries = 1; ; tries++) {
    const { manifest, marks, own, signal } = sending
    signal.throwIfAborted()
    const live = await read(sending, path)
    try {
      if (hasEnded(sending, live)) return undefined
      if (live === undefined) return await create(sending)
      const intent = intentFor(manifest, live, { marks, own })
      if (intent === 'skip') return undefined
      refuseDeleted(live)
      if (intent === 'leave') return live
      const change = update(live, manifest, marks)
      if (change === undefined) return live
      const writer = { ...sending, ownership: marks.ownership }
      return (await changesNothing(writer, path, { live, change })) ? live : await writeChange(writer, path, change)
    } catch (error) {
      if (tries === MAX_ATTEMPTS || !isOvertaken(error, live)) throw error
    }
  }
}

function hasEnded({ isFinished }: ObjectApply, live: KubeObject | undefined): boolean {
  return isFinished && (live === undefined || live.metadata.deletionTimestamp !== undefined)
}

type Ownership = Pick<ObjectApply, 'marks' | 'own'>

/** The action of a policy on an existing object. */
export function intentFor(
  manifest: Manifest,
  live: KubeObject,
  { marks, own }: Ownership,
): 'update' | 'leave' | 'skip' {
  const hasLabel = isLabelled(live.metadata.labels, marks)
  switch (manifest.policy) {
    case 'manage':
    case 'keep':
      return 'update'
    case 'immutable':
      // An object of another owner is not remembered, so that the item never deletes it.
      return hasLabel || own.has(live.metadata.uid) ? 'leave' : 'skip'
    case 'fallback':
      return hasLabel ? 'update' : 'skip'
    case 'ignore':
      return 'skip'
  }
}

/** The parameters of a write on a target. */
export interface TargetWriter extends Pick<ObjectApply, 'kube' | 'signal'>, Pick<ApplyLabels, 'ownership'> {}

/** A3. @throws KubeError */
async function writeChange(writer: TargetWriter, path: string, change: Change): Promise<KubeObject> {
  try {
    return await write(writer, path, change)
  } catch (error) {
    if (change.alone === undefined || !isStatus(error, [INVALID])) throw error
    return await write(writer, path, change.alone)
  }
}

/** A2. If the server cannot run the dry run, because a webhook does not support it, the change is written. @throws KubeError */
export async function changesNothing(
  writer: TargetWriter,
  path: string,
  { live, change: { probe } }: { readonly live: KubeObject; readonly change: Change },
): Promise<boolean> {
  if (probe === undefined) return false
  try {
    return isDeepStrictEqual(
      comparableObject(await write(writer, path, probe, { dryRun: 'All' })),
      comparableObject(live),
    )
  } catch (error) {
    if (isStatus(error, [BAD_REQUEST, INVALID])) return false
    throw error
  }
}

const COUNTED = ['managedFields', 'resourceVersion', 'generation']

/** The object without the fields that every write changes. */
function comparableObject(object: KubeObject): object {
  return { ...object, metadata: without(object.metadata, COUNTED) }
}

const BAD_REQUEST = 400
const INVALID = 422

function isStatus(error: unknown, statuses: readonly number[]): boolean {
  return error instanceof KubeError && statuses.includes(error.status)
}

/** Sends a change. @throws KubeError */
export async function write(
  { kube, ownership, signal }: TargetWriter,
  path: string,
  { verb, body }: Request,
  query: Readonly<Record<string, string>> = {},
): Promise<KubeObject> {
  const options = {
    body,
    query: { fieldManager: ownership.fieldManager, ...query },
    ...(verb === 'PATCH' && { contentType: 'application/merge-patch+json' }),
    signal,
  }
  return objectOf(await kube.request<unknown>(verb, path, options), [verb, path])
}

async function read({ kube, signal }: ObjectApply, path: string): Promise<KubeObject | undefined> {
  try {
    return objectOf(await kube.request<unknown>('GET', path, { signal }), ['GET', path])
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

async function create({ kube, served, manifest, marks, signal }: ObjectApply): Promise<KubeObject> {
  const path = resourcePath(served, manifest.object.metadata.namespace)
  const { fieldManager } = marks.ownership
  const options = { body: creation(manifest, marks), query: { fieldManager }, signal }
  return objectOf(await kube.request<unknown>('POST', path, options), ['POST', path])
}

function isOvertaken(error: unknown, live: KubeObject | undefined): boolean {
  if (isConflict(error)) return true
  // For a missing object, 404 means that the namespace or the kind is missing.
  return live === undefined ? isAlreadyExists(error) : isNotFound(error)
}

function objectPath({ served, manifest }: ObjectApply): string {
  const { namespace, name } = manifest.object.metadata
  return resourcePath(served, namespace, name)
}

/**
 * The manifest with the namespace that its kind has on this cluster. @throws DeployError with ERR_CONFIGURATION_PROBLEM if it needs a namespace and has
 * none.
 */
function inNamespace({ served, manifest }: ObjectApply): Manifest {
  const { namespace, ...metadata } = manifest.object.metadata
  if (!served.namespaced) return { ...manifest, object: { ...manifest.object, metadata: metadata } }
  if (namespace !== undefined) return manifest
  const message = `metadata.namespace: found nothing; expected a namespace, because ${served.kind} is a namespaced kind`
  throw configurationProblem(OPERATION, 'InvalidConfiguration', message)
}

const DELETED = { operation: OPERATION, reason: 'BeingDeleted' }

// A write would be lost with the object: it is created again after its deletion.
function refuseDeleted({ metadata }: KubeObject): void {
  if (metadata.deletionTimestamp === undefined) return
  const message = `the object is being deleted; Pawl creates it again after its deletion; finalizers: ${shortenText((metadata.finalizers ?? []).join(', ')) || 'none'}`
  throw new DeployError(DELETED.operation, DELETED.reason, message)
}

// Applies `patchAfterDeployment`: an overriding map merge into ready objects. Source: spec/landscaper.md 4.2.

export const PATCH_OPERATION = 'PatchAfterDeployment'
const WRITES_AT_ONCE = 10

export interface PatchInput {
  readonly target: TargetCluster
  readonly ownership: OwnershipLabels
  readonly signal: AbortSignal
}

/** Repeated calls write only differences. @returns the failures. */
export async function patchDeployed(input: PatchInput, manifests: readonly Manifest[]): Promise<readonly Problem[]> {
  const answers = await inParallel(manifests, WRITES_AT_ONCE, async ({ object, patchAfterDeployment }) => {
    if (patchAfterDeployment === undefined) return { value: undefined }
    const reference = { ...object, ...object.metadata }
    const patch = () => patchOne(input, { reference, patch: patchAfterDeployment })
    return await attempt(PATCH_OPERATION, describeObject(reference), patch)
  })
  return answers.filter((answer) => 'error' in answer)
}

interface OnePatch {
  readonly reference: Parameters<typeof readObject>[1]
  readonly patch: Json
}

async function patchOne({ target, ownership, signal }: PatchInput, { reference, patch }: OnePatch): Promise<void> {
  for (let tries = 1; ; tries++) {
    const live = await readObject(target, reference, signal)
    const served = await target.servedKind(reference.apiVersion, reference.kind, signal)
    const change = live === undefined ? undefined : patchChange(live, patch)
    if (live === undefined || change === undefined || served === undefined) return
    const path = resourcePath(served, served.namespaced ? reference.namespace : undefined, reference.name)
    try {
      const writer = { kube: target.kube, ownership, signal }
      if (!(await changesNothing(writer, path, { live, change }))) await write(writer, path, change)
      return
    } catch (error) {
      if (tries === MAX_ATTEMPTS || !(isConflict(error) || isNotFound(error))) throw error
    }
  }
}
