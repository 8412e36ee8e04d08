// What of an object may enter a run: workflows in level mode decide by whole objects, and what they see stays in Temporal's history.
//
//   B1. Of a Secret the keys are seen, and no values.
//   B2. What the server keeps for itself, and the copy of a manifest that kubectl leaves, are left out.

import type { JsonObject, LevelResource } from '../../../workflows/kit/index.ts'
import type { KubeObject } from '../../kube/client.ts'
import { isSecret } from '../../kube/secrets.ts'

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** The object without B1 and B2; items of lists lack their kind, which is put in. */
export function readable(object: KubeObject, { apiVersion, kind }: LevelResource): JsonObject {
  const { annotations } = object.metadata
  const metadata = {
    ...without(object.metadata, ['managedFields']),
    ...(annotations && { annotations: without(annotations, [LAST_APPLIED]) }),
  }
  const seen = { ...object, apiVersion, kind, metadata }
  // The API server gives every stored object a uid, a version and a creation time.
  return (isSecret({ apiVersion, kind }) ? withoutValues(seen) : seen) as unknown as JsonObject
}

function withoutValues(secret: Readonly<Record<string, unknown>>): object {
  const { data } = secret
  const keys = typeof data === 'object' && data !== null ? Object.keys(data) : []
  return { ...without(secret, ['data', 'stringData']), data: Object.fromEntries(keys.map((key) => [key, ''])) }
}

function without(object: object, keys: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}
