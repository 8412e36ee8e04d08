// Secrets and ConfigMaps, which the engine reads and writes by name and never journals.

import type { WatchedKind } from '../../workflows/kit/index.ts'
import type { KubeObject } from './client.ts'

/** Only the identity of a Secret may enter the journal, so no path is projected or hashed. */
export const secretResource: WatchedKind = {
  apiVersion: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  projection: [],
  hashed: [],
  unfollowed: true,
}

/** Whether an object or kind is a Secret. */
export function isSecret({ apiVersion, kind }: { readonly apiVersion?: unknown; readonly kind?: unknown }): boolean {
  return apiVersion === secretResource.apiVersion && kind === secretResource.kind
}

/**
 * The entries of a Secret (base64) or ConfigMap; undefined without entries. The server has checked that they are texts.
 */
export function entriesOf(object: KubeObject): Readonly<Record<string, string>> | undefined {
  return object['data'] as Readonly<Record<string, string>> | undefined
}

/** No content of a ConfigMap may enter the journal, because users store all kinds of data there. */
export const configMapResource: WatchedKind = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  projection: [],
  hashed: [],
  unfollowed: true,
}

/** The binary entries of a ConfigMap in base64; undefined without entries. */
export function binaryEntriesOf(object: KubeObject): Readonly<Record<string, string>> | undefined {
  return object['binaryData'] as Readonly<Record<string, string>> | undefined
}
