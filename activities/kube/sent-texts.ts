// Removes the texts of a request body from a server's answer: templates may have filled the object with secrets, and servers and their webhooks may quote
// them. Names of the object stay.

// Shorter ones are words of any sentence, and no secrets.
const SHORTEST = 4
// As long as this a text is taken out also within a word.
const LONG = 12

/** @param body the request body: each text of it is replaced by `***`; its name, namespace, kind and labels stay. */
export function withoutSent(sentence: string, body: unknown): string {
  const told = [...new Set(textsIn(body, namesIn(body)))]
    .filter((text) => sentence.includes(text))
    .sort((one, other) => other.length - one.length)
  return told.reduce((left, text) => left.replaceAll(pattern(text), '***'), sentence)
}

function namesIn(body: unknown): ReadonlySet<unknown> {
  if (!isFields(body)) return new Set()
  const { apiVersion, kind, metadata } = body
  return new Set([apiVersion, kind, ...(isFields(metadata) ? [metadata['name'], metadata['namespace']] : [])])
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function* textsIn(value: unknown, names: ReadonlySet<unknown>): Generator<string> {
  if (typeof value === 'string') yield* textsOf(value, names)
  else if (typeof value === 'number' || typeof value === 'bigint') yield* textsOf(String(value), names)
  else if (typeof value === 'object' && value !== null) {
    for (const [key, field] of Object.entries(value)) if (key !== 'labels') yield* textsIn(field, names)
  }
}

// The whole text, each line of it, and what a Secret has in base64.
function* textsOf(value: string, names: ReadonlySet<unknown>): Generator<string> {
  const decoded = /^[\w+/]{4,}={0,2}$/.test(value) ? [Buffer.from(value, 'base64').toString()] : []
  for (const text of [value, ...value.split('\n'), ...decoded].map((one) => one.trim()))
    if (text.length >= SHORTEST && !names.has(text)) yield text
}

function pattern(text: string): RegExp {
  const literal = text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(text.length >= LONG ? literal : `(?<!\\w)${literal}(?!\\w)`, 'g')
}
