// Formats the versions of an object in the journal, and the changes between them, as text and as JSON. Pure.

import type { EventRecord } from '../../../activities/journal/read/event-queries.ts'
import { type Paint, singleLine } from './format.ts'
import { writeJson, type Projection, isFields } from '../../../workflows/kit/index.ts'

/** A version and the fields that it changed. */
export interface VersionChange {
  readonly event: EventRecord
  readonly changes: readonly string[]
}

/** @param versions of one object, in the order of the journal. */
export function versionChanges(versions: readonly EventRecord[]): readonly VersionChange[] {
  return versions.map((event, index) => ({ event, changes: changesIn(versions[index - 1], event) }))
}

function changesIn(before: EventRecord | undefined, event: EventRecord): readonly string[] {
  if (event.type === 'DELETED') return ['gone']
  return changesBetween(before?.projection, event.projection)
}

/** The newest version at a time. */
export function versionAt(known: readonly VersionChange[], time: Date): VersionChange | undefined {
  return known.findLast(({ event }) => event.at <= time)
}

export function historyText(known: readonly VersionChange[], paint: Paint): string {
  if (known.length === 0) return 'the journal has no version of it any more\n'
  return known
    .flatMap(({ event, changes }) => [
      `${event.at.toISOString()}  ${paint('bold', `version ${event.version}`)}  ${event.type}, ${sourceText(event)}, ${writerText(event)}`,
      ...changes.map((change) => `  ${paint('dim', change)}`),
    ])
    .map((line) => `${line}\n`)
    .join('')
}

function sourceText({ source }: EventRecord): string {
  return { watch: 'seen by watch', relist: 'seen in a list', write: 'answer to a write' }[source]
}

function writerText({ writer }: EventRecord): string {
  return writer === null ? "by somebody beside Pawl's runs" : `by run ${singleLine(writer)}`
}

export function historyData(known: readonly VersionChange[]): readonly object[] {
  return known.map(({ event, changes }) => ({
    at: event.at,
    uid: event.uid,
    resourceVersion: event.version,
    type: event.type,
    source: event.source,
    writer: event.writer,
    outcome: event.outcome,
    changes,
  }))
}

/** One line per field, such as `status.phase: Init -> Progressing`, sorted by field. */
export function changesBetween(before: Projection | undefined, after: Projection): readonly string[] {
  const [old, now] = [leaves(before ?? {}), leaves(after)]
  const fields = [...new Set([...old.keys(), ...now.keys()])].sort()
  return fields.flatMap((field) => {
    const [from, to] = [old.get(field), now.get(field)]
    if (from === to) return []
    if (from === undefined) return [`${field}: ${to ?? ''}`]
    return [`${field}: ${from} -> ${to ?? '(gone)'}`]
  })
}

// Fields that identify the object never change.
const NAME_FIELDS: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace', 'metadata.uid'])

function leaves(projection: Projection): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const walk = (value: unknown, at: string): void => {
    if (isFields(value) && Object.keys(value).length > 0)
      for (const [key, below] of Object.entries(value)) walk(below, at === '' ? keyText(key) : `${at}.${keyText(key)}`)
    else if (at !== '' && !NAME_FIELDS.has(at) && !at.startsWith('metadata.ownerReferences'))
      found.set(at, valueText(value))
  }
  walk(projection, '')
  return found
}

function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : `"${singleLine(key)}"`
}

function valueText(value: unknown): string {
  return singleLine(typeof value === 'string' ? value : writeJson(value), 200)
}
