// Compares what two builds do with one history: the decisions of plans and the activity calls, pass by pass. Pure.
// Source: docs/adr/0050.
//
//   C1. Both builds get the recorded answers. After a difference the real answers would differ, so the first difference
//       of a run counts; later differences of the same pass may be its consequences. The next pass starts from the
//       recorded observation.
//   C2. When the other build stops with a nondeterminism error, its calls after the first different call are ignored,
//       because they received answers to other calls.
//   C3. A call is compared by its whole input. An activity's own reads and writes are in no history.
//   C4. A build that does not record passes is compared by its calls only.

import type { ReplayEntry } from '../../../workflows/kit/index.ts'
import { nameOf } from '../query/format.ts'
import { entriesOfPasses } from './passes.ts'
import type { Recording } from './record.ts'
import { isFields } from '../../../workflows/kit/index.ts'

/** `decision`: a step of a plan, or its phase. `write`: a call that may write. `look`: a call that only reads. */
type DifferenceKind = 'decision' | 'write' | 'look' | 'timer' | 'end'

export interface Difference {
  /** Starts at 1; 0 is before the first pass. */
  readonly pass: number
  readonly kind: DifferenceKind
  /** The step or call, such as `triggerDeployItems`; `object` is the object of its plan. */
  readonly name: string
  readonly object: string | undefined
  /**
   * `more`: only the other build does it; `less`: only this build does it; `other`: both do it with different inputs or
   * results.
   */
  readonly how: 'more' | 'less' | 'other'
  readonly changes: readonly Change[]
  /** The writes of the call in the recorded run, from the journal; absent without rows. */
  readonly made?: readonly string[]
}

export interface Comparison {
  readonly workflowId: string
  readonly verdict: 'same' | 'differs' | 'parts' | 'unknown'
  readonly differences: readonly Difference[]
  /** `parts`: why the other build cannot replay the run. `unknown`: why this build cannot. */
  readonly error?: string | undefined
}

/** One decision or call of a run. */
interface Act {
  readonly kind: DifferenceKind
  readonly name: string
  readonly object: string | undefined
  /** Must be equal in both builds. */
  readonly content: unknown
}

function errorIn({ error, advice }: Recording): string | undefined {
  return advice === undefined ? error : `${error ?? ''}; ${advice}`
}

export function compare(base: Recording, other: Recording): Comparison {
  const { workflowId } = base
  if (base.error !== undefined) return { workflowId, verdict: 'unknown', differences: [], error: errorIn(base) }
  const tellsPasses = [base, other].every(({ entries }) => entries.some((entry) => entry.told === 'pass'))
  const [left, right] = [passActs(base.entries, tellsPasses), passActs(other.entries, tellsPasses)]
  const count = Math.max(left.length, right.length)
  const pairs = Array.from({ length: count }, (_, index) => alignActs(left[index] ?? [], right[index] ?? []))
  const numbered = pairs.flatMap((own, index) => own.map((pair) => ({ pass: index + 1, pair })))
  if (other.error !== undefined)
    return {
      workflowId,
      verdict: 'parts',
      differences: differencesIn(untilDivergence(numbered)),
      error: errorIn(other),
    }
  const differences = differencesIn(numbered)
  return { workflowId, verdict: differences.length === 0 ? 'same' : 'differs', differences }
}

/** The acts of each pass, in order; only the calls if one build does not record passes (C4). */
function passActs(entries: readonly ReplayEntry[], tellsPasses: boolean): readonly (readonly Act[])[] {
  const toActs = createActReader()
  return tellsPasses
    ? entriesOfPasses(entries).map((own) => own.flatMap(toActs))
    : groupByCalls(entries).map((own) => own.flatMap(toActs).filter(({ kind }) => kind !== 'decision'))
}

/** The input of a call contains its pass; other entries belong to the previous pass. */
function groupByCalls(entries: readonly ReplayEntry[]): readonly (readonly ReplayEntry[])[] {
  const passes: ReplayEntry[][] = []
  let current = 1
  for (const entry of entries) {
    if (entry.told === 'call') {
      const { by, pass = by?.pass } = (entry.input ?? {}) as {
        readonly by?: { readonly pass?: number }
        readonly pass?: number
      }
      if (pass !== undefined && pass > current) current = pass
    }
    while (passes.length < current) passes.push([])
    passes.at(-1)?.push(entry)
  }
  return passes
}

/** Later entries refer to the object that the plan's first entry names. */
function createActReader(): (entry: ReplayEntry) => readonly Act[] {
  const objects = new Map<number, string | undefined>()
  return (entry) => {
    switch (entry.told) {
      case 'plan': {
        const object = entry.subject && nameOf(entry.subject)
        objects.set(entry.plan, object)
        return [{ kind: 'decision', name: `plan of phase ${entry.phase ?? '-'}`, object, content: undefined }]
      }
      case 'stepped': {
        const { name, said, plan, isLeaf } = entry
        return isLeaf ? [{ kind: 'decision', name, object: objects.get(plan), content: { said } }] : []
      }
      case 'call': {
        const { name, input } = entry
        const { subject } = (input ?? {}) as { readonly subject?: Parameters<typeof nameOf>[0] }
        const object = subject && nameOf(subject)
        return [{ kind: isRead(name) ? 'look' : 'write', name, object, content: input }]
      }
      case 'timer':
        return [{ kind: 'timer', name: 'timer', object: undefined, content: { ms: entry.ms } }]
      case 'ended': {
        const { result, failure, isContinued } = entry
        return [{ kind: 'end', name: 'end of the run', object: undefined, content: { result, failure, isContinued } }]
      }
      default:
        return []
    }
  }
}

const LOOKS = /^(?:observe|refresh|look|await|take[A-Z])/

/** True for activities that only read, by their names; all other activities may write. */
function isRead(name: string): boolean {
  return LOOKS.test(name)
}

interface PassPair {
  readonly pass: number
  readonly pair: Pair
}

function differencesIn(pairs: readonly PassPair[]): readonly Difference[] {
  return pairs.flatMap(({ pass, pair: [old, now] }): readonly Difference[] => {
    const { kind, name, object } = old ?? now ?? NOTHING
    const about = { pass, kind, name, object }
    if (old === undefined) return [{ ...about, how: 'more', changes: [] }]
    if (now === undefined) return [{ ...about, how: 'less', changes: [] }]
    const changes = changedFields(old.content, now.content)
    return changes.length === 0 ? [] : [{ ...about, how: 'other', changes }]
  })
}

const NOTHING: Act = { kind: 'end', name: '', object: undefined, content: undefined }

/** C2: the acts up to the first different call, and the call that takes its place. */
function untilDivergence(pairs: readonly PassPair[]): readonly PassPair[] {
  const first = pairs.findIndex(({ pair }) => isCommand(pair) && pair.includes(undefined))
  // The build failed before it made another call.
  if (first < 0) return pairs.slice(0, pairs.findLastIndex(({ pair: [, now] }) => now !== undefined) + 1)
  const side = pairs[first]?.pair[0] === undefined ? 1 : 0
  const instead = pairs.slice(first + 1).find(({ pair }) => isCommand(pair) && pair[side] === undefined)
  return [...pairs.slice(0, first + 1), ...(instead === undefined ? [] : [instead])]
}

function isCommand([old, now]: Pair): boolean {
  const { kind } = old ?? now ?? NOTHING
  return kind !== 'decision'
}

type Pair = readonly [Act | undefined, Act | undefined]

/** The longest common subsequence of both lists, by kind, name and object; other acts stand alone. */
function alignActs(left: readonly Act[], right: readonly Act[]): readonly Pair[] {
  const isSame = (one: Act | undefined, two: Act | undefined) =>
    one !== undefined &&
    two !== undefined &&
    one.kind === two.kind &&
    one.name === two.name &&
    one.object === two.object
  let begin = 0
  while (begin < left.length && isSame(left[begin], right[begin])) begin++
  const pairs: Pair[] = left.slice(0, begin).map((one, index) => [one, right[index]])
  const lengths = commonLengths(left.slice(begin), right.slice(begin), isSame)
  let [at, to] = [begin, begin]
  while (at < left.length || to < right.length) {
    const lengthAt = (one: number, two: number) => lengths[one - begin]?.[two - begin] ?? 0
    if (isSame(left[at], right[to])) pairs.push([left[at++], right[to++]])
    else if (to >= right.length || (at < left.length && lengthAt(at + 1, to) > lengthAt(at, to + 1)))
      pairs.push([left[at++], undefined])
    else pairs.push([undefined, right[to++]])
  }
  return pairs
}

/** Lengths of the longest common subsequences of all suffixes. */
function commonLengths<T>(left: readonly T[], right: readonly T[], isSame: (one: T, two: T) => boolean) {
  const lengths = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1))
  for (let at = left.length - 1; at >= 0; at--)
    for (let to = right.length - 1; to >= 0; to--) {
      const [row, below] = [lengths[at], lengths[at + 1]]
      const [one, two] = [left[at], right[to]]
      if (row === undefined || below === undefined || one === undefined || two === undefined) continue
      row[to] = isSame(one, two) ? (below[to + 1] ?? 0) + 1 : Math.max(below[to] ?? 0, row[to + 1] ?? 0)
    }
  return lengths
}

// A changed field of two JSON values.

export interface Change {
  /** `change.lastError.reason`; empty for the whole value. */
  readonly field: string
  /** Undefined if the field is absent. */
  readonly from: unknown
  readonly to: unknown
}

/** Sorted by name; lists of different lengths are one change. */
export function changedFields(from: unknown, to: unknown, field = ''): readonly Change[] {
  if (Array.isArray(from) && Array.isArray(to)) {
    if (from.length !== to.length) return [{ field, from, to }]
    return from.flatMap((one: unknown, index) => changedFields(one, to[index], `${field}[${index}]`))
  }
  if (!isFields(from) || !isFields(to)) return Object.is(from, to) ? [] : [{ field, from, to }]
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort()
  return names.flatMap((name) => changedFields(from[name], to[name], field === '' ? name : `${field}.${name}`))
}
