// Secrets, which the engine reads and writes by name and never journals.

import type { WatchedKind } from '../../workflows/kit/index.ts'
import type { KubeObject } from './client.ts'

/** Nothing of a Secret but its identity may enter the journal, hence no projected and no hashed path. */
export const secretResource: WatchedKind = {
  apiVersion: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  projection: [],
  hashed: [],
  unfollowed: true,
}

/** By its kind; whatever it is, it may lack it. */
export function isSecret({ apiVersion, kind }: { readonly apiVersion?: unknown; readonly kind?: unknown }): boolean {
  return apiVersion === secretResource.apiVersion && kind === secretResource.kind
}

/** The entries of a Secret, each in base64, or of a ConfigMap; undefined where it has none. The server has checked that they are texts. */
export function entriesOf(object: KubeObject): Readonly<Record<string, string>> | undefined {
  return object['data'] as Readonly<Record<string, string>> | undefined
}

// ConfigMaps, which the engine reads by name and never journals.

/** Nothing of a ConfigMap may enter the journal: people keep all kinds of things there. */
export const configMapResource: WatchedKind = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  projection: [],
  hashed: [],
  unfollowed: true,
}

/** The entries that are not texts, each in base64; undefined where it has none. Those of `data` are `entriesOf`. */
export function binaryEntriesOf(object: KubeObject): Readonly<Record<string, string>> | undefined {
  return object['binaryData'] as Readonly<Record<string, string>> | undefined
}
