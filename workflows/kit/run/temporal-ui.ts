// What Temporal's UI shows beside the calls of a run, so that its events read as a story: `observe installation web`, `send 3 items: db, cache, app`.
// Made of names and phases only; what a call is given and answers is the event's own to show.
// MERGED Texts of others, in the Markdown of a run's details in Temporal's UI: it would take stars for emphasis, `>` for a quotation, tags away and the
// quotes for typographic ones, and an error has to be read as it was written.

import { cutBytes } from './byte-limits.ts'
import type { Subject } from './subject.ts'
import type { LevelActivities, LevelJournal } from './level/level-activities.ts'
import type { SettleActivities } from './job/settle.ts'

/** How calls are told, by the name of the activity; one that is missing is told by its name and what it is about (`summaryOf`). */
export type Summaries<Activities> = {
  readonly [Name in keyof Activities]?: Activities[Name] extends (...args: infer Args) => unknown
    ? (...args: Args) => string
    : never
}

// A line that fits beside an event. Temporal's limit is 400 bytes by default, and a payload codec may add to them.
const LONGEST_BYTES = 200
const LONGEST_LIST = 120

/** One line of what Temporal allows. */
export function summaryLine(text: string): string {
  return cutBytes(text.replaceAll(/\s+/g, ' '), LONGEST_BYTES)
}

/**
 * The name of the activity in words, and of what its input is: the items, if it has any, else the subject, unless the run's ID names it: a line of
 * the UI has room for some thirty letters.
 *
 * @param about what the call is about, where its input does not say it as people do.
 */
export function summaryOf(activity: string, input: unknown, about?: string): string {
  const told = wordsOf(activity)
  if (about !== undefined) return `${told} ${plain(about)}`
  const subject = subjectOf(input)
  const items = itemsOf(input)
  const words = subject === undefined ? told : told.replace(/ subject$/, () => ` ${wordsOf(subject.kind)}`)
  const isTitle = subject === undefined || runIDOf(input).includes(`/${subject.name}/`)
  const whole = isTitle ? words : `${words}${joint(words, subject)}${plain(subject.name)}`
  if (items.length === 0) return whole
  const [, verb] = /^(\w+) (?:.*\b)?items$/.exec(words) ?? []
  if (verb === undefined) return `${whole}: ${listed(items)}`
  return `${verb} ${items.length} ${items.length === 1 ? 'item' : 'items'}: ${listed(items)}`
}

/** `applyDeployItems` is `apply deploy items`. */
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

/** Of the run that calls. */
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

/** The events that go along with a call, behind what it does: `; tells Created, Disrupted`. Empty: none. */
export function piggybackedEventsText(input: unknown): string {
  const told = fieldOf(input, 'told')
  if (!Array.isArray(told)) return ''
  const reasons = told.map((one: unknown) => fieldOf(fieldOf(one, 'event'), 'reason'))
  return `; tells ${listed(reasons.filter((reason) => typeof reason === 'string'))}`
}

/** `db, cache and 3 more`, as many as there is room for. */
function listed(names: readonly string[]): string {
  const [first = '', ...rest] = names.map(plain)
  let text = first
  let told = 1
  for (const name of rest) {
    if (text.length + 2 + name.length > LONGEST_LIST) break
    text = `${text}, ${name}`
    told += 1
  }
  return told === names.length ? text : `${text} and ${names.length - told} more`
}

/** The UI takes a summary for Markdown; names of items are whatever a template has made of them. */
function plain(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '?')
}

/** The end of a pass, and of a run, with jobs. */
export const SETTLE_SUMMARIES: Summaries<SettleActivities> = {
  settle({ change, againMs, attempt, fault }) {
    const error = change?.lastError?.reason ?? fault?.reason
    const told = [change?.phase, error, ...(againMs === undefined ? [] : [dueIn(againMs, attempt)])]
    return said('settle', told) ?? 'settle: nothing new'
  },
  endRun: ({ outcome }) => `end: ${outcome}`,
}

/** What a run in level mode does. */
export const LEVEL_SUMMARIES: Summaries<LevelActivities & LevelJournal> = {
  takeTurn: () => 'take its turn',
  observeLevel: ({ subject }) => `observe ${objectOf(subject)}`,
  refreshLevel: ({ state }) => `look at ${state} again`,
  applyLevel: ({ object: { kind, metadata } }) => `apply ${objectOf({ kind, name: metadata.name })}`,
  removeLevel: ({ object: { kind, metadata } }) => `remove ${objectOf({ kind, name: metadata.name })}`,
  createLevel: ({ object: { kind, metadata } }) => `create ${objectOf({ kind, name: metadata.name })}`,
  patchLevel: ({ object: { kind, metadata } }) => `patch ${objectOf({ kind, name: metadata.name })}`,
  releaseLevel: ({ object: { kind, metadata } }) => `release ${objectOf({ kind, name: metadata.name })}`,
  eventLevel: ({ event: { type, reason } }) => `tell ${plain(type)} ${plain(reason)}`,
  finalizeLevel: ({ subject, guarded }) =>
    `${guarded ? 'put the finalizer on' : 'take the finalizer off'} ${objectOf(subject)}`,
  writeLevelStatus: ({ subject, status, conditions = [] }) =>
    `write status of ${objectOf(subject)}: ${listed([...Object.keys(status), ...conditions.map(({ type }) => type)])}`,
  settleLevel: ({ againMs, attempt, fault }) =>
    said('settle', [fault?.reason, ...(againMs === undefined ? [] : [dueIn(againMs, attempt)])]) ?? 'settle: waits',
  endLevel: ({ outcome }) => `end: ${outcome}`,
}

function objectOf({ kind, name }: Pick<Subject, 'kind' | 'name'>): string {
  return `${plain(kind)} ${plain(name)}`
}

function said(verb: string, told: readonly (string | undefined)[]): string | undefined {
  const known = told.filter((one) => one !== undefined && one !== '')
  return known.length === 0 ? undefined : `${verb}: ${known.join(', ')}`
}

function dueIn(againMs: number, attempt: number): string {
  if (attempt > 0) return `retry ${attempt}`
  return againMs === 0 ? 'again at once' : `again in ${duration(againMs)}`
}

// Each with its size, and that of the next larger one.
const UNITS = [
  ['h', 3_600_000, Infinity],
  ['min', 60_000, 3_600_000],
  ['s', 1000, 60_000],
] as const

/** `3 min 54 s`: the two largest units. */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`
  const counts = UNITS.map(([unit, size, larger]) => ({ unit, count: Math.floor((ms % larger) / size) }))
  const told = counts.filter(({ count }) => count > 0).map(({ unit, count }) => `${count} ${unit}`)
  return told.slice(0, 2).join(' ')
}

/** In one line, cut after so many letters. */
export function inlineCode(message: string, longest: number): string {
  const line = message.trim().replaceAll(/\s+/g, ' ').replaceAll('`', "'")
  return line === '' ? '' : `\`${line.length <= longest ? line : `${line.slice(0, longest)}...`}\``
}

/** With its lines, as a paragraph of its own when it has several; cut after so many letters. */
export function codeBlock(message: string, longest: number): string {
  const text = message.trim()
  if (!text.includes('\n')) return ` ${inlineCode(text, longest)}`
  // A fence is closed by nothing shorter than itself.
  return `\n\n\`\`\`\`\`\`\n${text.slice(0, longest).replaceAll('``````', "''''''")}\n\`\`\`\`\`\``
}
