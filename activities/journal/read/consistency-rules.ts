// Consistency rules of the journal: each rule is a query that returns the rows that violate it. Processes write
// meanwhile, so temporary states count only after some minutes.

import { type RawBuilder, sql } from 'kysely'
import type { Journal } from './reader.ts'

/** `bad`: rows contradict each other. `warn`: leftover rows or delays; no data is lost. */
export interface ConsistencyRule {
  readonly name: string
  readonly severity: 'bad' | 'warn'
  /** The rule, as text for the message. */
  readonly expected: string
  /**
   * @returns rows with the column `violation`: the object and the violation.
   */
  readonly query: (cluster: string) => RawBuilder<{ violation: string }>
}

export interface ViolatedRule extends ConsistencyRule {
  readonly violations: readonly string[]
  /** True if there are more violations. */
  readonly isTruncated: boolean
}

/** Maximum number of reported violations of a rule. */
export const MOST_NAMED = 20
/** Number of the newest events that the rules about events check. */
export const MOST_CHECKED_EVENTS = 100_000

const NEWEST = (cluster: string) => sql`newest as materialized (
  select seq, at, kind, uid, namespace, name, resource_version, type, source, outcome from watch_event
  where cluster = ${cluster} order by at desc, seq desc limit ${sql.lit(MOST_CHECKED_EVENTS)})`
const OBJECT = sql`o.kind || ' ' || o.namespace || '/' || o.name`
const SUBJECT = sql`j.controller || ' ' || j.namespace || '/' || j.name || ', job ' || j.job_id`
const OLD = sql`interval '10 minutes'`

export const RULES: readonly ConsistencyRule[] = [
  {
    name: 'lost-event',
    severity: 'bad',
    expected: 'an event for each object',
    // Retention removes whole days of events and keeps the object.
    query: (
      cluster,
    ) => sql`select ${OBJECT} || ': version ' || o.resource_version || ' of ' || o.updated_at as violation
      from object o where o.cluster = ${cluster} and not o.deleted
        and o.updated_at > (select min(at) + interval '1 day' from watch_event) and o.updated_at < now() - ${OLD}
        and not exists (select from watch_event e where e.uid = o.uid and e.cluster = o.cluster)`,
  },
  {
    name: 'undead',
    severity: 'bad',
    expected: 'an object to be deleted if its last event is DELETED',
    query: (
      cluster,
    ) => sql`select ${OBJECT} || ': deleted at ' || e.at || ', lives in version ' || o.resource_version as violation
      from object o cross join lateral (select type, at, resource_version from watch_event w
        where w.uid = o.uid and w.cluster = o.cluster and w.outcome <> 'stale'
        order by w.resource_version desc, w.seq desc limit 1) e
      where o.cluster = ${cluster} and not o.deleted and e.type = 'DELETED' and e.resource_version >= o.resource_version`,
  },
  {
    name: 'object-behind',
    severity: 'bad',
    expected: 'the version of an object to equal the version of its newest event',
    query: (cluster) => sql`with ${NEWEST(cluster)},
      known as (select uid, max(resource_version) as version, max(at) as at from newest where outcome <> 'stale' group by uid)
      select ${OBJECT} || ': version ' || o.resource_version || ', its newest event has ' || k.version as violation
      from known k join object o on o.uid = k.uid and o.cluster = ${cluster}
      where k.version > o.resource_version and k.at < now() - ${OLD} and not o.deleted`,
  },
  {
    name: 'version-order',
    severity: 'warn',
    expected: 'rising versions of the events of an object, unless the cluster was restored',
    query: (cluster) => sql`with ${NEWEST(cluster)},
      watched as (select *, max(resource_version) over (partition by uid order by seq rows between unbounded preceding and 1 preceding) as before
        from newest where source = 'watch' and outcome = 'wake')
      select o.kind || ' ' || o.namespace || '/' || o.name || ': event ' || o.seq || ' has version ' || o.resource_version || ' after ' || o.before as violation
      from watched o where o.before > o.resource_version`,
  },
  {
    name: 'sequence',
    severity: 'bad',
    expected: 'no number above the last value of the sequence',
    query: (cluster) => sql`with ${NEWEST(cluster)}
      select o.kind || ' ' || o.namespace || '/' || o.name || ': event ' || o.seq || ', the sequence is at ' || s.last_value as violation
      from newest o cross join watch_event_seq s where o.seq > s.last_value`,
  },
  {
    name: 'future',
    severity: 'warn',
    expected: 'no event with a future time',
    query: (
      cluster,
    ) => sql`select o.kind || ' ' || o.namespace || '/' || o.name || ': event ' || o.seq || ' at ' || o.at as violation
      from watch_event o where o.cluster = ${cluster} and o.at > now() + interval '5 minutes'`,
  },
  {
    name: 'job-ends',
    severity: 'bad',
    expected: 'a job to have both a result and a later end time, or neither',
    query: (
      cluster,
    ) => sql`select ${SUBJECT} || ': outcome ' || coalesce(j.outcome, 'none') || ', from ' || j.started_at || ' to ' || coalesce(j.finished_at::text, 'now') as violation
      from job j where j.cluster = ${cluster} and ((j.outcome is null) <> (j.finished_at is null) or j.finished_at < j.started_at - interval '1 minute')`,
  },
  {
    name: 'two-jobs',
    severity: 'bad',
    expected: 'at most one open job per object',
    query: (
      cluster,
    ) => sql`select min(j.controller || ' ' || j.namespace || '/' || j.name) || ': ' || count(*) || ' open jobs, ' || string_agg(j.job_id, ' ') as violation
      from job j where j.cluster = ${cluster} and j.outcome is null and j.started_at < now() - ${OLD}
      group by j.controller, j.uid having count(*) > 1`,
  },
  {
    name: 'job-of-the-dead',
    severity: 'warn',
    expected: 'no open job of a deleted object',
    query: (cluster) => sql`select ${SUBJECT} || ': open, the object is gone since ' || o.updated_at as violation
      from job j join object o on o.uid = j.uid and o.cluster = j.cluster
      where j.cluster = ${cluster} and j.outcome is null and o.deleted and o.updated_at < now() - ${OLD}`,
  },
  {
    name: 'hosted-jobs',
    severity: 'bad',
    expected: 'a hosted job to have a run, and to end with the run',
    query: (
      cluster,
    ) => sql`select ${SUBJECT} || case when r.workflow_id is null then ': its run has no row' else ': open, its run is ' || r.outcome end as violation
      from hosted_job j left join job r on r.workflow_id = j.workflow_id
      where j.cluster = ${cluster} and j.started_at < now() - ${OLD}
        and (r.workflow_id is null or j.outcome is null and r.outcome is not null and r.outcome not in ('lost', 'Superseded') and r.finished_at < now() - ${OLD})`,
  },
  {
    name: 'write-without-job',
    severity: 'warn',
    expected: 'each write to belong to the job of its run',
    query: (
      cluster,
    ) => sql`select a.object || ': ' || a.verb || ' of ' || a.workflow_id || ', pass ' || a.pass as violation
      from (select * from action order by seq desc limit ${sql.lit(MOST_CHECKED_EVENTS)}) a
      where a.started_at < now() - ${OLD} and not exists (select from job j where j.workflow_id = a.workflow_id)
        and exists (select from object o where o.uid = split_part(a.workflow_id, '/', 4) and o.cluster = ${cluster})`,
  },
  {
    name: 'write-without-answer',
    severity: 'warn',
    expected: 'an answer for each write of an ended job',
    query: (
      cluster,
    ) => sql`select a.object || ': ' || a.verb || ' of ' || a.workflow_id || ', pass ' || a.pass || ', sent at ' || a.started_at as violation
      from action a join job j on j.workflow_id = a.workflow_id
      where j.cluster = ${cluster} and a.finished_at is null and j.finished_at < now() - ${OLD}`,
  },
  {
    name: 'wake-of-nothing',
    severity: 'bad',
    expected: 'a wake to name an existing event',
    query: (
      cluster,
    ) => sql`select j.controller || ' ' || j.namespace || '/' || j.name || ': wake by event ' || j.seq || ', the sequence is at ' || s.last_value as violation
      from wake j cross join watch_event_seq s where j.cluster = ${cluster} and j.seq > s.last_value`,
  },
  {
    name: 'late-wake',
    severity: 'warn',
    expected: 'a worker to take each due wake; check that a worker runs',
    query: (
      cluster,
    ) => sql`select j.controller || ' ' || j.namespace || '/' || j.name || ': due since ' || j.due || ' (' || j.cause || ')' as violation
      from wake j where j.cluster = ${cluster} and j.due < now() - ${OLD}`,
  },
  {
    name: 'left-wait',
    severity: 'warn',
    expected: 'each subscription to belong to an open job',
    query: (
      cluster,
    ) => sql`select j.controller || ' ' || j.uid || ', job ' || j.job_id || ': waits for ' || j.kind || ' ' || j.namespace || '/' || j.name as violation
      from subscription j where j.cluster = ${cluster} and j.job_id <> '' and j.created_at < now() - ${OLD}
        and not exists (select from job o where o.controller = j.controller and o.uid = j.uid and o.job_id = j.job_id and o.outcome is null)`,
  },
  {
    name: 'partitions',
    severity: 'bad',
    expected: 'partitions for today and the next days; check that a bridge runs',
    query: () => sql`select 'no watch_event_' || day as violation
      from (select to_char((now() at time zone 'UTC')::date + ahead, 'YYYYMMDD') as day from generate_series(0, 2) as ahead) d
      where to_regclass('watch_event_' || day) is null`,
  },
]

/** Returns the violated rules. */
export async function violatedRules(
  { db, cluster }: Journal,
  rules: readonly ConsistencyRule[] = RULES,
): Promise<readonly ViolatedRule[]> {
  const broken: ViolatedRule[] = []
  for (const rule of rules) {
    const rows = await db
      .selectFrom(sql<{ violation: string }>`(${rule.query(cluster)})`.as<'q'>(sql`q`))
      .select('q.violation')
      .limit(MOST_NAMED + 1)
      .execute()
    if (rows.length === 0) continue
    const found = rows.slice(0, MOST_NAMED).map(({ violation }) => violation)
    broken.push({ ...rule, violations: found, isTruncated: rows.length > MOST_NAMED })
  }
  return broken
}

export interface SequenceGaps {
  readonly events: number
  /** Numbers between the first and the last event without an event. */
  readonly without: number
}

/** Gaps in the numbers of the newest events: numbers of transactions that did not commit, or of pruned rows. */
export async function sequenceGaps({ db, cluster }: Journal): Promise<SequenceGaps> {
  const question = sql<SequenceGaps>`(with ${NEWEST(cluster)}
    select count(*) as events, coalesce(max(seq) - min(seq) + 1 - count(distinct seq), 0) as without from newest)`
  return await db
    .selectFrom(question.as<'q'>(sql`q`))
    .select(['q.events', 'q.without'])
    .executeTakeFirstOrThrow()
}

export interface OpenRun {
  readonly workflowID: string
  readonly description: string
}

/** Open jobs older than some minutes, the oldest first. */
export async function openRuns({ db, cluster }: Journal, most: number): Promise<readonly OpenRun[]> {
  return await db
    .selectFrom('job as j')
    .select(['j.workflow_id as workflowID', sql<string>`${SUBJECT}`.as('description')])
    .where('j.cluster', '=', cluster)
    .where('j.outcome', 'is', null)
    .where(sql<boolean>`j.started_at < now() - ${OLD}`)
    .orderBy('j.started_at')
    .limit(most)
    .execute()
}
