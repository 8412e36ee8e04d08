// Removes the parts of an object that must not enter a workflow history. Workflows in level mode read whole objects.
//
//   B1. A Secret keeps its keys and loses its values.
//   B2. `managedFields` and kubectl's `last-applied-configuration` are removed.

import type { JsonObject, LevelResource } from '../../../workflows/kit/index.ts'
import type { KubeObject } from '../../kube/client.ts'
import { isSecret } from '../../kube/core-kinds.ts'

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** Applies B1 and B2, and adds apiVersion and kind, which items of lists lack. */
export function redactObject(object: KubeObject, { apiVersion, kind }: LevelResource): JsonObject {
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
