// Who has set the annotations by which people steer objects, as the API server has known them: the webhook records it in an annotation of the object.
// Pure. Source: docs/adr/0054.
//
//   B1. An entry stands beside the value that it is about, by the user of the request that has set it. What the client wrote there is not asked.
//   B2. An annotation that stays as it is keeps the entry that it had, or has none.
//   B3. An annotation that goes takes its entry with it.

import type { AdmissionRequest, AnnotationFilter, FieldChange, Mutation } from '../kit/index.ts'
import { STEERED_BY_ANNOTATION } from './contract.ts'
import { fieldsOf, type JsonFields, textOf } from './json-fields.ts'

interface Entry {
  readonly value: string
  readonly by: string
}

// As much of a value as a pause and a skipped item tell.
const LONGEST_VALUE = 256
// Names of ServiceAccounts have up to 150 characters.
const LONGEST_NAME = 256

/** Of a kind whose objects are steered by these annotations. */
export function steeredByMutations(annotations: readonly AnnotationFilter[]): readonly Required<Mutation>[] {
  const all = [...annotations, STEERED_BY_ANNOTATION]
  const mutate = (request: AdmissionRequest) => recordChange(request, annotations)
  return [
    { name: 'steered-by', filter: { annotationsSet: all }, whenUnavailable: 'record-policy', mutate },
    // What takes one off ends something, the engine's own writes among them: nothing is proven by it, and nothing has to wait.
    { name: 'steered-by-gone', filter: { annotationsRemoved: all }, whenUnavailable: 'pass', mutate },
  ]
}

function recordChange(
  { object, old, user }: AdmissionRequest,
  annotations: readonly AnnotationFilter[],
): readonly FieldChange[] {
  const [now, before] = [annotationsIn(object), annotationsIn(old)]
  const known = fieldsOf(parsed(before[STEERED_BY_ANNOTATION]))
  const entries = annotations.flatMap((asked) => {
    const { annotation, value: only } = typeof asked === 'string' ? { annotation: asked, value: undefined } : asked
    const value = now[annotation]
    if (typeof value !== 'string' || (only !== undefined && value !== only)) return []
    if (value !== before[annotation]) return [[annotation, { value: cut(value), by: shownName(user.name) }] as const] // B1
    const entry = entryOf(known[annotation], value)
    return entry === undefined ? [] : [[annotation, entry] as const] // B2
  })
  const record = entries.length === 0 ? undefined : JSON.stringify(Object.fromEntries(entries))
  if (now[STEERED_BY_ANNOTATION] === record) return []
  return [{ path: ['metadata', 'annotations', STEERED_BY_ANNOTATION], value: record }]
}

/** Who has set the annotation to the value that it has, by the record; undefined: it does not say. Whether it is to be believed is another question. */
export function recordedName(object: object, annotation: string): string | undefined {
  const annotations = annotationsIn(object)
  const value = annotations[annotation]
  if (typeof value !== 'string') return undefined
  return entryOf(fieldsOf(parsed(annotations[STEERED_BY_ANNOTATION]))[annotation], value)?.by
}

function annotationsIn(object: object | undefined): JsonFields {
  return fieldsOf(fieldsOf(fieldsOf(object)['metadata'])['annotations'])
}

function entryOf(found: unknown, value: string): Entry | undefined {
  const { value: of, by } = fieldsOf(found)
  return of === cut(value) && textOf(by) !== '' ? { value: cut(value), by: shownName(textOf(by)) } : undefined
}

function cut(value: string): string {
  return value.slice(0, LONGEST_VALUE)
}

/** Whole, or seen to be cut; nothing that ends a line, or turns the direction of a text. */
function shownName(name: string): string {
  const text = name.replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '?')
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text
}

/** Anybody may have written it. */
function parsed(record: unknown): unknown {
  try {
    return JSON.parse(typeof record === 'string' ? record : 'null')
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
