// Kinds are keyed by API group and name, so that two groups may each have a kind of one name. What the journal holds goes on:
//
//   - Rows of Landscaper's kinds get its group. Until now no other group's kind of these names could be followed beside them, so it is theirs.
//     Target and Context alone were followed for users' controllers only, perhaps in another group: of these the group is known of writes
//     and events, which are Pawl's own, and not of states.
//   - Of any other kind the group is not known. Its states, checkpoint and subscriptions go, lest a row under a wrong group lives on as a
//     ghost that nothing deletes: the bridge lists the kind anew, every object is news, and the passes that follow subscribe anew. A run in
//     level mode that is open may have lost the news of a deletion by that, so it is woken, and looks.
//   - What happened (events, actions) stays as it is, with the group '?': no lookup asks for it.
//   - Open rows of runs, pending wakes and retries have no kind and are left alone.
//
// Cost: PostgreSQL keeps the default of a new column apart from the rows, so adding it to watch_event is the same for any number of events, and
// only those of other kinds are updated. `action` is rewritten once. All in one transaction, or nothing.
//
// A process of the former version cannot write beside this: its statements name keys that are gone, so they are refused, nothing is half
// written, and it tries again until it is replaced. Its leases end here, so that a new bridge need not wait for it.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const GROUP = `'landscaper.gardener.cloud'`
const FOLLOWED = `('Installation', 'Execution', 'DeployItem', 'DataObject')`
const WRITTEN = `('Installation', 'Execution', 'DeployItem', 'DataObject', 'Target', 'Context')`

const STATEMENTS: readonly string[] = [
  `alter table watch_event add column api_group text not null default ${GROUP}`,
  `alter table watch_event alter column api_group drop default`,
  `update watch_event set api_group = '?' where kind not in ${WRITTEN}`,

  `delete from object where kind not in ${FOLLOWED}`,
  `alter table object add column api_group text not null default ${GROUP}`,
  `alter table object alter column api_group drop default`,
  `alter table object drop constraint object_pkey, add primary key (cluster, api_group, kind, uid)`,
  `drop index object_newest_version, object_by_name, object_unfinished`,
  `create index object_newest_version on object (cluster, api_group, kind, namespace, resource_version desc)`,
  `create index object_by_name on object (cluster, api_group, kind, namespace, name)`,
  // The sweep's question: which jobs are unfinished?
  `create index object_unfinished on object (api_group, kind, uid) where not deleted
    and (projection #>> '{status,jobID}') is distinct from (projection #>> '{status,jobIDFinished}')`,

  `delete from watch_checkpoint where kind not in ${FOLLOWED}`,
  `update watch_checkpoint set lease_owner = null, lease_until = null`,
  `alter table watch_checkpoint add column api_group text not null default ${GROUP}`,
  `alter table watch_checkpoint alter column api_group drop default`,
  `alter table watch_checkpoint drop constraint watch_checkpoint_pkey, add primary key (cluster, api_group, kind)`,

  `delete from subscription where kind not in ${FOLLOWED}`,
  `alter table subscription add column api_group text not null default ${GROUP}`,
  `alter table subscription alter column api_group drop default`,
  `alter table subscription drop constraint subscription_pkey,
    add primary key (controller, uid, job_id, api_group, kind, namespace, name)`,
  `drop index subscription_by_object`,
  `create index subscription_by_object on subscription (cluster, api_group, kind, namespace, name)`,

  `insert into wake (controller, uid, job_id, cluster, namespace, name, seq, version, due, foreign_event, may_start, cause)
   select distinct on (controller, uid) controller, uid, '', cluster, namespace, name, 0, nextval('wake_version'), now(), true, true,
          'the journal was migrated'
   from job where outcome is null and job_id = ''
   on conflict (controller, uid, job_id) do update set
     version = excluded.version, due = least(wake.due, excluded.due), foreign_event = true, may_start = true`,

  // object is the key: what is written, and what the bridge holds events of. The four columns are its parts, for people and consoles.
  `alter table action
    alter column object type text using split_part(object, '/', 1)
      || case when split_part(object, '/', 1) in ${WRITTEN} then '.' || ${GROUP} else '.?' end
      || substr(object, strpos(object, '/')),
    add column api_group text not null generated always as (
      substr(split_part(object, '/', 1), length(split_part(split_part(object, '/', 1), '.', 1)) + 2)) stored,
    add column kind text not null generated always as (split_part(split_part(object, '/', 1), '.', 1)) stored,
    add column namespace text not null generated always as (split_part(object, '/', 2)) stored,
    add column name text not null generated always as (split_part(object, '/', 3)) stored`,
]
