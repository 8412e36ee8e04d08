// The gauges of the engine in the journal: waiting wakes, open and stuck runs, and the size of the database. Every worker measures the same values.

import { type Kysely, sql } from 'kysely'

import type { BRIDGE_METRICS, WORKER_METRICS } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'

interface Journal {
  readonly db: Kysely<Database>
  /** Name of the cluster in the journal. */
  readonly cluster: string
}

interface Measured {
  readonly name: keyof typeof WORKER_METRICS | keyof typeof BRIDGE_METRICS
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** A run with this many failed passes in a row counts as failing. */
const FAILING_ATTEMPTS = 5

/** The waiting wakes and the open runs of these controllers; a controller without them has gauges with value 0. @throws errors of the journal. */
export async function measureRuns(journal: Journal, controllers: readonly string[]): Promise<readonly Measured[]> {
  const [wakes, runs, stuck] = await Promise.all([waiting(journal), open(journal), stuckRuns(journal)])
  const perController = controllers.flatMap((controller): readonly Measured[] => {
    const { depth = 0, turns = 0, oldest = 0 } = wakes.get(controller) ?? {}
    const { runs: count = 0, failing = 0, deleting = 0 } = runs.get(controller) ?? {}
    const labels = { controller }
    return [
      { name: 'workqueue_depth', labels: { name: controller, controller }, value: depth },
      { name: 'pawl_waiting_turns', labels, value: turns },
      { name: 'pawl_oldest_wake_seconds', labels, value: oldest },
      { name: 'pawl_open_runs', labels, value: count },
      { name: 'pawl_failing_runs', labels, value: failing },
      { name: 'pawl_oldest_deletion_seconds', labels, value: deleting },
    ]
  })
  return [...perController, { name: 'pawl_stuck_runs', value: stuck }]
}

/** @throws errors of the journal. */
export async function measureSize({ db }: Pick<Journal, 'db'>): Promise<readonly Measured[]> {
  const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(db)
  return rows.map(({ bytes }) => ({ name: 'pawl_journal_size_bytes', value: bytes }))
}

async function waiting({ db, cluster }: Journal) {
  const { rows } = await sql<{ controller: string; depth: number; turns: number; oldest: number }>`
    select controller, count(*) as depth, count(distinct namespace) as turns,
      extract(epoch from now() - min(due))::float8 as oldest
    from wake
    where cluster = ${cluster} and due <= now() and (lease_until is null or lease_until <= now())
    group by controller`.execute(db)
  return new Map(rows.map((row) => [row.controller, row]))
}

/** An object that is being deleted has an open run until its deletion is complete. Timestamps of Kubernetes sort as texts. */
async function open({ db, cluster }: Journal) {
  const { rows } = await sql<{ controller: string; runs: number; failing: number; deleting: number | null }>`
    select j.controller, count(*) as runs, count(*) filter (where j.attempt >= ${FAILING_ATTEMPTS}) as failing,
      extract(epoch from now() - min(o.projection #>> '{metadata,deletionTimestamp}')::timestamptz)::float8 as deleting
    from job j left join object o on o.uid = j.uid and o.cluster = j.cluster and not o.deleted
    where j.outcome is null and j.cluster = ${cluster}
    group by j.controller`.execute(db)
  return new Map(rows.map(({ deleting, ...row }) => [row.controller, { ...row, deleting: deleting ?? 0 }]))
}

async function stuckRuns({ db, cluster }: Journal): Promise<number> {
  const { rows } = await sql<{ runs: number }>`
    select count(*) as runs from stuck_run s join job j using (workflow_id)
    where j.outcome is null and j.cluster = ${cluster}`.execute(db)
  return rows[0]?.runs ?? 0
}
