// A run as its passes: what woke each, what it saw, what its plans decided, whom it called, what it wrote and what it came to. Pure.
//
//   P1. What is told before the first pass belongs to it; answers that come between two passes belong to the later one, which they woke.
//   P2. Writes are rows of the journal: what is not there any more is not shown, and the pass says nothing of it.

import type { ReplayEntry, ReplayCall, ReplayFailure, Subject, TracedStep } from '../../../workflows/kit/index.ts'
import type { JobRows, RowOfWrite } from './job-rows.ts'
import { seenIn, type SeenObject } from './seen.ts'
import { tellWakes } from './woken.ts'

export interface ReplayedPlan {
  readonly subject: Pick<Subject, 'kind' | 'namespace' | 'name'> | undefined
  readonly phase: string | undefined
  /** Undefined: it did not end in the history. */
  readonly trace: TracedStep | undefined
}

export interface ReplayedCall {
  readonly name: string
  /** As Temporal's pages show it. */
  readonly summary: string
  readonly action: string | undefined
  /** It runs inside the workflow task. */
  readonly isLocal: boolean
  /** Undefined: nothing came in the history. */
  readonly answer: 'done' | { readonly failure: ReplayFailure } | undefined
  readonly saw: readonly SeenObject[]
}

export interface ReplayedPass {
  /** Counts from 1 in the job; a run that goes on as new counts anew. */
  readonly pass: number
  readonly passOfRun: number
  readonly at: Date
  readonly until: Date
  readonly wokenBy: readonly string[]
  readonly plans: readonly ReplayedPlan[]
  readonly calls: readonly ReplayedCall[]
  readonly writes: readonly RowOfWrite[]
  /** How the run ended with it; undefined: it went on. */
  readonly ended: string | undefined
}

/** The entries of each pass, in their order. */
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

/** The answer to what settles a pass. */
function isSettle(entry: ReplayEntry, current: readonly ReplayEntry[]): boolean {
  if (entry.told !== 'answer') return false
  return current.some((one) => one.told === 'call' && one.call === entry.call && SETTLES.has(one.name))
}

function isEnd(entry: ReplayEntry): boolean {
  return entry.told === 'call' && ENDS.has(entry.name)
}

/** @param runID of the run; rows of other runs of its ID are not its own. */
export function passesOf(
  entries: readonly ReplayEntry[],
  rows: JobRows | undefined,
  runID: string,
): readonly ReplayedPass[] {
  const answers = new Map(entries.flatMap((entry) => (entry.told === 'answer' ? [[entry.call, entry] as const] : [])))
  return entriesOfPasses(entries).map((own, index, all) => {
    const begun = own.find((entry) => entry.told === 'pass')
    const pass = begun?.pass ?? index + 1
    const end = own.findLast((entry) => entry.told === 'ended')
    return {
      pass,
      passOfRun: pass,
      at: new Date(begun?.atMs ?? 0),
      until: new Date(own.at(-1)?.atMs ?? 0),
      wokenBy: tellWakes(own, { rows, before: all[index - 1] }),
      plans: plansOf(own),
      calls: own.flatMap((entry) => (entry.told === 'call' ? [callOf(entry, answers)] : [])),
      writes: (rows?.writes ?? []).filter((row) => row.pass === pass && row.runID === runID),
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
  return {
    name,
    summary,
    action,
    isLocal,
    answer: answer === undefined ? undefined : answer.failure === undefined ? 'done' : { failure: answer.failure },
    saw: seenIn(answer?.result, subject),
  }
}

function endOf({ result, failure, isContinued }: Told<'ended'>): string {
  if (isContinued === true) return 'goes on as a new run'
  return failure === undefined ? String(result) : `${failure.type}: ${failure.message}`
}
