// Which pods or nodes a Disruption disturbs. Pure: what may be drawn is given, and so is the die. Source: seeds/chaos-controller.txt "Injection phase",
// step 3; spec/chaos.md 2.3.
//
//   S1. What was chosen stays chosen while it matches (dynamic), or for good (static).
//   S2. With static targeting a target that is lost is not replaced.

import type { DisruptionSpec } from './kind.ts'
import type { Target } from './observed.ts'
import { readCount } from './rules/share.ts'

/** Uniform in [0, 1); the same in every replay. */
export type Die = () => number

/** How many targets there should be of so many that match: never more, and none is rounded down to. */
export function desiredCount(count: DisruptionSpec['count'], matching: number): number {
  return Math.min(wantedCount(count, matching), matching)
}

/** What the count asks for, whether so many match or not: what `Injected` is measured by. */
export function wantedCount(count: DisruptionSpec['count'], matching: number): number {
  const read = readCount(count)
  if (read === undefined) return 0
  return 'percent' in read ? Math.ceil((matching * read.percent) / 100) : read.number
}

type Asked = Pick<DisruptionSpec, 'filter' | 'level' | 'onInit' | 'nodeFailure'>

/**
 * Those that may be targets at all.
 *
 * @param current what is disturbed already: a pod that waited when it was chosen may run by now.
 * @param ownNodes where the controller runs, which it does not take from under itself; none without safeguards.
 */
export function matchingTargets(
  found: readonly Target[],
  spec: Asked,
  { current, ownNodes }: { readonly current: ReadonlySet<string>; readonly ownNodes: ReadonlySet<string> },
): readonly Target[] {
  const annotations = Object.entries(spec.filter?.annotations ?? {})
  const isOfNodes = hitsNodes(spec)
  return found.filter((one) => {
    const isInState = spec.onInit === true ? one.waitsForInit || current.has(one.metadata.name) : one.isRunning
    const hasAll = annotations.every(([key, value]) => one.annotations[key] === value)
    return isInState && hasAll && !(isOfNodes && ownNodes.has(one.node))
  })
}

/** Whether it takes whole nodes from under what runs there. */
export function hitsNodes({ level, nodeFailure }: Pick<DisruptionSpec, 'level' | 'nodeFailure'>): boolean {
  return level === 'node' || nodeFailure !== undefined
}

/** The names in an order drawn by chance. */
export function shuffled(names: readonly string[], die: Die): readonly string[] {
  const all = [...names].sort()
  for (let last = all.length - 1; last > 0; last--) {
    const drawn = Math.floor(die() * (last + 1))
    const [one, other] = [all[drawn], all[last]]
    if (one !== undefined && other !== undefined) [all[drawn], all[last]] = [other, one]
  }
  return all
}

/** Those of the current targets that stay, and how many are missing. */
export function keptTargets(
  current: readonly string[],
  matching: readonly string[],
  desired: number,
  die: Die,
): { readonly kept: readonly string[]; readonly missing: number } {
  const known = new Set(matching)
  const alive = current.filter((name) => known.has(name))
  const kept = alive.length > desired ? shuffled(alive, die).slice(0, desired) : alive
  return { kept: [...kept].sort(), missing: Math.max(0, desired - kept.length) }
}
