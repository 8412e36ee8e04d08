// Checks that the status of an object shows success, or an error that leads the user to the invalid field.

import type { JsonValue } from '../../../workflows/kit/index.ts'
import type { LsObject } from '../cluster/cluster.ts'
import { type FieldPath, pathText } from './schema-fields.ts'

/**
 * @throws Error unless the job succeeded, or failed with a message that contains a name of the path or a text of the
 * value.
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
  // A message may name one export of `exports` or one import of `imports`.
  const words = names.flatMap((name) => [name, ...(/^(?:im|ex)ports$/.test(name) ? [name.slice(0, -1)] : [])])
  return (
    [...words, ...textsOf(value)].some((word) => message.includes(word)) ||
    (isDeep(value) && message.includes('levels'))
  )
}

/** The texts with which a message may name a value: unchanged or as JSON. */
function textsOf(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return spellingsOf(value)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => [...(/^\d*$/.test(key) ? [] : [key]), ...textsOf(one)])
}

function spellingsOf(text: string): readonly string[] {
  // Every message contains spaces.
  if (/^ *$/.test(text)) return []
  const beginning = (text.trim() === '' ? text : text.trim()).slice(0, 40)
  // The UTF-8 encoder replaces lone surrogates with U+FFFD.
  const encoded = beginning.replace(/\p{Surrogate}/gu, '\ufffd')
  return [encoded, JSON.stringify(encoded).slice(1, -1)]
}

/** Whether the value is about as deep as the depth limit of rendered templates. */
function isDeep(value: JsonValue): boolean {
  let [level, depth] = [[value], 0]
  for (; level.length > 0 && depth < 190; depth++)
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  return level.length > 0
}
