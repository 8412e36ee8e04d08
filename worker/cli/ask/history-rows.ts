// The versions of an object as text and as data. Pure.

import type { EventRecord } from '../../../activities/journal/read/event-queries.ts'
import { changesBetween } from './changes.ts'
import { type Paint, shown } from './texts.ts'

/** A version, and what it changed. */
export interface Known {
  readonly event: EventRecord
  readonly changes: readonly string[]
}

/** @param versions of one object, in the order of the journal. */
export function knownIn(versions: readonly EventRecord[]): readonly Known[] {
  return versions.map((event, index) => ({ event, changes: changesOf(versions[index - 1], event) }))
}

function changesOf(before: EventRecord | undefined, event: EventRecord): readonly string[] {
  if (event.type === 'DELETED') return ['gone']
  return changesBetween(before?.projection, event.projection)
}

/** The version that was the newest at a time. */
export function versionAt(known: readonly Known[], time: Date): Known | undefined {
  return known.findLast(({ event }) => event.at <= time)
}

export function historyText(known: readonly Known[], paint: Paint): string {
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
  return writer === null ? "by somebody beside Pawl's runs" : `by run ${shown(writer)}`
}

export function historyData(known: readonly Known[]): readonly object[] {
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
