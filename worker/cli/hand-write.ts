// Who beside Pawl's runs has written an object, by what the API server keeps of its fields. That is what a client has called itself, and of the last
// write of each only: a hint, no proof. Source: Kubernetes, "Field Management".

import { FIELD_MANAGER_PREFIX } from '../../activities/kube/managed-fields.ts'
import type { ObjectMeta } from '../../activities/kube/client.ts'

export interface HandWrite {
  readonly manager: string
  /** What of spec and metadata it holds, two names deep: `spec.imports`. */
  readonly fields: readonly string[]
}

/** Servers give the second only. */
const BEFORE_MS = 1000
/** How long the journal may have taken to hear of it. */
const AFTER_MS = 10_000
const MOST_FIELDS = 8

/** @param at when the write was journaled. Undefined: another write has taken its place since, or clocks differ. */
export function handWriteAt(
  { managedFields = [] }: Pick<ObjectMeta, 'managedFields'>,
  at: Date,
): HandWrite | undefined {
  const found = managedFields
    .flatMap(({ manager = '', time = '', fieldsV1 }) => ({ manager, ms: Date.parse(time), fieldsV1 }))
    .filter(({ manager }) => manager !== '' && !manager.startsWith(FIELD_MANAGER_PREFIX))
    .filter(({ ms }) => ms <= at.getTime() + BEFORE_MS && ms >= at.getTime() - AFTER_MS)
    .toSorted((one, other) => other.ms - one.ms)
  const [last] = found
  return last && { manager: last.manager, fields: fieldsIn(last.fieldsV1).slice(0, MOST_FIELDS) }
}

function fieldsIn(fieldsV1: NonNullable<ObjectMeta['managedFields']>[number]['fieldsV1']): readonly string[] {
  return ['metadata', 'spec'].flatMap((part) =>
    Object.keys(fieldsV1?.[`f:${part}`] ?? {})
      .filter((key) => key.startsWith('f:'))
      .map((key) => `${part}.${key.slice(2)}`),
  )
}
