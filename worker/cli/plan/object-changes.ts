// Computes the changed fields of an object for display, and hides secret values. Pure.
//
//   D1. Values of Secrets are never shown: neither in Secrets, nor where they were rendered into other objects, nor in
//       base64.
//   D2. Fields that the API server maintains are ignored.

import { readJson, writeJson, isFields } from '../../../workflows/kit/index.ts'
import type { KubeObject } from '../../../activities/kube/client.ts'
import { decodedText, differenceOf } from './text-difference.ts'

export interface Change {
  readonly field: string
  /** As JSON; undefined if the field is absent. */
  readonly before: string | undefined
  readonly after: string | undefined
  /** The changed lines of a text with several lines, decoded from base64; absent for other values. */
  readonly lines?: readonly string[]
  /** Pawl's bookkeeping, which only the wide output shows. */
  readonly internal?: true
}

export interface DisplayRules {
  /** Path prefixes of fields that are ignored. */
  readonly incidental: readonly string[]
  /** Path prefixes of fields whose values are hidden, by kind. */
  readonly concealed: Readonly<Record<string, readonly string[]>>
  /** Path prefixes of Pawl's bookkeeping; a finalizer is `metadata.finalizers.<finalizer>`. */
  readonly internal: readonly string[]
  /** Secret texts (D1). */
  readonly secrets: readonly string[]
}

const HIDDEN = '***'
const BOOKKEEPING = [
  ...['managedFields', 'resourceVersion', 'uid', 'generation', 'creationTimestamp', 'selfLink'].map(
    (one) => `metadata.${one}`,
  ),
]
const FINALIZERS = 'metadata.finalizers'
/** Shorter texts occur everywhere, so they are not masked. */
const SHORTEST_PART = 4
const LONGEST_SHOWN = 200
/** Characters before and after the difference of two long values. */
const CONTEXT = 40
const SECRET_FIELDS = ['data', 'stringData']

export function changesOf(
  { before, after }: { readonly before: KubeObject | undefined; readonly after: KubeObject | undefined },
  rules: DisplayRules,
): readonly Change[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  const kind = (after ?? before)?.kind ?? ''
  const ignored = [...BOOKKEEPING, ...rules.incidental]
  const hidden = [...(kind === 'Secret' ? SECRET_FIELDS : []), ...(rules.concealed[kind] ?? [])]
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((field) => {
    const [oldValue, newValue] = [old.get(field), now.get(field)]
    if (oldValue === newValue || ignored.some((one) => isWithin(field, one))) return []
    const isHidden = hidden.some((one) => isWithin(field, one)) || isInSecret(field, before, after)
    const display = (text: string) => (isHidden ? HIDDEN : maskSecrets(text, rules))
    const lines = isHidden ? undefined : linesOf(oldValue, newValue, rules)
    const masked = [oldValue, newValue].map((text) => (text === undefined ? text : display(text)))
    const [shownBefore, shownAfter] = shortened(masked[0], masked[1])
    const isInternal = rules.internal.some((one) => isWithin(field, one))
    return [
      {
        field: isWithin(field, FINALIZERS) ? FINALIZERS : field,
        before: shownBefore,
        after: shownAfter,
        ...(lines !== undefined && { lines }),
        ...(isInternal && { internal: true as const }),
      },
    ]
  })
}

/** The difference of two texts, at least one of which has several lines. @param before as JSON. @param after as JSON. */
function linesOf(
  before: string | undefined,
  after: string | undefined,
  rules: DisplayRules,
): readonly string[] | undefined {
  const [old, now] = [before, after].map((json) => {
    const value: unknown = json === undefined ? undefined : readJson(json)
    return typeof value === 'string' ? maskSecrets(decodedText(value), rules) : undefined
  })
  if (old === undefined || now === undefined || !(old.includes('\n') || now.includes('\n'))) return undefined
  return differenceOf(old, now)
}

function isWithin(field: string, path: string): boolean {
  return field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`)
}

/**
 * Every scalar by its path. Keys with dots are not escaped, because the paths are only displayed. Finalizers are a set:
 * the path of a finalizer is `metadata.finalizers.<finalizer>`.
 */
function fieldsOf(object: KubeObject | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const walk = (value: unknown, path: string): void => {
    if (Array.isArray(value) && path === FINALIZERS)
      for (const finalizer of value) found.set(`${path}.${String(finalizer)}`, writeJson(finalizer))
    else if (Array.isArray(value) && value.length > 0)
      value.forEach((one, index) => {
        walk(one, `${path}[${index}]`)
      })
    else if (isFields(value) && Object.keys(value).length > 0)
      for (const [key, one] of Object.entries(value)) walk(one, path === '' ? key : `${path}.${key}`)
    else if (value !== undefined) found.set(path, writeJson(value))
  }
  if (object !== undefined) walk(object, '')
  return found
}

/** True if the field belongs to a Secret inside the object, as in manifests of items. */
function isInSecret(field: string, ...objects: readonly (KubeObject | undefined)[]): boolean {
  return objects.some((object) => {
    let value: unknown = object
    const steps = field.split(/[.[]/).map((step) => step.replace(/\]$/, ''))
    for (const step of steps) {
      if (!isFields(value) && !Array.isArray(value)) return false
      if (isFields(value) && value['kind'] === 'Secret' && SECRET_FIELDS.includes(step)) return true
      value = (value as Readonly<Record<string, unknown>>)[step]
    }
    return false
  })
}

/** Hides all values of Secrets in a text. @param secrets the longest first. */
export function maskSecrets(text: string, { secrets }: Pick<DisplayRules, 'secrets'>): string {
  const whole = text.replace(/^"|"$/g, '')
  if (secrets.includes(whole)) return HIDDEN
  const parts = secrets.filter((one) => one.length >= SHORTEST_PART)
  return parts.reduce((left, one) => left.replaceAll(one, HIDDEN), text)
}

/** Two values for display: of long values the part in which they differ, with context; at most 200 characters. */
function shortened(before: string | undefined, after: string | undefined): readonly (string | undefined)[] {
  if (before === undefined || after === undefined || Math.max(before.length, after.length) <= LONGEST_SHOWN)
    return [before, after].map((text) => (text === undefined ? text : truncated(text)))
  const shortest = Math.min(before.length, after.length)
  let start = 0
  while (start < shortest && before[start] === after[start]) start++
  let end = 0
  while (end < shortest - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const from = Math.max(0, start - CONTEXT)
  return [before, after].map((text) => {
    const to = Math.min(text.length, text.length - end + CONTEXT)
    return `${from > 0 ? '...' : ''}${truncated(text.slice(from, to), to < text.length)}`
  })
}

function truncated(text: string, isCut = false): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : `${text}${isCut ? '...' : ''}`
}

/**
 * The texts to hide: values of Secrets, and scalars inside values that are YAML; each plain, as JSON, and in base64.
 */
export function secretTexts(secrets: readonly KubeObject[], parse: (text: string) => unknown): readonly string[] {
  const found = new Set<string>()
  const add = (text: string) => {
    if (text.trim() === '') return
    for (const one of [text, text.trim()]) {
      found.add(one).add(Buffer.from(one).toString('base64'))
      found.add(writeJson(one).slice(1, -1))
    }
  }
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk)
    else if (isFields(value)) Object.values(value).forEach(walk)
    else if (typeof value === 'string' || typeof value === 'number') add(String(value))
  }
  for (const { data, stringData } of secrets) {
    const plain = Object.values(isFields(stringData) ? stringData : {}).map(String)
    const decoded = Object.values(isFields(data) ? data : {}).map((one) =>
      Buffer.from(String(one), 'base64').toString('utf8'),
    )
    for (const text of [...plain, ...decoded]) {
      const lines = text.split('\n').filter((line) => line.length >= 2 * SHORTEST_PART)
      for (const one of [text, ...lines]) add(one)
      walk(parse(text))
    }
  }
  return [...found].sort((left, right) => right.length - left.length)
}
