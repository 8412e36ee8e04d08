// Short summaries of passes of the cluster controller, for comparisons in tests.

import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import type { ClusterState } from '../../../workflows/foundationdb/cluster/pass.ts'
import type { PassCourse } from '../../../workflows/kit/testing/index.ts'

export type Course = PassCourse<ClusterState, FoundationDBCluster>

/** Process groups by their classes and addresses by their number, such as `exclude no_wait storage`. */
export function summarizeEffects(effects: readonly string[]): readonly string[] {
  return effects.map((effect) => {
    const words = effect.replaceAll(/locality_instance_id:(?:\S+-)?([a-z_]+)-\d+/g, '$1').split(' ')
    const addresses = words.filter((word) => /^[\d.]+:\d+/.test(word)).length
    const others = words.filter((word) => !/^[\d.]+:\d+/.test(word))
    return [...new Set(others), ...(addresses === 0 ? [] : [`${addresses} addresses`])].join(' ')
  })
}

/** The number of writes by verb and kind, such as `create Pod`. */
export function countWrites(courses: readonly Course[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { verb, object } of courses.flatMap(({ writes }) => writes)) {
    const text = `${verb} ${object.kind}`
    counts[text] = (counts[text] ?? 0) + 1
  }
  return counts
}

/** The reasons of all Events, without repetitions. */
export function eventReasons(courses: readonly Course[]): readonly string[] {
  return [...new Set(courses.flatMap(({ events }) => events.map(({ reason }) => reason)))]
}
