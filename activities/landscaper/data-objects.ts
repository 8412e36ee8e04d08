// Writes DataObjects, Targets and state Secrets: creates or updates them with their producer as owner. The caller computes names and labels
// (render/names.ts). Source: spec/landscaper.md 1.13 and 1.15.

import {
  JOB_ID_LABEL,
  PREVIOUS_VALUE_ANNOTATION,
  VALUE_SOURCE_ANNOTATION,
} from '../../workflows/landscaper/contract.ts'
import { createHash } from 'node:crypto'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import {
  canonicalJson,
  type FaultCondition,
  groupKindOf,
  isSameGroupKind,
  type WatchedKind,
} from '../../workflows/kit/index.ts'
import type { LandscaperDeps } from './deps.ts'
import type { KubeObject, OwnerReference } from '../kube/client.ts'
import { finalFailure, isFinal, isNamespaceTerminating, KubeError, retryableFailure } from '../kube/errors.ts'
import { mergePatch, type Patch } from '../kube/merge-patch.ts'
import { readObject } from '../kube/read-family.ts'
import { inParallel } from '../kube/in-parallel.ts'
import { onlyOwnerOf, isOnlyOwnedBy, isOwnedBy } from '../kube/owners.ts'
import { ownerOf } from '../kube/object-views.ts'
import { type Write, type Writer, writeAll } from '../kube/write.ts'

const HASH_ANNOTATION = 'data.landscaper.gardener.cloud/hash'
const KEY_LABEL = 'data.landscaper.gardener.cloud/key'
/** The kinds whose objects own the data. */
const PRODUCER_KINDS = [installationKind, executionKind]

export interface DataToWrite {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** The source of a copied value, for the annotations of the copy. */
  readonly source?: string
  /** The top-level fields: `{data}` of a DataObject, `{spec}` of a Target. */
  readonly content: Readonly<Record<string, unknown>>
}

export interface WriteDataInput {
  readonly watched: WatchedKind
  readonly namespace: string
  /** The result of `ownerReference`. */
  readonly owner: OwnerReference
  readonly jobID: string
  readonly objects: readonly DataToWrite[]
  /** True: an otherwise unchanged object keeps the label of the job that wrote it; false: the label changes with each job. */
  readonly keepsJobID?: boolean
  /** The code of the error when another existing owner has the name; default `ExportConflict`. */
  readonly takenCode?: 'ExportConflict' | 'NameTaken'
  /** The condition that becomes False when a write is refused for good. */
  readonly condition?: FaultCondition
}

interface PlannedWrite {
  readonly input: WriteDataInput
  readonly one: DataToWrite
}

/** Concurrent reads: a tenth of the API server's default limit. */
export const PARALLEL_READS = 20

/**
 * Creates or updates objects in one batch: one write for each, none for unchanged objects.
 *
 * @throws `BeingDeleted` (retryable); `takenCode` (final) when another existing owner has the name; KubeError when a write fails.
 */
export async function writeDataObjects(
  deps: LandscaperDeps,
  writer: Writer,
  ...inputs: readonly WriteDataInput[]
): Promise<void> {
  const wanted = inputs.flatMap((input) => input.objects.map((one) => ({ input, one })))
  const planned = await inParallel(wanted, PARALLEL_READS, async ({ input, one }) => {
    const writes = await plan(deps, input, one)
    return writes.map((write) => ({ input, one, write }))
  })
  const acting = planned.flat()
  const writes = acting.map(({ write }) => write)
  const answers = await writeAll(deps, writer, writes)
  for (const [index, answer] of answers.entries()) {
    const act = acting[index]
    if (act === undefined) continue
    if (answer.result === 'failed') throw withTitle(act, answer.error)
    if (answer.result === 'superseded') throw ownershipConflict(deps, act, answer.object)
  }
}

// Names are often hashes, and a failed create has no object, so the message includes the key.
function titleOf({ input, one }: PlannedWrite): string {
  const key = one.labels[KEY_LABEL] ?? ''
  return `${input.watched.kind} "${one.name}"${key === '' || key === one.name ? '' : ` (${JSON.stringify(key)})`}`
}

function withTitle(writing: PlannedWrite, error: KubeError): Error {
  const { input } = writing
  const { status, reason, retryAfterMs } = error
  const what = titleOf(writing)
  const { condition } = input
  if (condition !== undefined && (isFinal(error) || isNamespaceTerminating(error)))
    return finalFailure(reason, `${what}: ${error.message}`, condition)
  return new KubeError(`${what}: ${error.message}`, { status, reason, retryAfterMs, cause: error.cause })
}

async function plan(deps: LandscaperDeps, input: WriteDataInput, one: DataToWrite): Promise<Write[]> {
  const { watched, namespace, owner, jobID } = input
  const target = { watched, namespace, name: one.name }
  const existing = await readObject(deps, watched, namespace, one.name)
  const body = desired(input, one)
  if (existing === undefined) {
    const isOurs = (found: KubeObject) =>
      isOwnedBy(found, owner, { ...owner, namespace }) && found.metadata.labels?.[JOB_ID_LABEL] === labelValue(jobID)
    return [{ verb: 'create', ...target, body, isOurs }]
  }
  if (existing.metadata.deletionTimestamp !== undefined) {
    const message = `${watched.kind} "${one.name}" is being deleted; Pawl writes it again after its deletion`
    throw retryableFailure('BeingDeleted', message)
  }
  if (!(await mayAdopt(deps, input, existing))) throw ownershipConflict(deps, { input, one }, existing)
  const before = producerOf(existing)?.uid
  const changed = withPreviousValue(existing, body)
  const patch = difference(existing, changed)
  if (patch === undefined || (input.keepsJobID === true && hasSameValue(existing, body))) return []
  // If another job has written it meanwhile, our job has ended and its content is outdated.
  const isSameJob = (current: KubeObject) =>
    current.metadata.labels?.[JOB_ID_LABEL] === existing.metadata.labels?.[JOB_ID_LABEL]
  const reapply = (current: KubeObject) =>
    (mayOwn(deps, current, input) || (before !== undefined && producerOf(current)?.uid === before)) &&
    isSameJob(current)
      ? (difference(current, withPreviousValue(current, body)) ?? 'done')
      : 'superseded'
  return [{ verb: 'patch', ...target, version: existing.metadata.resourceVersion ?? '', patch, reapply }]
}

function desired(
  { watched, namespace, owner }: WriteDataInput,
  { name, labels, annotations, source, content }: DataToWrite,
): KubeObject {
  const hash = createHash('sha1').update(canonicalJson(content)).digest('hex')
  return {
    apiVersion: watched.apiVersion,
    kind: watched.kind,
    metadata: {
      name,
      namespace,
      labels: safeLabels(labels),
      annotations: {
        ...annotations,
        ...(source !== undefined && { [VALUE_SOURCE_ANNOTATION]: source }),
        [HASH_ANNOTATION]: hash,
      },
      ownerReferences: [owner],
    },
    ...content,
  }
}

function difference(existing: KubeObject, body: KubeObject): Patch | undefined {
  const { labels, annotations, ownerReferences = [] } = body.metadata
  const ours = new Set(ownerReferences.map(({ uid }) => uid))
  const others = (existing.metadata.ownerReferences ?? []).filter(
    ({ uid, controller }) => controller !== true && !ours.has(uid),
  )
  const found = Object.fromEntries(Object.keys(body).map((key) => [key, existing[key]]))
  const wanted = {
    ...body,
    metadata: {
      ...existing.metadata,
      labels: { ...existing.metadata.labels, ...labels },
      annotations: { ...existing.metadata.annotations, ...annotations },
      ownerReferences: [...others, ...ownerReferences],
    },
  }
  return mergePatch(found, wanted)
}

/** Whether the object differs only in the job that wrote it and in the source of the value. */
function hasSameValue(existing: KubeObject, body: KubeObject): boolean {
  const jobID = existing.metadata.labels?.[JOB_ID_LABEL]
  if (jobID === undefined) return false
  const own = Object.entries(body.metadata.annotations ?? {})
  const annotations = Object.fromEntries(own.filter(([name]) => name !== VALUE_SOURCE_ANNOTATION))
  const metadata = { ...body.metadata, annotations, labels: { ...body.metadata.labels, [JOB_ID_LABEL]: jobID } }
  return difference(existing, { ...body, metadata }) === undefined
}

/** The beginning of the source of a value that is no secret. */
export const CONFIG_MAP_SOURCE = 'ConfigMap/'
/** Longer values are not stored, as JSON. */
const LONGEST_PREVIOUS = 1024

/** Sets the annotation with the previous value, or clears it: values of other sources may be secrets. */
function withPreviousValue(existing: KubeObject, body: KubeObject): KubeObject {
  const isFromConfigMap = ({ metadata: { annotations } }: KubeObject) =>
    annotations?.[VALUE_SOURCE_ANNOTATION]?.startsWith(CONFIG_MAP_SOURCE) === true
  const [before, after] = [existing, body].map(({ data }) => canonicalJson(data ?? null))
  if (before === after || body.metadata.annotations?.[VALUE_SOURCE_ANNOTATION] === undefined) return body
  const previous = JSON.stringify({ jobID: existing.metadata.labels?.[JOB_ID_LABEL], value: existing['data'] })
  const isStored = isFromConfigMap(existing) && isFromConfigMap(body) && previous.length <= LONGEST_PREVIOUS
  if (!isStored && existing.metadata.annotations?.[PREVIOUS_VALUE_ANNOTATION] === undefined) return body
  const annotations = { ...body.metadata.annotations, [PREVIOUS_VALUE_ANNOTATION]: isStored ? previous : '' }
  return { ...body, metadata: { ...body.metadata, annotations } }
}

// An object without an owner is adopted, unless tenants share the cluster. Source: spec/landscaper.md appendix B 17; docs/concepts/security.md.
function mayOwn(
  { landscaper: { strictTenancy } }: LandscaperDeps,
  existing: KubeObject,
  { owner, namespace }: Pick<WriteDataInput, 'owner' | 'namespace'>,
): boolean {
  if (producerOf(existing) === undefined) return !strictTenancy
  return isOnlyOwnedBy(existing, owner, { ...owner, namespace })
}

// The garbage collector has not yet deleted the objects of a deleted owner: an earlier object with our name, or one that does not exist any more.
async function mayAdopt(
  deps: LandscaperDeps,
  { owner, namespace }: WriteDataInput,
  existing: KubeObject,
): Promise<boolean> {
  const other = producerOf(existing)
  if (other === undefined) return mayOwn(deps, existing, { owner, namespace })
  if (mayOwn(deps, existing, { owner, namespace })) return true
  const kind = groupKindOf(other)
  if (other.name === owner.name && isSameGroupKind(kind, groupKindOf(owner))) return true
  const watched = PRODUCER_KINDS.find((one) => isSameGroupKind(kind, one))
  if (watched === undefined) return false
  const living = await readObject(deps, watched, namespace, other.name)
  return living?.metadata.uid !== other.uid
}

// The controller of the object, or the owner of data that Landscaper wrote (owners.ts); other references have no meaning.
function producerOf(object: KubeObject): OwnerReference | undefined {
  const holder = onlyOwnerOf(object)
  const isGiver = holder !== undefined && PRODUCER_KINDS.some((kind) => isSameGroupKind(groupKindOf(holder), kind))
  return isGiver ? holder : ownerOf(object)
}

function ownershipConflict(
  { landscaper: { strictTenancy } }: LandscaperDeps,
  writing: PlannedWrite,
  existing: KubeObject,
) {
  const { owner, takenCode, condition } = writing.input
  const other = producerOf(existing)
  const somebody = strictTenancy ? 'no owner' : 'another owner'
  const whose = other === undefined ? somebody : `owner ${other.kind} "${other.name}"`
  const expected = `${owner.kind} "${owner.name}"`
  return finalFailure(
    takenCode ?? 'ExportConflict',
    `${titleOf(writing)}: found ${whose}; expected ${strictTenancy ? `${expected}, because of --strict-tenancy` : `no owner or ${expected}`}; rename the import or export, or delete the object`,
    condition,
  )
}

const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/
/** The prefix of Pawl's own labels. The API server refuses invalid labels of users with a message. */
const OWN_PREFIX = 'data.landscaper.gardener.cloud/'

/**
 * The text as label value: unchanged if it is valid, otherwise the 40 hexadecimal digits of its hash. Names of imports and exports may be longer than
 * label values, and contain any character.
 */
export function labelValue(text: string): string {
  return LABEL_VALUE.test(text) ? text : createHash('sha1').update(text).digest('hex')
}

/** Makes the values of Pawl's own labels valid. */
export function safeLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [key, key.startsWith(OWN_PREFIX) ? labelValue(value) : value]),
  )
}
