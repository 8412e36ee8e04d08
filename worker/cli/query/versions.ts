// Formats the versions of an object in the journal, and the changes between them, as text and as JSON. Pure.

import type { EventRecord } from '../../../activities/journal/read/event-queries.ts'
import { clientText, type ForeignWrite } from '../live-objects.ts'
import { CLI_USER_AGENT } from '../user.ts'
import { colourOf, formatTime, type Paint, phaseIn, singleLine } from './format.ts'
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
  if (event.type === 'DELETED') return ['the object no longer exists']
  return changesBetween(before?.projection, event.projection)
}

/** The newest version at a time. */
export function versionAt(known: readonly VersionChange[], time: Date): VersionChange | undefined {
  return known.findLast(({ event }) => event.at <= time)
}

interface HistoryTextOptions {
  readonly paint: Paint
  /** Adds exact times, versions, sources, run IDs and all fields. */
  readonly isWide: boolean
  readonly now: Date
  /** Kind, namespace and name. */
  readonly name: string
  /** Clients other than Pawl, by the event's number, if Kubernetes still stores their writes. */
  readonly clients: ReadonlyMap<number, ForeignWrite>
  /** The next useful command. */
  readonly next: string
}

/** The newest state in the first line, then all versions, the oldest first. */
export function historyText(known: readonly VersionChange[], options: HistoryTextOptions): string {
  const { paint, name, next } = options
  const last = known.at(-1)
  if (last === undefined) return `${name}: the journal no longer has a version of the object\n`
  const shownVersions = known.flatMap(({ event, changes }) => versionLines(event, changes, options))
  return [
    `${paint('bold', name)}: ${lastText(last, options)}; ${known.length} ${known.length === 1 ? 'version' : 'versions'} in the journal`,
    '',
    ...shownVersions,
    '',
    `next: ${next}`,
  ]
    .map((line) => `${line}\n`)
    .join('')
}

function lastText(last: VersionChange, { paint, isWide, now, clients }: HistoryTextOptions): string {
  const { event } = last
  const phase = event.type === 'DELETED' ? 'Deleted' : phaseIn(event.projection)
  const state = phase === undefined ? '' : `${paint(colourOf(phase), singleLine(phase))}, `
  return `${state}last change ${isWide ? event.at.toISOString() : formatTime(event.at, now)} by ${writerText(last, isWide, clients)}`
}

function versionLines(
  event: EventRecord,
  changes: readonly string[],
  { paint, isWide, now, clients }: HistoryTextOptions,
): readonly string[] {
  const fields = isWide ? changes : changes.filter((change) => !BOOKKEEPING.test(change))
  if (fields.length === 0 && !isWide) return []
  const time = isWide ? event.at.toISOString() : formatTime(event.at, now)
  const details = isWide ? `, version ${event.version}, ${SOURCES[event.source]}` : ''
  return [
    `${time}  ${paint('bold', `${VERBS[event.type]} by ${writerText({ event, changes }, isWide, clients)}`)}${details}`,
    ...fields.map((field) => `  ${paint('dim', field)}`),
  ]
}

/** Fields that say nothing to users: times that the line has already, and hashes. */
const BOOKKEEPING =
  /^(?:flow\.|status\.transitionTimes\.|status\.jobIDGenerationTime|status\.conditions\..*\.observedGeneration:)/
const SOURCES = { watch: 'seen by watch', relist: 'seen in a list', write: 'answer to a write' } as const
const VERBS = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const

const REQUESTER = /^metadata\.annotations\."[^"]*\/reconcile-reason": (?:.* -> )?by (.+?)(?:: .*)?$/

const OPERATION = /^metadata\.annotations\."[^"]*\/operation": (?:.* -> )?(\w+)$/

/**
 * The client of a write by a command of Pawl; undefined for other writes. `pawl reconcile` records the user in the
 * stored fields, other commands only in the live object.
 */
export function requesterIn(
  { writer, manager }: Pick<EventRecord, 'writer' | 'manager'>,
  changes: readonly string[],
): string | undefined {
  if (writer !== null) return undefined
  const [user] = changes.flatMap((change) => REQUESTER.exec(change)?.[1] ?? [])
  if (user !== undefined) return `pawl, for ${user} (not verified)`
  const [operation] = manager === CLI_USER_AGENT ? changes.flatMap((change) => OPERATION.exec(change)?.[1] ?? []) : []
  return operation === undefined ? undefined : `a user with pawl ${operation}`
}

function writerText(
  { event, changes }: VersionChange,
  isWide: boolean,
  clients: HistoryTextOptions['clients'],
): string {
  const { seq, writer } = event
  if (writer === null) return requesterIn(event, changes) ?? clientText(clients.get(seq))
  return isWide ? `run ${singleLine(writer)}` : `Pawl (${singleLine(writer.split('/')[0] ?? '')})`
}

export function historyData(known: readonly VersionChange[]): readonly object[] {
  return known.map(({ event, changes }) => ({
    at: event.at,
    uid: event.uid,
    resourceVersion: event.version,
    type: event.type,
    source: event.source,
    writer: event.writer,
    manager: event.manager ?? null,
    outcome: event.outcome,
    changes,
  }))
}

/**
 * One line per field, such as `status.phase: Init -> Progressing`, sorted by field. Conditions have lines such as
 * `status.conditions.Ready: False RollingOut -> True RolledOut`.
 */
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

/** A change of the generation says that the spec changed; the journal does not store the spec. Other changes are unchanged. */
export function specGenerationText(change: string): string {
  return change.replace(/^metadata\.generation: (\d+) -> (\d+)$/, 'spec (generation $1 -> $2)')
}

// Fields that identify the object never change.
const NAME_FIELDS: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace', 'metadata.uid'])

function leaves(projection: Projection): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const walk = (value: unknown, at: string): void => {
    if (at === CONDITIONS && isConditions(value))
      for (const [field, text] of conditionLeaves(value)) found.set(field, text)
    else if (isFields(value) && Object.keys(value).length > 0)
      for (const [key, below] of Object.entries(value)) walk(below, at === '' ? keyText(key) : `${at}.${keyText(key)}`)
    else if (at !== '' && !NAME_FIELDS.has(at) && !at.startsWith('metadata.ownerReferences'))
      found.set(at, valueText(value))
  }
  walk(projection, '')
  return found
}

const CONDITIONS = 'status.conditions'

interface Condition {
  readonly type: string
  readonly status?: unknown
  readonly reason?: unknown
  readonly message?: unknown
  readonly observedGeneration?: unknown
}

function isConditions(value: unknown): value is readonly Condition[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((one) => isFields(one) && typeof one['type'] === 'string')
  )
}

/** Status with reason, message, and generation; without the transition time, which the time of the version shows. */
function conditionLeaves(conditions: readonly Condition[]): readonly (readonly [field: string, text: string])[] {
  return conditions.flatMap(({ type, status, reason, message, observedGeneration }) => {
    const field = `${CONDITIONS}.${keyText(type)}`
    const state = [status, reason].filter((one) => typeof one === 'string' && one !== '').join(' ')
    return [
      [field, singleLine(state, 300)] as const,
      ...(typeof message === 'string' && message !== ''
        ? [[`${field}.message`, singleLine(message, reason === BUG ? LONGEST_BUG : LONGEST_VALUE)] as const]
        : []),
      ...(observedGeneration === undefined
        ? []
        : [[`${field}.observedGeneration`, valueText(observedGeneration)] as const]),
    ]
  })
}

/** The reason of the condition of code that throws; its message has file and line at its end. */
const BUG = 'Bug'
const LONGEST_BUG = 2000
const LONGEST_VALUE = 200

function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : `"${singleLine(key)}"`
}

function valueText(value: unknown): string {
  return singleLine(typeof value === 'string' ? value : writeJson(value), LONGEST_VALUE)
}
