// Records the users who set steering annotations, as authenticated by the API server: the webhook writes the record into an annotation of the object.
// Pure. Source: docs/adr/0054.
//
//   B1. An entry has the value that it describes and the user of the request that set it. The record that the client sends is ignored.
//   B2. An unchanged annotation keeps its entry, or its lack of one.
//   B3. Removing an annotation removes its entry.

import type { AdmissionRequest, AnnotationFilter, FieldChange, Mutation } from '../kit/index.ts'
import { STEERED_BY_ANNOTATION } from './contract.ts'
import { fieldsOf, type JsonFields, textOf } from './json-fields.ts'

interface Entry {
  readonly value: string
  readonly by: string
}

// The length at which a pause and a skipped item cut the value.
const LONGEST_VALUE = 256
// Names of ServiceAccounts have up to 150 characters.
const LONGEST_NAME = 256

/** The mutations for a kind that is steered by these annotations. */
export function steeredByMutations(annotations: readonly AnnotationFilter[]): readonly Required<Mutation>[] {
  const all = [...annotations, STEERED_BY_ANNOTATION]
  const mutate = (request: AdmissionRequest) => recordChange(request, annotations)
  return [
    { name: 'steered-by', filter: { annotationsSet: all }, whenUnavailable: 'record-policy', mutate },
    // Removals end something, and some of them are the engine's own writes: they prove nothing, so no request has to wait for the webhook.
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
    if (value !== before[annotation])
      return [[annotation, { value: shortened(value), by: shownName(user.name) }] as const] // B1
    const entry = entryOf(known[annotation], value)
    return entry === undefined ? [] : [[annotation, entry] as const] // B2
  })
  const record = entries.length === 0 ? undefined : JSON.stringify(Object.fromEntries(entries))
  if (now[STEERED_BY_ANNOTATION] === record) return []
  return [{ path: ['metadata', 'annotations', STEERED_BY_ANNOTATION], value: record }]
}

/**
 * The user who set the annotation to its current value, from the record; undefined without an entry. The caller decides whether the record is trusted.
 */
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
  return of === shortened(value) && textOf(by) !== ''
    ? { value: shortened(value), by: shownName(textOf(by)) }
    : undefined
}

function shortened(value: string): string {
  return value.slice(0, LONGEST_VALUE)
}

/** Cuts visibly; replaces characters that end a line or change the direction of text. */
function shownName(name: string): string {
  const text = name.replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '?')
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text
}

/** Any user may have written the record. */
function parsed(record: unknown): unknown {
  try {
    return JSON.parse(typeof record === 'string' ? record : 'null')
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
