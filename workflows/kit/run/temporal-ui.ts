// Texts for the Temporal UI: summaries of activity calls, such as `observe installation web` or `send 3 items: db,
// cache, app`, and safe Markdown for the details of a run. Summaries contain names and phases only; the UI shows inputs
// and results itself.

import { durationText } from '../plan/duration-text.ts'
import { cutBytes } from './byte-limits.ts'
import type { Subject } from './subject.ts'
import type { LevelActivities, LevelJournal } from './level/level-activities.ts'
import type { SettleActivities } from './job/settle.ts'

/** Summary functions by activity name; `summaryOf` formats the calls of other activities. */
export type Summaries<Activities> = {
  readonly [Name in keyof Activities]?: Activities[Name] extends (...args: infer Args) => unknown
    ? (...args: Args) => string
    : never
}

// Short enough for one line in the UI. Temporal's limit is 400 bytes by default, and a payload codec may add bytes.
const LONGEST_BYTES = 200
const LONGEST_LIST = 120

/** One line within Temporal's limit. */
export function summaryLine(text: string): string {
  return cutBytes(text.replaceAll(/\s+/g, ' '), LONGEST_BYTES)
}

/**
 * Formats the activity's name and its items, or else its object, unless the workflow ID contains the object's name: a line of the UI has space for
 * some
 * thirty letters.
 *
 * @param about the object of the call, where the input does not name it readably.
 */
export function summaryOf(activity: string, input: unknown, about?: string): string {
  const title = wordsOf(activity)
  if (about !== undefined) return `${title} ${plain(about)}`
  const subject = subjectOf(input)
  const items = itemsOf(input)
  const words = subject === undefined ? title : title.replace(/ subject$/, () => ` ${wordsOf(subject.kind)}`)
  const isTitle = subject === undefined || runIDOf(input).includes(`/${subject.name}/`)
  const whole = isTitle ? words : `${words}${joint(words, subject)}${plain(subject.name)}`
  if (items.length === 0) return whole
  const [, verb] = /^(\w+) (?:.*\b)?items$/.exec(words) ?? []
  if (verb === undefined) return `${whole}: ${listed(items)}`
  return `${verb} ${items.length} ${items.length === 1 ? 'item' : 'items'}: ${listed(items)}`
}

/** `applyDeployItems` becomes `apply deploy items`. */
function wordsOf(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').toLowerCase()
}

/** `observe installation web`, but `write exports of web`. */
function joint(words: string, { kind }: Pick<Subject, 'kind'>): string {
  const isSubject = !words.includes(' ') || words.endsWith(` ${wordsOf(kind)}`)
  return isSubject ? ' ' : ' of '
}

function subjectOf(input: unknown): Pick<Subject, 'kind' | 'name'> | undefined {
  const subject = fieldOf(input, 'subject')
  const [kind, name] = [fieldOf(subject, 'kind'), fieldOf(subject, 'name')]
  return typeof kind === 'string' && typeof name === 'string' ? { kind, name } : undefined
}

/** The workflow ID of the calling run. */
function runIDOf(input: unknown): string {
  const runID = fieldOf(fieldOf(input, 'by'), 'workflowID')
  return typeof runID === 'string' ? runID : ''
}

function itemsOf(input: unknown): readonly string[] {
  const items = fieldOf(input, 'items')
  if (!Array.isArray(items)) return []
  return items.flatMap((item: unknown) => {
    const name = fieldOf(item, 'item') ?? fieldOf(item, 'name')
    return typeof name === 'string' ? [name] : []
  })
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === field)?.[1]
    : undefined
}

/** The piggybacked events of a call, as a suffix: `; tells Created, Disrupted`. Empty without events. */
export function piggybackedEventsText(input: unknown): string {
  const events = fieldOf(input, 'told')
  if (!Array.isArray(events)) return ''
  const reasons = events.map((one: unknown) => fieldOf(fieldOf(one, 'event'), 'reason'))
  return `; emits ${listed(reasons.filter((reason) => typeof reason === 'string'))}`
}

/** `db, cache and 3 more`, as many names as fit. */
function listed(names: readonly string[]): string {
  const [first = '', ...rest] = names.map(plain)
  let text = first
  let count = 1
  for (const name of rest) {
    if (text.length + 2 + name.length > LONGEST_LIST) break
    text = `${text}, ${name}`
    count += 1
  }
  return count === names.length ? text : `${text} and ${names.length - count} more`
}

/** The UI renders summaries as Markdown, and templates can produce any item name. */
function plain(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '?')
}

/** Summaries of the end of a pass and of a run in job mode. */
export const SETTLE_SUMMARIES: Summaries<SettleActivities> = {
  settle({ change, againMs, attempt, fault }) {
    const error = change?.lastError?.reason ?? fault?.reason
    const texts = [change?.phase, error, ...(againMs === undefined ? [] : [dueIn(againMs, attempt)])]
    return said('settle', texts) ?? 'settle: nothing new'
  },
  endRun: ({ outcome }) => `end: ${outcome}`,
}

/** Summaries of the activities in level mode. */
export const LEVEL_SUMMARIES: Summaries<LevelActivities & LevelJournal> = {
  takeTurn: () => 'acquire a permit',
  observeLevel: ({ subject }) => `observe ${objectOf(subject)}`,
  refreshLevel: ({ state }) => `read ${state} again`,
  applyLevel: ({ object: { kind, metadata } }) => `apply ${objectOf({ kind, name: metadata.name })}`,
  removeLevel: ({ object: { kind, metadata } }) => `remove ${objectOf({ kind, name: metadata.name })}`,
  createLevel: ({ object: { kind, metadata } }) => `create ${objectOf({ kind, name: metadata.name })}`,
  patchLevel: ({ object: { kind, metadata } }) => `patch ${objectOf({ kind, name: metadata.name })}`,
  releaseLevel: ({ object: { kind, metadata } }) => `release ${objectOf({ kind, name: metadata.name })}`,
  eventLevel: ({ event: { type, reason } }) => `emit ${plain(type)} ${plain(reason)}`,
  finalizeLevel: ({ subject, guarded }) =>
    `${guarded ? 'add the finalizer to' : 'remove the finalizer from'} ${objectOf(subject)}`,
  writeLevelStatus: ({ subject, status, conditions = [] }) =>
    `write status of ${objectOf(subject)}: ${listed([...Object.keys(status), ...conditions.map(({ type }) => type)])}`,
  settleLevel: ({ againMs, attempt, fault }) =>
    said('settle', [fault?.reason, ...(againMs === undefined ? [] : [dueIn(againMs, attempt)])]) ?? 'settle: waits',
  endLevel: ({ outcome }) => `end: ${outcome}`,
}

function objectOf({ kind, name }: Pick<Subject, 'kind' | 'name'>): string {
  return `${plain(kind)} ${plain(name)}`
}

function said(verb: string, texts: readonly (string | undefined)[]): string | undefined {
  const known = texts.filter((one) => one !== undefined && one !== '')
  return known.length === 0 ? undefined : `${verb}: ${known.join(', ')}`
}

function dueIn(againMs: number, attempt: number): string {
  if (attempt > 0) return `retry ${attempt}`
  return againMs === 0 ? 'again at once' : `again in ${durationText(againMs)}`
}

/** The text as Markdown code in one line, cut to this length. Plain Markdown would turn stars into emphasis, drop tags and change quotes. */
export function inlineCode(message: string, longest: number): string {
  const line = message.trim().replaceAll(/\s+/g, ' ').replaceAll('`', "'")
  return line === '' ? '' : `\`${line.length <= longest ? line : `${line.slice(0, longest)}...`}\``
}

/** The text as a fenced code block if it has several lines; cut to this length. */
export function codeBlock(message: string, longest: number): string {
  const text = message.trim()
  if (!text.includes('\n')) return ` ${inlineCode(text, longest)}`
  // Only a fence of the same or a greater length closes a fence.
  return `\n\n\`\`\`\`\`\`\n${text.slice(0, longest).replaceAll('``````', "''''''")}\n\`\`\`\`\`\``
}
