// Formats times, durations, names, errors and tables for the commands that query the journal, with colours on a
// terminal. Pure.

import { type GroupKind, path, type Projection, textAt, valueAt } from '../../../workflows/kit/index.ts'

export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold'
export type Paint = (colour: Colour, text: string) => string

const CODES: Readonly<Record<Colour, number>> = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 }

export const plainPaint: Paint = (_colour, text) => text
export const ansiPaint: Paint = (colour, text) => (text === '' ? '' : `\x1b[${CODES[colour]}m${text}\x1b[0m`)

const ENDED_WELL: ReadonlySet<string> = new Set(['Succeeded', 'Deleted'])
const ENDED_BADLY: ReadonlySet<string> = new Set(['Failed', 'DeleteFailed', 'lost'])

export function colourOf(phase: string): Colour {
  if (ENDED_WELL.has(phase) || phase === READY) return 'green'
  return ENDED_BADLY.has(phase) ? 'red' : 'yellow'
}

export function isBad(phase: string | undefined): boolean {
  return phase !== undefined && ENDED_BADLY.has(phase)
}

export function isGood(phase: string | undefined): boolean {
  return phase !== undefined && ENDED_WELL.has(phase)
}

const LONGEST_TEXT = 1000

/** The text on one line, without control characters that a terminal would interpret. */
export function singleLine(text: string, most = LONGEST_TEXT): string {
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ').trim()
  return line.length > most ? `${line.slice(0, most)}...` : line
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export function formatDuration(ms: number): string {
  if (ms < 0) return '0ms'
  if (ms < SECOND) return `${Math.round(ms)}ms`
  if (ms < 10 * SECOND) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`
  if (ms < HOUR) return twoUnits(ms, [MINUTE, 'm'], [SECOND, 's'])
  if (ms < DAY) return twoUnits(ms, [HOUR, 'h'], [MINUTE, 'm'])
  return twoUnits(ms, [DAY, 'd'], [HOUR, 'h'])
}

/** Its milliseconds and its letter. */
type Unit = readonly [ms: number, name: string]

function twoUnits(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((ms % large) / small)
  return `${Math.floor(ms / large)}${largeName}${rest === 0 ? '' : `${rest}${smallName}`}`
}

export function formatSpan(from: Date, to: Date): string {
  return formatDuration(to.getTime() - from.getTime())
}

/**
 * A short local time: `14:05:09` for a time less than 12 hours from now, else `2026-02-03 14:05:09`. Commands print
 * exact times with `-o wide` only.
 */
export function formatTime(at: Date, now: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')
  if (Math.abs(now.getTime() - at.getTime()) < DAY / 2) return time
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`
}

export function nameOf({ kind, namespace, name }: Pick<GroupKind, 'kind'> & ObjectPlace): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}

/** The object in messages: `installation "team-a/shop"`. */
export function quotedName({ kind, namespace, name }: Pick<GroupKind, 'kind'> & ObjectPlace): string {
  return `${kind.toLowerCase()} "${namespace === '' ? '' : `${namespace}/`}${singleLine(name, 253)}"`
}

interface ObjectPlace {
  readonly namespace: string
  readonly name: string
}

const PHASE = path('status.phase')
const JOB_ID = path('status.jobID')
const JOB_ID_FINISHED = path('status.jobIDFinished')

export function phaseIn(projection: Projection): string | undefined {
  return textAt(projection, PHASE)
}

const READY = 'Ready'

interface ReadyCondition {
  readonly status?: unknown
  readonly reason?: unknown
  readonly message?: unknown
}

/** The condition `Ready`; undefined if the object or the journal's projection of its kind has none. */
function readyIn(projection: Projection): ReadyCondition | undefined {
  const conditions = valueAt(projection, path('status.conditions'))
  if (!Array.isArray(conditions)) return undefined
  return (conditions as readonly ({ readonly type?: unknown } | null)[]).find((one) => one?.type === READY) as
    ReadyCondition | undefined
}

/** `Ready`, or `NotReady` if the condition is not True; undefined without the condition. */
export function readinessIn(projection: Projection): string | undefined {
  const ready = readyIn(projection)
  return ready && (ready.status === 'True' ? READY : 'NotReady')
}

/** The reason and the message of a condition `Ready` that is not True; otherwise empty. */
export function notReadyText(projection: Projection): string {
  const { status = 'True', reason, message } = readyIn(projection) ?? {}
  const texts = [reason, message].filter((text): text is string => typeof text === 'string' && text !== '')
  return status === 'True' ? '' : texts.join(': ')
}

export function jobIDIn(projection: Projection): string | undefined {
  return textAt(projection, JOB_ID)
}

/** True if the status shows a job that has not ended. */
export function isBusy(projection: Projection): boolean {
  return textAt(projection, JOB_ID) !== textAt(projection, JOB_ID_FINISHED)
}

interface Deletion {
  readonly since: string
  readonly finalizers: readonly string[]
}

export function deletionIn(projection: Projection): Deletion | undefined {
  const since = textAt(projection, path('metadata.deletionTimestamp'))
  if (since === undefined) return undefined
  const found = valueAt(projection, path('metadata.finalizers'))
  const finalizers = Array.isArray(found) ? found.filter((one): one is string => typeof one === 'string') : []
  return { since, finalizers }
}

/**
 * The reason and the message of an error on one line, without the excerpt of a template (`errorLines`).
 *
 * @param most characters; a longer text is cut.
 */
export function errorText(
  error: Readonly<Record<string, unknown>> | null | undefined,
  most = LONGEST_TEXT,
): string | undefined {
  if (error === null || error === undefined) return undefined
  const { message, reason } = error
  const summary = typeof message === 'string' ? withoutExcerpt(message) : message
  const text = [reason, summary].filter((one): one is string => typeof one === 'string' && one !== '').join(': ')
  return text === '' ? undefined : singleLine(text, most)
}

/**
 * The lines of a message with several lines, such as the error of a template with the lines around it; empty for a
 * message of one line.
 */
export function errorLines(message: unknown): readonly string[] {
  if (typeof message !== 'string' || !message.trim().includes('\n')) return []
  return message.trimEnd().split('\n').map(keepIndentation)
}

/** A numbered line of a template, its title, or the shape of the template's input (rendered-output.ts). */
const EXCERPT = /^(?:[> ] +\d+ \||input: |\S+:$)/

function withoutExcerpt(message: string): string {
  const [first = '', ...rest] = message.split('\n')
  return [first, ...rest.filter((line) => !EXCERPT.test(line))].join('\n')
}

const LONGEST_LINE = 500

/** A line that is safe to print, with its indentation. */
export function keepIndentation(line: string): string {
  const spaces = line.replaceAll('\t', '  ')
  const indentation = /^ */.exec(spaces)?.[0] ?? ''
  return `${indentation}${singleLine(spaces, LONGEST_LINE)}`
}

// A table cell.

export type Cell = string | { readonly text: string; readonly colour: Colour }

/** Formats a table as kubectl does. @param rows each with as many cells as the header. */
export function tableText(header: readonly string[], rows: readonly (readonly Cell[])[], paint: Paint): string {
  const texts = rows.map((row) => row.map(textOf))
  const widths = header.map((title, column) =>
    texts.reduce((most, row) => Math.max(most, (row[column] ?? '').length), title.length),
  )
  const line = (cells: readonly Cell[]): string =>
    cells
      .map((cell, column) => {
        const text = textOf(cell)
        const blanks = ' '.repeat(column === header.length - 1 ? 0 : (widths[column] ?? 0) - text.length)
        return `${typeof cell === 'string' ? text : paint(cell.colour, text)}${blanks}`
      })
      .join('   ')
      .trimEnd()
  return [header, ...rows].map((cells) => `${line(cells)}\n`).join('')
}

/** The whole text of a cell in one line. A caller that needs a short cell must cut the text. */
export function textOf(cell: Cell): string {
  return singleLine(typeof cell === 'string' ? cell : cell.text, Infinity)
}
