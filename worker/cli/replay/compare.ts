// What two builds do over one history, side by side: which decisions of plans and which calls differ, pass by pass. Pure. Source: docs/adr/0050.
//
//   C1. Both builds hear the same answers: those of the history. After a difference the world would have answered otherwise, so the first one of a run
//       counts, and what follows in the same pass may be its consequence. The next pass begins with what was seen.
//   C2. Where the other build stops, what it did not come to any more is no difference: the last thing it did is.
//   C3. A call is compared with its whole input. What an activity makes of that, and of what it reads itself, is in no history.
//   C4. A build that is older than the telling of passes is compared by its calls.

import type { Recorded } from '../../../workflows/kit/index.ts'
import { nameOf } from '../ask/texts.ts'
import { entriesOfPasses } from './passes.ts'
import type { Recording } from './record.ts'
import { type Change, changedFields } from './changed-fields.ts'

/** `decision`: a step of a plan, or the phase it is in. `write`: a call that may write. `look`: one that only reads. */
export type DifferenceKind = 'decision' | 'write' | 'look' | 'timer' | 'end'

export interface Difference {
  /** Counts from 1; 0: before the first. */
  readonly pass: number
  readonly kind: DifferenceKind
  /** `triggerDeployItems`, with the object whose plan or call it is. */
  readonly name: string
  readonly object: string | undefined
  /** `more`: only the other build does it; `less`: only this one does; `other`: both, with other words or another input. */
  readonly how: 'more' | 'less' | 'other'
  readonly changes: readonly Change[]
}

export interface Comparison {
  readonly workflowId: string
  readonly verdict: 'same' | 'differs' | 'parts' | 'unknown'
  readonly differences: readonly Difference[]
  /** `parts`: why the other build cannot go on with the run. `unknown`: why this build cannot. */
  readonly error?: string | undefined
}

/** One thing that a run did. */
interface Act {
  readonly kind: DifferenceKind
  readonly name: string
  readonly object: string | undefined
  /** What has to be the same. */
  readonly content: unknown
}

export function compare(base: Recording, other: Recording): Comparison {
  const { workflowId } = base
  if (base.error !== undefined) return { workflowId, verdict: 'unknown', differences: [], error: base.error }
  const tellsPasses = [base, other].every(({ entries }) => entries.some(({ told }) => told === 'pass'))
  const left = passActs(base.entries, tellsPasses)
  const right = passActs(other.entries, tellsPasses)
  const isCut = other.error !== undefined
  const count = isCut ? right.length : Math.max(left.length, right.length)
  const differences: Difference[] = []
  for (let index = 0; index < count; index++) {
    const isLast = isCut && index === count - 1
    differences.push(...differencesIn(index + 1, [left[index] ?? [], right[index] ?? []], isLast))
  }
  if (isCut) return { workflowId, verdict: 'parts', differences, error: other.error }
  return { workflowId, verdict: differences.length === 0 ? 'same' : 'differs', differences }
}

/** Of each pass what it did, in order; of builds of which one tells no passes (C4) the calls alone. */
function passActs(entries: readonly Recorded[], tellsPasses: boolean): readonly (readonly Act[])[] {
  const toActs = actsOf()
  return tellsPasses
    ? entriesOfPasses(entries).map((own) => own.flatMap(toActs))
    : byTheirCalls(entries).map((own) => own.flatMap(toActs).filter(({ kind }) => kind !== 'decision'))
}

/** Each call says in its input of which pass it is; what does not is of the pass before. */
function byTheirCalls(entries: readonly Recorded[]): readonly (readonly Recorded[])[] {
  const passes: Recorded[][] = []
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

/** A plan names its object when it begins. */
function actsOf(): (entry: Recorded) => readonly Act[] {
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
        return [{ kind: isLook(name) ? 'look' : 'write', name, object, content: input }]
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

/** Calls that only read, by how they are named: whatever else there is may write. */
export function isLook(name: string): boolean {
  return LOOKS.test(name)
}

/** @param isCut the right side stopped in this pass (C2). */
function differencesIn(
  pass: number,
  [left, right]: readonly [readonly Act[], readonly Act[]],
  isCut: boolean,
): readonly Difference[] {
  const found: Difference[] = []
  const pairs = aligned(left, right)
  const last = isCut ? pairs.findLastIndex(([, now]) => now !== undefined) : pairs.length - 1
  // Of what stopped the first thing that it did otherwise, with what it did in its place.
  const until = isCut ? Math.min(pairs.length - 1, last + 1) : last
  for (const [old, now] of pairs.slice(0, until + 1)) {
    const { kind, name, object } = old ?? now ?? { kind: 'end', name: '', object: undefined }
    if (old === undefined) found.push({ pass, kind, name, object, how: 'more', changes: [] })
    else if (now === undefined) found.push({ pass, kind, name, object, how: 'less', changes: [] })
    else {
      const changes = changedFields(old.content, now.content)
      if (changes.length > 0) found.push({ pass, kind, name, object, how: 'other', changes })
    }
  }
  return found
}

type Pair = readonly [Act | undefined, Act | undefined]

/** The longest common course of both, by what is done to which object; what one of them has more stands alone. */
function aligned(left: readonly Act[], right: readonly Act[]): readonly Pair[] {
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

/** Of each pair of rests how long their longest common course is. */
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
