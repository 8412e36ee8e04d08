// How many Disruptions and chaos pods there are, and when crons make the next ones, by the journal: the same in every worker, and never what one of them has
// missed.

import { sql } from 'kysely'

import type { Deps } from '../../deps.ts'
import { livingObjects } from '../../journal/conditions.ts'
import type { Sample } from '../../run/metrics.ts'
import { DISRUPTION_CRON_KIND, DISRUPTION_KIND, GROUP } from '../../../workflows/chaos/contract.ts'
import { instantMs } from '../../../workflows/chaos/instant.ts'

/** Of more Disruptions it is told how many there are, and not how long each lasts: the oldest are. Of more crons those are told that come next. */
const MOST_NAMED = 500

type Measuring = Pick<Deps, 'db' | 'cluster' | 'now'>

/** @param chaosNamespace where chaos pods are, beside those of Disruptions that have begun elsewhere. @throws failures of the journal. */
export async function measureGauges(deps: Measuring, chaosNamespace: string): Promise<readonly Sample[]> {
  const { db, cluster } = deps
  const disruptions = livingObjects(db, cluster, { group: GROUP, kind: DISRUPTION_KIND })
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
  return [
    { name: 'chaos_controller_disruptions_gauge', value: Number(counts.all) },
    { name: 'chaos_controller_disruptions_stuck_on_removal_total', value: Number(counts.stuck) },
    { name: 'chaos_controller_pods_gauge', value: Number(pods.all) },
    ...(await ongoing(deps)),
    ...(await coming(deps)),
  ]
}

async function ongoing(deps: Measuring): Promise<readonly Sample[]> {
  const created = sql<string | null>`projection #>> '{metadata,creationTimestamp}'`
  const oldest = await livingObjects(deps.db, deps.cluster, { group: GROUP, kind: DISRUPTION_KIND })
    .select(['namespace', 'name', created.as('at')])
    .orderBy(created)
    .limit(MOST_NAMED)
    .execute()
  return distances('chaos_controller_disruption_ongoing_duration', oldest, (ms) => deps.now().getTime() - ms)
}

async function coming(deps: Measuring): Promise<readonly Sample[]> {
  const next = sql<string | null>`projection #>> '{status,nextScheduleTime}'`
  const first = await livingObjects(deps.db, deps.cluster, { group: GROUP, kind: DISRUPTION_CRON_KIND })
    .where(next, 'is not', null)
    .where(sql`projection #>> '{metadata,deletionTimestamp}'`, 'is', null)
    .select(['namespace', 'name', next.as('at')])
    .orderBy(next)
    .limit(MOST_NAMED)
    .execute()
  return distances('chaos_cron_controller_schedule_next_scheduled', first, (ms) => ms - deps.now().getTime())
}

interface Dated {
  readonly namespace: string
  readonly name: string
  readonly at: string | null
}

/** In seconds; never less than none. */
function distances(metric: string, dated: readonly Dated[], fromNow: (ms: number) => number): readonly Sample[] {
  return dated.flatMap(({ namespace, name, at }) => {
    const ms = instantMs(at ?? undefined)
    return ms === undefined
      ? []
      : [{ name: metric, labels: { namespace, name }, value: Math.max(0, fromNow(ms)) / 1000 }]
  })
}
