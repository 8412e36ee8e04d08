// Whether an object's answer helps whoever wrote the object: it is well, or it says where it is not.

import type { JsonValue } from '../../../workflows/kit/index.ts'
import type { LsObject } from '../cluster/cluster.ts'
import { type FieldPath, pathText } from './schema-fields.ts'

/**
 * @throws when the job failed without words that lead to the field: one of the names on the way to it, or what stands there.
 */
export function expectLocated({ metadata, status }: LsObject, at: FieldPath, value: JsonValue): void {
  if (status?.phase === 'Succeeded') return
  const { reason = '', message = '' } = status?.lastError ?? {}
  const leads = isLedTo(message, at, value)
  if (status?.phase === 'Failed' && reason !== '' && leads) return
  throw new Error(
    `${metadata.name}: spec.${pathText(at)} = ${JSON.stringify(value).slice(0, 2_000)}: ended ${JSON.stringify(status)}; expected success, or words that lead to the field`,
  )
}

function isLedTo(message: string, at: FieldPath, value: JsonValue): boolean {
  const names = at.filter((name) => /^\w+$/.test(name))
  // `exports` is where an export is.
  const words = names.flatMap((name) => [name, ...(/^(?:im|ex)ports$/.test(name) ? [name.slice(0, -1)] : [])])
  return (
    [...words, ...textsOf(value)].some((word) => message.includes(word)) ||
    (isDeep(value) && message.includes('levels'))
  )
}

/** The texts by which a message may name a value: unchanged or as JSON. */
function textsOf(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return spellingsOf(value)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => [...(/^\d*$/.test(key) ? [] : [key]), ...textsOf(one)])
}

function spellingsOf(text: string): readonly string[] {
  // Blanks are in every message.
  if (/^ *$/.test(text)) return []
  const beginning = (text.trim() === '' ? text : text.trim()).slice(0, 40)
  // UTF-8 replaces lone surrogates.
  const encoded = beginning.replace(/\p{Surrogate}/gu, '\ufffd')
  return [encoded, JSON.stringify(encoded).slice(1, -1)]
}

/** About as deep as what templates may render. */
function isDeep(value: JsonValue): boolean {
  let [level, depth] = [[value], 0]
  for (; level.length > 0 && depth < 190; depth++)
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  return level.length > 0
}
