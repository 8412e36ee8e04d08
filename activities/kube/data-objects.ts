// DataObjects and Targets that the engine writes: created or updated, and owned by who produced them. Source: spec/landscaper.md 1.15.
// Their names and labels come from the caller (render/names.ts).

import { createHash } from 'node:crypto'
import { JOB_ID_LABEL } from '../../workflows/data-object/kind.ts'
import { canonicalJson, type WatchedKind } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject, OwnerReference } from './client.ts'
import { finalFailure } from './errors.ts'
import { mergePatch } from './merge.ts'
import { readObject } from './observe.ts'
import { type Patch, type Write, type Writer, writeAll } from './write.ts'

const HASH_ANNOTATION = 'data.landscaper.gardener.cloud/hash'

export interface DataToWrite {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** The top-level fields: `{data}` of a DataObject, `{spec}` of a Target. */
  readonly content: Readonly<Record<string, unknown>>
}

export interface WriteDataInput {
  readonly watched: WatchedKind
  readonly namespace: string
  readonly owner: OwnerReference
  readonly jobID: string
  readonly objects: readonly DataToWrite[]
}

/**
 * Creates or updates exported data, one write each and none for what is so already.
 *
 * @throws `ExportConflict` (final) when another owner has the name; KubeError when a write fails.
 */
export async function writeDataObjects(deps: Deps, writer: Writer, input: WriteDataInput): Promise<void> {
  const planned = await Promise.all(input.objects.map((one) => plan(deps, input, one)))
  const answers = await writeAll(deps, writer, planned.flat())
  for (const answer of answers) {
    if (answer.result === 'failed') throw answer.error
    if (answer.result === 'superseded') throw takenBy(input, answer.object)
  }
}

async function plan(deps: Deps, input: WriteDataInput, one: DataToWrite): Promise<Write[]> {
  const { watched, namespace, owner, jobID } = input
  const target = { watched, namespace, name: one.name }
  const existing = await readObject(deps, watched, namespace, one.name)
  const body = desired(input, one)
  if (existing === undefined) {
    const isOurs = (found: KubeObject) => isOwnedBy(found, owner) && found.metadata.labels?.[JOB_ID_LABEL] === jobID
    return [{ verb: 'create', ...target, body, isOurs }]
  }
  if (!mayOwn(existing, owner)) throw takenBy(input, existing)
  const patch = difference(existing, body)
  if (patch === undefined) return []
  // Written by another job meanwhile: then ours is over, and its content is old.
  const isSameJob = (current: KubeObject) =>
    current.metadata.labels?.[JOB_ID_LABEL] === existing.metadata.labels?.[JOB_ID_LABEL]
  const reapply = (current: KubeObject) =>
    mayOwn(current, owner) && isSameJob(current) ? (difference(current, body) ?? 'done') : 'superseded'
  return [{ verb: 'patch', ...target, version: existing.metadata.resourceVersion ?? '', patch, reapply }]
}

function desired(
  { watched, namespace, owner }: WriteDataInput,
  { name, labels, annotations, content }: DataToWrite,
): KubeObject {
  const hash = createHash('sha1').update(canonicalJson(content)).digest('hex')
  return {
    apiVersion: watched.apiVersion,
    kind: watched.kind,
    metadata: {
      name,
      namespace,
      labels,
      annotations: { ...annotations, [HASH_ANNOTATION]: hash },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    ...content,
  }
}

function difference(existing: KubeObject, body: KubeObject): Patch | undefined {
  const { labels, annotations, ownerReferences } = body.metadata
  const found = Object.fromEntries(Object.keys(body).map((key) => [key, existing[key]]))
  const wanted = {
    ...body,
    metadata: {
      ...existing.metadata,
      labels: { ...existing.metadata.labels, ...labels },
      annotations: { ...existing.metadata.annotations, ...annotations },
      ownerReferences,
    },
  }
  return mergePatch(found, wanted)
}

// A hand-made object without an owner is adopted. Source: spec/landscaper.md appendix B 17.
function mayOwn(existing: KubeObject, owner: OwnerReference): boolean {
  const other = existing.metadata.ownerReferences?.find((reference) => reference.controller === true)
  return other === undefined || other.uid === owner.uid
}

function isOwnedBy(existing: KubeObject, owner: OwnerReference): boolean {
  return existing.metadata.ownerReferences?.some((reference) => reference.uid === owner.uid) ?? false
}

function takenBy({ watched, owner }: WriteDataInput, existing: KubeObject) {
  const other = existing.metadata.ownerReferences?.find((reference) => reference.controller === true)
  const whose = other === undefined ? 'somebody else' : `${other.kind} ${other.name}`
  return finalFailure(
    'ExportConflict',
    `${watched.kind} ${existing.metadata.name} belongs to ${whose}; expected no owner or ${owner.kind} ${owner.name}`,
  )
}
