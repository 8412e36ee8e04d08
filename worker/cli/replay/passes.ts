// Splits a recorded run into passes: what woke each pass, what it observed, its plans, calls, writes and result. Pure.
//
//   P1. Entries before the first pass belong to the first pass. Answers between two passes belong to the later pass,
//       which they woke.
//   P2. Writes are rows of the journal. Writes that the journal no longer has are not shown, without a note in the
//       pass.

import type { ReplayEntry, ReplayCall, ReplayFailure, Subject, TracedStep } from '../../../workflows/kit/index.ts'
import { clientText } from '../live-objects.ts'
import type { JobRows, RowOfWrite, RowOfEvent } from './job-rows.ts'

export interface ReplayedPlan {
  readonly subject: Pick<Subject, 'kind' | 'namespace' | 'name'> | undefined
  readonly phase: string | undefined
  /** Undefined if the plan did not end in the history. */
  readonly trace: TracedStep | undefined
}

export interface ReplayedCall {
  readonly name: string
  /** As shown in Temporal's UI. */
  readonly summary: string
  readonly action: string | undefined
  /** True for local activities. */
  readonly isLocal: boolean
  /** Undefined if the history has no answer. */
  readonly answer: 'done' | { readonly failure: ReplayFailure } | undefined
  readonly saw: readonly SeenObject[]
}

export interface ReplayedPass {
  /** Starts at 1 in the job; `passOfRun` starts again after continue-as-new. */
  readonly pass: number
  readonly passOfRun: number
  readonly at: Date
  readonly until: Date
  readonly wokenBy: readonly string[]
  readonly plans: readonly ReplayedPlan[]
  readonly calls: readonly ReplayedCall[]
  readonly writes: readonly RowOfWrite[]
  /** How the run ended in this pass; undefined if it continued. */
  readonly ended: string | undefined
}

/** The entries of each pass, in order. */
export function entriesOfPasses(entries: readonly ReplayEntry[]): readonly (readonly ReplayEntry[])[] {
  const passes: ReplayEntry[][] = []
  let next: ReplayEntry[] = []
  let isSettled = false
  for (const entry of entries) {
    if (entry.told === 'pass') {
      passes.push([...next, entry])
      next = []
      isSettled = false
      continue
    }
    const current = passes.at(-1)
    // P1
    if (current === undefined || (isSettled && entry.told !== 'ended' && !isEnd(entry))) next.push(entry)
    else current.push(entry)
    if (current !== undefined && isSettle(entry, current)) isSettled = true
  }
  if (next.length > 0) passes.at(-1)?.push(...next)
  return passes
}

const SETTLES: ReadonlySet<string> = new Set(['settle', 'settleLevel'])
const ENDS: ReadonlySet<string> = new Set(['endRun', 'endLevel'])

/** True for the answer of the call that settles the pass. */
function isSettle(entry: ReplayEntry, current: readonly ReplayEntry[]): boolean {
  if (entry.told !== 'answer') return false
  return current.some((one) => one.told === 'call' && one.call === entry.call && SETTLES.has(one.name))
}

function isEnd(entry: ReplayEntry): boolean {
  return entry.told === 'call' && ENDS.has(entry.name)
}

/** How texts show events. */
export interface EventTexts {
  readonly format: (at: Date) => string
  /** Whether the texts have event numbers, versions and run IDs. */
  readonly isWide: boolean
}

export const EXACT_TIMES: EventTexts = { format: (at) => at.toISOString(), isWide: true }

interface PassContext {
  readonly rows: JobRows | undefined
  /** The runs that executed a pass; rows of other runs with the same workflow ID are ignored. */
  readonly runIDsDuring: (from: Date, until: Date) => readonly string[]
  readonly times: EventTexts
}

export function passesOf(
  entries: readonly ReplayEntry[],
  { rows, runIDsDuring, times }: PassContext,
): readonly ReplayedPass[] {
  const answers = new Map(entries.flatMap((entry) => (entry.told === 'answer' ? [[entry.call, entry] as const] : [])))
  return entriesOfPasses(entries).map((own, index, all) => {
    const start = own.find((entry) => entry.told === 'pass')
    const pass = start?.pass ?? index + 1
    const end = own.findLast((entry) => entry.told === 'ended')
    const [at, until] = [new Date(start?.atMs ?? 0), new Date(own.at(-1)?.atMs ?? 0)]
    const runIDs = runIDsDuring(at, until)
    return {
      pass,
      passOfRun: pass,
      at,
      until,
      wokenBy: wakeTexts(own, { rows, times, before: all[index - 1] }),
      plans: plansOf(own),
      calls: own.flatMap((entry) => (entry.told === 'call' ? [callOf(entry, answers)] : [])),
      writes: (rows?.writes ?? []).filter((row) => row.pass === pass && runIDs.includes(row.runID)),
      ended: end === undefined ? undefined : endOf(end),
    }
  })
}

type Told<What extends ReplayEntry['told']> = Extract<ReplayEntry, { readonly told: What }>

function plansOf(own: readonly ReplayEntry[]): readonly ReplayedPlan[] {
  const traces = new Map(own.flatMap((entry) => (entry.told === 'planned' ? [[entry.plan, entry.trace] as const] : [])))
  return own.flatMap((entry) =>
    entry.told === 'plan' ? [{ subject: entry.subject, phase: entry.phase, trace: traces.get(entry.plan) }] : [],
  )
}

function callOf(
  { call, name, summary = name, action, isLocal, input }: ReplayCall,
  answers: ReadonlyMap<number, Told<'answer'>>,
): ReplayedCall {
  const answer = answers.get(call)
  const { subject } = (input ?? {}) as { readonly subject?: Subject }
  const end = answer?.failure === undefined ? 'done' : { failure: answer.failure }
  return {
    name,
    summary,
    action,
    isLocal,
    answer: answer === undefined ? undefined : end,
    saw: objectsIn(answer?.result, subject),
  }
}

function endOf({ result, failure, isContinued }: Told<'ended'>): string {
  if (isContinued === true) return 'continues as a new run'
  return failure === undefined ? String(result) : `${failure.type}: ${failure.message}`
}

// An object in an activity's answer. Only names, versions and phases are shown, because a history may contain data that
// users must not see.

export interface SeenObject {
  /** Undefined if the answer does not name the object; then it is the object of the call. */
  readonly kind: string | undefined
  readonly name: string
  readonly version: string | undefined
  readonly phase: string | undefined
}

const MOST_SEEN = 500

/** @param about the object of the call, which answers do not repeat. */
export function objectsIn(answer: unknown, about: { readonly kind: string; readonly name: string } | undefined) {
  const found: SeenObject[] = []
  walk(answer, '', (value, key) => {
    const seen = objectOf(value, key, about)
    if (seen !== undefined && found.length < MOST_SEEN) found.push(seen)
    return seen !== undefined && isKubernetes(value)
  })
  return found
}

type Cells = Readonly<Record<string, unknown>>

/** @param visit returns true to skip the contents of the value. */
function walk(value: unknown, key: string, visit: (value: Cells, key: string) => boolean): void {
  if (Array.isArray(value)) {
    for (const one of value) walk(one, key, visit)
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (visit(value as Cells, key)) return
  for (const [name, one] of Object.entries(value)) walk(one, name, visit)
}

function objectOf(value: Cells, key: string, about: Parameters<typeof objectsIn>[1]): SeenObject | undefined {
  if (isKubernetes(value)) {
    const { metadata, kind, status } = value as { metadata: Cells; kind?: unknown; status?: unknown }
    const phase = (status as Cells | undefined)?.['phase']
    return {
      kind: text(kind),
      name: text(metadata['name']) ?? '',
      version: text(metadata['resourceVersion']),
      phase: text(phase),
    }
  }
  const version = text(value['version'])
  if (version === undefined) return undefined
  const isTarget = key === 'target'
  const name = text(value['name']) ?? (isTarget ? about?.name : undefined)
  const kind = isTarget ? about?.kind : kindOfField(key)
  return { kind, name: name ?? '', version, phase: text(value['phase']) }
}

function isKubernetes({ metadata }: Cells): boolean {
  return typeof metadata === 'object' && metadata !== null && typeof (metadata as Cells)['resourceVersion'] === 'string'
}

/** Derives the kind from the name of the field: `deployItems` contain objects of kind `deployItem`. */
function kindOfField(key: string): string | undefined {
  return /^(?:execution|(?:deployI|i)tems|installations?)$/i.test(key) ? key.replace(/s$/, '') : undefined
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

// Data for the texts that explain what woke a pass.

interface WakeContext extends Pick<PassContext, 'rows' | 'times'> {
  /** The previous pass. */
  readonly before: readonly ReplayEntry[] | undefined
}

/** @param own the entries of the pass, including those before its start. */
function wakeTexts(own: readonly ReplayEntry[], around: WakeContext): readonly string[] {
  const begin = own.findIndex((entry) => entry.told === 'pass')
  const messages = own.slice(0, begin).flatMap((entry): readonly string[] => {
    switch (entry.told) {
      case 'began':
        return [beginText(entry.input, around)]
      case 'signal':
        return [signalText(entry.input, around)]
      case 'answer':
        return ['the end of a background activity']
      default:
        return []
    }
  })
  const all = [...new Set([...(around.before === undefined ? [] : settleTexts(around.before, around)), ...messages])]
  return all.length > 0 ? all : ['the previous pass, which requested another one']
}

function beginText(input: unknown, { rows, times }: WakeContext): string {
  const { cause, asked } = (input ?? {}) as {
    readonly cause?: unknown
    readonly asked?: { readonly version?: unknown }
  }
  const event = rows?.events.find(({ version }) => String(version) === asked?.version)
  const because = typeof cause === 'string' && cause !== '' ? `: ${cause}` : ''
  return `the start of the job${because}${event === undefined ? '' : `; ${eventText(event, times)}`}`
}

function signalText(input: unknown, context: WakeContext): string {
  const { seq } = (input ?? {}) as { readonly seq?: unknown }
  return typeof seq !== 'number' || seq <= 0 ? "the run's due time" : numberedText(seq, context)
}

function numberedText(seq: number, { rows, times }: WakeContext): string {
  const event = rows?.events.find((one) => one.seq === seq)
  return event === undefined ? `event ${seq} of the journal` : eventText(event, times)
}

const VERBS: Readonly<Record<string, string>> = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' }

function eventText(event: RowOfEvent, { format, isWide }: EventTexts): string {
  const { seq, object, type, version, phase, writer, manager, at } = event
  const details = isWide ? ` (event ${seq}, version ${version})` : ''
  const state = phase === undefined ? '' : `, phase ${phase}`
  const run = isWide ? `run ${writer ?? ''}` : 'Pawl'
  const client = writer === undefined ? clientText(manager === undefined ? undefined : { manager }) : run
  return `${object}${details} ${VERBS[type] ?? type} by ${client} at ${format(at)}${state}`
}

/** Wakes that the previous pass's settle returned. */
function settleTexts(before: readonly ReplayEntry[], context: WakeContext): readonly string[] {
  const answer = before.findLast((entry) => entry.told === 'answer')
  const { woken, wokenBy, result } = (answer?.result ?? {}) as {
    readonly woken?: unknown
    readonly wokenBy?: readonly number[]
    readonly result?: unknown
  }
  if (result === 'overtaken') return ['an edit of the object during the previous pass']
  if (result === 'refused') return ['the API server, which refused the status of the previous pass']
  if (woken !== true) return []
  if (wokenBy === undefined) return ['a signal during the previous pass']
  return wokenBy.map((seq) => `${numberedText(seq, context)}, during the previous pass`)
}
