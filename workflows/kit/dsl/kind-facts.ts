// What a document is held against when more is known of a kind than its name. The caller reads schemas; here they are asked.

/**
 * What stands at a path of an object: text, something else, anything because the schema leaves it open, or what nobody knows because there is
 * no schema.
 */
export type FieldSort = 'text' | 'other' | 'anything' | 'unknown'

export interface KindFacts {
  /** Undefined when an object of the kind has no such field. The path begins with a field beside `metadata`. */
  readonly fieldAt: (path: readonly string[]) => FieldSort | undefined
  /** Names of the fields below a path, for suggestions. */
  readonly namesBelow: (path: readonly string[]) => readonly string[]
  /** Fields beyond metadata by which the API server can select, such as `spec.nodeName`. */
  readonly selectableFields: readonly string[]
  readonly isNamespaced: boolean
}

export interface KindName {
  /** Group and version; the version alone for Kubernetes' core group. */
  readonly groupVersion: string
  readonly kind: string
}

/** The facts of a kind; undefined when nothing is known of it. */
export type KindLookup = (kind: KindName) => KindFacts | undefined

/** Fields of metadata, which all kinds share. */
const METADATA: Readonly<Record<string, FieldSort>> = {
  name: 'text',
  generateName: 'text',
  namespace: 'text',
  uid: 'text',
  resourceVersion: 'text',
  creationTimestamp: 'text',
  deletionTimestamp: 'text',
  generation: 'other',
  labels: 'other',
  annotations: 'other',
  finalizers: 'other',
  ownerReferences: 'other',
}

export function metadataFieldAt([name = '', ...rest]: readonly string[]): FieldSort | undefined {
  if (rest.length === 0) return Object.hasOwn(METADATA, name) ? METADATA[name] : undefined
  return ['labels', 'annotations'].includes(name) && rest.length === 1 ? 'text' : undefined
}

const LABEL_KEY = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/

/** Whether labels and annotations can have this key. */
export function isLabelKey(key: string): boolean {
  return LABEL_KEY.test(key)
}

export const metadataNames: readonly string[] = Object.keys(METADATA)
