// DataObjects and Targets that the engine writes: names, labels and ownership of spec/landscaper.md 1.13 and 1.15.

import { createHash } from 'node:crypto'
import {
  CONTEXT_LABEL,
  JOB_ID_LABEL,
  KEY_LABEL,
  SOURCE_LABEL,
  SOURCE_TYPE_LABEL,
} from '../../workflows/data-object/kind.ts'
import { canonicalJson, type WatchedKind } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject, OwnerReference } from './client.ts'
import { finalFailure } from './errors.ts'
import { mergePatch } from './merge.ts'
import { readObject } from './observe.ts'
import { type Patch, type Write, type Writer, writeAll } from './write.ts'

const HASH_ANNOTATION = 'data.landscaper.gardener.cloud/hash'
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

export interface DataToWrite {
  /** '' at the root, `Inst.<name>` inside an installation, `Exec.<name>`. */
  readonly context: string
  readonly key: string
  readonly source: string
  /** The top-level fields: `{data}` of a DataObject, `{spec}` of a Target. */
  readonly content: Readonly<Record<string, unknown>>
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface WriteDataInput {
  readonly watched: WatchedKind
  readonly namespace: string
  readonly owner: OwnerReference
  readonly jobID: string
  readonly objects: readonly DataToWrite[]
}

/** The name of a DataObject or Target for a reference in a context. Source: spec/landscaper.md 1.15, steps 1-3. */
export function dataName(context: string, reference: string): string {
  if (reference.startsWith('#')) return reference.slice(1)
  if (context === '' && reference.length <= 253 && DNS_SUBDOMAIN.test(reference)) return reference
  return base32(createHash('sha1').update(`${context}/${reference}`).digest())
}

/**
 * Creates or updates exported data, one write each and none for what is so already.
 *
 * @returns the names of the objects, in the order of `objects`.
 * @throws `ExportConflict` (final) when another owner has the name; KubeError when a write fails.
 */
export async function writeDataObjects(deps: Deps, writer: Writer, input: WriteDataInput): Promise<readonly string[]> {
  const planned = await Promise.all(input.objects.map((one) => plan(deps, input, one)))
  const answers = await writeAll(
    deps,
    writer,
    planned.flatMap(({ write }) => write),
  )
  for (const answer of answers) {
    if (answer.result === 'failed') throw answer.error
    if (answer.result === 'superseded') throw takenBy(input, answer.object)
  }
  return planned.map(({ name }) => name)
}

async function plan(deps: Deps, input: WriteDataInput, one: DataToWrite): Promise<{ name: string; write: Write[] }> {
  const { watched, namespace, owner, jobID } = input
  const name = dataName(one.context, one.key)
  const target = { watched, namespace, name }
  const existing = await readObject(deps, watched, namespace, name)
  const body = desired(input, one, name)
  if (existing === undefined) {
    return {
      name,
      write: [
        {
          verb: 'create',
          ...target,
          body,
          isOurs: (found) => isOwnedBy(found, owner) && found.metadata.labels?.[JOB_ID_LABEL] === jobID,
        },
      ],
    }
  }
  if (!mayOwn(existing, owner)) throw takenBy(input, existing)
  const patch = difference(existing, body)
  if (patch === undefined) return { name, write: [] }
  const reapply = (current: KubeObject) =>
    mayOwn(current, owner) ? (difference(current, body) ?? 'done') : 'superseded'
  return {
    name,
    write: [{ verb: 'patch', ...target, version: existing.metadata.resourceVersion ?? '', patch, reapply }],
  }
}

function desired({ watched, namespace, owner, jobID }: WriteDataInput, one: DataToWrite, name: string): KubeObject {
  return {
    apiVersion: watched.apiVersion,
    kind: watched.kind,
    metadata: {
      name,
      namespace,
      labels: {
        ...one.labels,
        [CONTEXT_LABEL]: one.context,
        [KEY_LABEL]: one.key,
        [SOURCE_LABEL]: one.source,
        [SOURCE_TYPE_LABEL]: 'export',
        [JOB_ID_LABEL]: jobID,
      },
      annotations: {
        ...one.annotations,
        [HASH_ANNOTATION]: createHash('sha1').update(canonicalJson(one.content)).digest('hex'),
      },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    ...one.content,
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

function base32(bytes: Buffer): string {
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => BASE32[parseInt(group.padEnd(5, '0'), 2)] ?? '').join('')
}
