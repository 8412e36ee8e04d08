// Gauges from the journal: the numbers of Disruptions and chaos pods, and the next times of crons. All workers report
// the same values, independent of what each has observed.

import { sql } from 'kysely'

import type { Deps } from '../../deps.ts'
import { livingObjects } from '../../journal/conditions.ts'
import type { Sample } from '../../run/metrics.ts'
import { DISRUPTION_CRON_KIND, DISRUPTION_KIND, GROUP } from '../../../workflows/chaos/contract.ts'
import { timestampMs } from '../../../workflows/chaos/timestamp.ts'

/**
 * The maximum number of Disruptions and crons with a gauge of their own: the oldest Disruptions, and the crons that are
 * due next.
 */
const MAX_NAMED = 500

type Measuring = Pick<Deps, 'db' | 'cluster' | 'now'>

/**
 * @param chaosNamespace the configured chaos namespace; the namespaces in the statuses of Disruptions are added.
 * @throws errors of the journal.
 */
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
    ...(await ongoingDurations(deps)),
    ...(await nextSchedules(deps)),
  ]
}

async function ongoingDurations(deps: Measuring): Promise<readonly Sample[]> {
  const created = sql<string | null>`projection #>> '{metadata,creationTimestamp}'`
  const oldest = await livingObjects(deps.db, deps.cluster, { group: GROUP, kind: DISRUPTION_KIND })
    .select(['namespace', 'name', created.as('at')])
    .orderBy(created)
    .limit(MAX_NAMED)
    .execute()
  return secondsGauges('chaos_controller_disruption_ongoing_duration', oldest, (ms) => deps.now().getTime() - ms)
}

async function nextSchedules(deps: Measuring): Promise<readonly Sample[]> {
  const next = sql<string | null>`projection #>> '{status,nextScheduleTime}'`
  const first = await livingObjects(deps.db, deps.cluster, { group: GROUP, kind: DISRUPTION_CRON_KIND })
    .where(next, 'is not', null)
    .where(sql`projection #>> '{metadata,deletionTimestamp}'`, 'is', null)
    .select(['namespace', 'name', next.as('at')])
    .orderBy(next)
    .limit(MAX_NAMED)
    .execute()
  return secondsGauges('chaos_cron_controller_schedule_next_scheduled', first, (ms) => ms - deps.now().getTime())
}

interface Dated {
  readonly namespace: string
  readonly name: string
  readonly at: string | null
}

/** In seconds; at least 0. */
function secondsGauges(metric: string, dated: readonly Dated[], fromNow: (ms: number) => number): readonly Sample[] {
  return dated.flatMap(({ namespace, name, at }) => {
    const ms = timestampMs(at ?? undefined)
    return ms === undefined
      ? []
      : [{ name: metric, labels: { namespace, name }, value: Math.max(0, fromNow(ms)) / 1000 }]
  })
}
