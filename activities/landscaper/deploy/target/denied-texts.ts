// What a webhook of a target says about an object that it denies, without what stands in the object: templates may have filled it with secrets,
// and a webhook quotes as it likes.

import type { KubeError } from '../../../kube/errors.ts'
import { isMap } from '../objects/readiness/field-reader.ts'

// Shorter ones are words of any sentence, and no secrets.
const SHORTEST = 4
// Before it stand the request and who denies.
const SENTENCE = /^[^]*? denied (?:the )?request: /
// Whatever a webhook says, what is looked through is short.
const LONGEST = 2000

/** @param body what was sent: each text of it is taken out where it stands as a word of its own; its name and its labels stay. */
export function withoutTexts(error: KubeError, body: unknown): KubeError {
  const message = error.message.slice(0, LONGEST)
  const [head] = SENTENCE.exec(message) ?? []
  if (head === undefined) return error
  const sentence = message.slice(head.length)
  const told = [...new Set(textsIn(body, namesIn(body)))]
    .filter((text) => sentence.includes(text))
    .sort((one, other) => other.length - one.length)
  return error.saying(head + told.reduce((left, text) => left.replaceAll(asWord(text), '***'), sentence))
}

function namesIn(body: unknown): ReadonlySet<unknown> {
  if (!isMap(body)) return new Set()
  const { apiVersion, kind, metadata } = body
  return new Set([apiVersion, kind, ...(isMap(metadata) ? [metadata['name'], metadata['namespace']] : [])])
}

function* textsIn(value: unknown, names: ReadonlySet<unknown>): Generator<string> {
  if (typeof value === 'string') yield* textsOf(value, names)
  else if (typeof value === 'number') yield* textsOf(String(value), names)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, field] of Object.entries(value)) if (key !== 'labels') yield* textsIn(field, names)
  }
}

// As it is, each line of it, and what a Secret has in base64.
function* textsOf(value: string, names: ReadonlySet<unknown>): Generator<string> {
  const decoded = /^[\w+/]{4,}={0,2}$/.test(value) ? [Buffer.from(value, 'base64').toString()] : []
  for (const text of [value, ...value.split('\n'), ...decoded].map((one) => one.trim()))
    if (text.length >= SHORTEST && !names.has(text)) yield text
}

function asWord(text: string): RegExp {
  return new RegExp(`(?<!\\w)${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?!\\w)`, 'g')
}
