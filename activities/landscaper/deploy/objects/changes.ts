// What, if anything, is to be written to make a live object what a manifest wants. Pure.
//
//   C1. An unchanged manifest changes nothing: when the live object carries the manifest's hash and still has all that it says, nothing is
//       written, whatever else is on the object. What a manifest no longer says changes its hash, and a replacement removes it.
//   C2. Every write carries uid and resourceVersion of the object that it was decided from.
//   C3. Of a binding of roles whoever was added is a difference: rights that nobody has written down are taken back.
//
// Source: spec/landscaper.md 4.2 "updateStrategy", "policy".

import { createHash } from 'node:crypto'
import { canonicalJson } from '../../../../workflows/kit/index.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { mergePatch } from '../../../kube/merge.ts'
import type { ItemMark } from './brand.ts'
import { isMap, type Json } from './config-reader.ts'
import { withKeptFields } from './kept-fields.ts'
import type { Manifest, UpdateStrategy } from './manifest.ts'
import { filled, overridden } from './merge-maps.ts'
import { covers } from './overlay.ts'

export interface Marks extends ItemMark {
  readonly strategy: UpdateStrategy
}

export type Change = { readonly verb: 'PUT' | 'PATCH'; readonly body: Json }

/** The object to create. */
export function creation(manifest: Manifest, marks: Marks): Json {
  const wanted = marked(manifest, marks)
  const metadata = wanted['metadata'] as Json & { annotations?: Json }
  return {
    ...wanted,
    metadata: { ...metadata, annotations: { ...manifest.annotateBeforeCreate, ...metadata.annotations } },
  }
}

/** The write that brings a live object to the manifest; undefined when nothing is to be done. */
export function update(live: KubeObject, manifest: Manifest, marks: Marks): Change | undefined {
  const wanted = marked(manifest, marks)
  if (marks.strategy === 'merge') {
    const whole = withLabel(filled(live, wanted), marks)
    return covers(live, whole) ? undefined : { verb: 'PUT', body: whole }
  }
  const isMerged = marks.strategy === 'mergeOverwrite'
  if (isAsApplied(live, wanted, manifest) && (isMerged || !hasOtherSubjects(live, wanted, manifest))) return undefined
  if (isMerged) return { verb: 'PUT', body: overridden(live, wanted) }
  const whole = replacement(live, wanted, manifest)
  if (marks.strategy === 'update') return { verb: 'PUT', body: whole }
  const patch = mergePatch(comparable(live, manifest), comparable(whole, manifest))
  return patch === undefined
    ? undefined
    : { verb: 'PATCH', body: { ...patch, metadata: { ...(patch['metadata'] as Json | undefined), ...version(live) } } }
}

/** The overriding merge of `patchAfterDeployment` and `patchBeforeDelete`; undefined when it changes nothing. */
export function patched(live: KubeObject, patch: Json): Change | undefined {
  const fields = withoutIdentity(patch)
  return covers(live, fields) ? undefined : { verb: 'PUT', body: overridden(live, fields) }
}

function marked({ object }: Manifest, marks: Marks): Json {
  const wanted = withLabel(object, marks)
  if (marks.strategy === 'merge') return wanted
  const hash = createHash('sha256').update(canonicalJson(wanted)).digest('hex')
  const metadata = wanted['metadata'] as Json
  return {
    ...wanted,
    metadata: { ...metadata, annotations: { ...object.metadata.annotations, [marks.brand.hash]: hash } },
  }
}

function withLabel(object: Json, { brand, item }: ItemMark): Json {
  const metadata = object['metadata'] as Json
  const labels = { ...(metadata['labels'] as Json | undefined), [brand.label]: item }
  return { ...object, metadata: { ...metadata, labels } }
}

const ROLES = 'rbac.authorization.k8s.io/'

/** C3. That those which are wanted are there is known. A patch after deployment may add its own. */
function hasOtherSubjects(live: KubeObject, wanted: Json, { patchAfterDeployment }: Manifest): boolean {
  if (patchAfterDeployment !== undefined || !String(wanted['apiVersion']).startsWith(ROLES)) return false
  return subjectsIn(live).length > subjectsIn(wanted).length
}

function subjectsIn({ subjects }: Json): readonly unknown[] {
  return Array.isArray(subjects) ? subjects : []
}

// The patch after deployment is part of what an object comes to.
function isAsApplied(live: KubeObject, wanted: Json, { patchAfterDeployment }: Manifest): boolean {
  const said = without(wanted, ['status'])
  if (covers(live, said)) return true
  return patchAfterDeployment !== undefined && covers(live, overridden(said, withoutIdentity(patchAfterDeployment)))
}

// Finalizers, owners and status are other controllers' work unless the manifest speaks of them.
function replacement(live: KubeObject, wanted: Json, manifest: Manifest): Json {
  const { finalizers, ownerReferences } = live.metadata
  const metadata = wanted['metadata'] as Json & { annotations?: Json }
  const created = Object.keys(manifest.annotateBeforeCreate).filter(
    (key) => live.metadata.annotations?.[key] !== undefined,
  )
  const kept = Object.fromEntries(created.map((key) => [key, live.metadata.annotations?.[key]]))
  return {
    ...(live['status'] !== undefined && { status: live['status'] }),
    ...withKeptFields(live, wanted),
    metadata: {
      ...(finalizers !== undefined && { finalizers }),
      ...(ownerReferences !== undefined && { ownerReferences }),
      ...metadata,
      annotations: { ...kept, ...metadata.annotations },
      ...version(live),
    },
  }
}

// Of the metadata only what clients write is patched; the server's own fields are not ours to remove.
function comparable(object: Json, { object: desired }: Manifest): Json {
  const { status, metadata, ...rest } = object
  const own = isMap(metadata) ? metadata : {}
  const { labels, annotations, finalizers, ownerReferences } = own
  return {
    ...rest,
    ...(desired['status'] !== undefined && { status }),
    metadata: { labels, annotations, finalizers, ownerReferences },
  }
}

function withoutIdentity(patch: Json): Json {
  const { metadata } = patch
  const rest = without(patch, ['apiVersion', 'kind', 'status', 'metadata'])
  if (!isMap(metadata)) return rest
  const { labels, annotations, finalizers } = metadata
  const written = Object.entries({ labels, annotations, finalizers }).filter(([, value]) => value !== undefined)
  return { ...rest, metadata: Object.fromEntries(written) }
}

function without(object: Json, keys: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

function version({ metadata }: KubeObject): Json {
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion }
}
