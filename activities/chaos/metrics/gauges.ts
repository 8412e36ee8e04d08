// How many Disruptions and chaos pods there are, by the journal: the same in every worker, and never what one of them has missed.

import { sql } from 'kysely'

import type { Deps } from '../../deps.ts'
import { livingObjects } from '../../journal/living-objects.ts'
import type { Sample } from '../../run/metrics.ts'
import { DISRUPTION_KIND, GROUP } from '../../../workflows/chaos/contract.ts'
import { instantMs } from '../../../workflows/chaos/instant.ts'

/** Of more Disruptions it is told how many there are, and not how long each lasts: the oldest are. */
const MOST_NAMED = 500

/** @param chaosNamespace where chaos pods are, beside those of Disruptions that have begun elsewhere. @throws failures of the journal. */
export async function measureGauges(
  { db, cluster, now }: Pick<Deps, 'db' | 'cluster' | 'now'>,
  chaosNamespace: string,
): Promise<readonly Sample[]> {
  const disruptions = livingObjects(db, cluster, { group: GROUP, kind: DISRUPTION_KIND })
  const created = sql<string | null>`projection #>> '{metadata,creationTimestamp}'`
  const home = sql<string | null>`projection #>> '{status,chaosNamespace}'`
  const isStuck = sql<boolean>`projection #>> '{status,isStuckOnRemoval}' = 'true'`
  const counts = await disruptions
    .select([sql<string>`count(*)`.as('all'), sql<string>`count(*) filter (where ${isStuck})`.as('stuck')])
    .executeTakeFirstOrThrow()
  const pods = await livingObjects(db, cluster, { group: '', kind: 'Pod' })
    .where((is) =>
      is.or([
        is('namespace', '=', chaosNamespace),
        is('namespace', 'in', disruptions.select(home.as('home')).where(home, 'is not', null)),
      ]),
    )
    .select(sql<string>`count(*)`.as('all'))
    .executeTakeFirstOrThrow()
  const oldest = await disruptions
    .select(['namespace', 'name', created.as('created')])
    .orderBy(created)
    .limit(MOST_NAMED)
    .execute()
  const nowMs = now().getTime()
  return [
    { name: 'chaos_controller_disruptions_gauge', value: Number(counts.all) },
    { name: 'chaos_controller_disruptions_stuck_on_removal_total', value: Number(counts.stuck) },
    { name: 'chaos_controller_pods_gauge', value: Number(pods.all) },
    ...oldest.flatMap(({ namespace, name, created: since }) => {
      const sinceMs = instantMs(since ?? undefined)
      if (sinceMs === undefined) return []
      const value = Math.max(0, nowMs - sinceMs) / 1000
      return [{ name: 'chaos_controller_disruption_ongoing_duration', labels: { namespace, name }, value }]
    }),
  ]
}
