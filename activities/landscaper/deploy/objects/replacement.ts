// Computes the complete object that replaces a live one. Pure.
//
//   R1. Finalizers, owners and status belong to other controllers, unless the manifest sets them.
//   R2. Fields that servers have set, and reject or break without, stay (kept-fields.ts).

import type { KubeObject } from '../../../kube/client.ts'
import { isMap, type Json } from './config-reader.ts'
import { withKeptFields } from './kept-fields.ts'
import type { Manifest } from './manifest.ts'
import { type Owners, withOthersFields } from './others-fields.ts'

/** `wanted` with the fields of other owners, on the version of the live object. */
export function replacement(
  live: KubeObject,
  wanted: Json,
  { manifest, owners }: { readonly manifest: Manifest; readonly owners: Owners },
): Json {
  const own = isMap(wanted['metadata']) ? wanted['metadata'] : {}
  const { labels, annotations, finalizers, ownerReferences } = live.metadata
  const held = Object.entries({ finalizers, ownerReferences }).filter(([, value]) => value !== undefined)
  const spoken = held.filter(([key]) => own[key] !== undefined)
  const written = { ...without(live, ['status']), metadata: { labels, annotations, ...Object.fromEntries(spoken) } }
  const merged = withOthersFields(written, wanted, owners) as Json
  const metadata = merged['metadata'] as Json & { annotations?: Json }
  const created = Object.keys(manifest.annotateBeforeCreate).filter((key) => annotations?.[key] !== undefined)
  const kept = Object.fromEntries(created.map((key) => [key, annotations?.[key]]))
  return {
    ...(live['status'] !== undefined && { status: live['status'] }),
    ...withKeptFields(live, merged),
    metadata: {
      ...Object.fromEntries(held),
      ...metadata,
      annotations: { ...kept, ...metadata.annotations },
      ...version(live),
    },
  }
}

/** Only the metadata that clients write, because the server's own fields cannot be removed. */
export function comparable(object: Json, { object: desired }: Manifest): Json {
  const { status, metadata, ...rest } = object
  const own = isMap(metadata) ? metadata : {}
  const { labels, annotations, finalizers, ownerReferences } = own
  return {
    ...rest,
    ...(desired['status'] !== undefined && { status }),
    metadata: { labels, annotations, finalizers, ownerReferences },
  }
}

export function without(object: object, keys: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

/** C2 in changes.ts. */
export function version({ metadata }: KubeObject): Json {
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion }
}
