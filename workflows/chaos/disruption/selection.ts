// Pure functions that select the targets of a Disruption; the caller passes the candidates and the random numbers.
// Source: seeds/chaos-controller.txt "Injection phase", step 3; spec/chaos.md 2.3.
//
// S1. A chosen target stays chosen: with dynamic targeting while it matches, with static targeting always.
// S2. With static targeting a lost target is not replaced.

import type { DisruptionSpec } from './kind.ts'
import type { Target } from './observed.ts'
import { readCount } from './rules/share.ts'

/** Uniform in [0, 1); the same in every replay. */
export type Random = () => number

/**
 * The number of targets to choose: percentages are rounded up, and the result is at most the number of matching
 * objects.
 */
export function desiredCount(count: DisruptionSpec['count'], matching: number): number {
  return Math.min(requestedCount(count, matching), matching)
}

/** The number of targets that the count requests, even if fewer match; `Injected` requires this number. */
export function requestedCount(count: DisruptionSpec['count'], matching: number): number {
  const read = readCount(count)
  if (read === undefined) return 0
  return 'percent' in read ? Math.ceil((matching * read.percent) / 100) : read.number
}

type TargetFilter = Pick<DisruptionSpec, 'filter' | 'level' | 'onInit' | 'nodeFailure'>

/**
 * The candidates that may become targets.
 *
 * @param current the present targets; one that waited for `onInit` when it was chosen may run meanwhile.
 * @param ownNodes the nodes of the controller, which must not be disturbed; empty without safeguards.
 */
export function matchingTargets(
  candidates: readonly Target[],
  spec: TargetFilter,
  { current, ownNodes }: { readonly current: ReadonlySet<string>; readonly ownNodes: ReadonlySet<string> },
): readonly Target[] {
  const annotations = Object.entries(spec.filter?.annotations ?? {})
  const isOfNodes = hitsNodes(spec)
  return candidates.filter((one) => {
    const isInState = spec.onInit === true ? one.waitsForInit || current.has(one.metadata.name) : one.isRunning
    const hasAll = annotations.every(([key, value]) => one.annotations[key] === value)
    return isInState && hasAll && !(isOfNodes && ownNodes.has(one.node))
  })
}

/** Whether the disruption affects all pods of a node. */
export function hitsNodes({ level, nodeFailure }: Pick<DisruptionSpec, 'level' | 'nodeFailure'>): boolean {
  return level === 'node' || nodeFailure !== undefined
}

/** The names in random order. */
export function shuffled(names: readonly string[], random: Random): readonly string[] {
  const all = [...names].sort()
  for (let last = all.length - 1; last > 0; last--) {
    const drawn = Math.floor(random() * (last + 1))
    const [one, other] = [all[drawn], all[last]]
    if (one !== undefined && other !== undefined) [all[drawn], all[last]] = [other, one]
  }
  return all
}

/** The current targets that stay, and the number of missing targets. */
export function retainTargets(
  current: readonly string[],
  matching: readonly string[],
  desired: number,
  random: Random,
): { readonly retained: readonly string[]; readonly missing: number } {
  const known = new Set(matching)
  const matchingTargetNames = current.filter((name) => known.has(name))
  const selected =
    matchingTargetNames.length > desired ? shuffled(matchingTargetNames, random).slice(0, desired) : matchingTargetNames
  return { retained: [...selected].sort(), missing: Math.max(0, desired - selected.length) }
}
