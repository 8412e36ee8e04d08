// Whether an object's answer helps whoever wrote the object: it is well, or it says where it is not.

import type { JsonValue } from '../../../workflows/kit/index.ts'
import type { LsObject } from '../cluster.ts'
import { type FieldPath, pathText } from './schema-fields.ts'

/**
 * @throws when the job failed without words that lead to the field: one of the names on the way to it, or what stands there.
 */
export function expectLocated({ metadata, status }: LsObject, at: FieldPath, value: JsonValue): void {
  if (status?.phase === 'Succeeded') return
  const { reason = '', message = '' } = status?.lastError ?? {}
  const names = at.filter((name) => /^\w+$/.test(name))
  const leads = [...names, ...textsOf(value)].some((name) => message.includes(name))
  if (status?.phase === 'Failed' && reason !== '' && leads) return
  throw new Error(
    `${metadata.name}: spec.${pathText(at)} = ${JSON.stringify(value).slice(0, 2_000)}: ended ${JSON.stringify(status)}; expected success, or words that lead to the field`,
  )
}

/** What of a value a message may name. */
function textsOf(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return value.trim() === '' ? [] : [value.trim().slice(0, 40)]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => [...(/^\d*$/.test(key) ? [] : [key]), ...textsOf(one)])
}
