// Adds the API group to the keys of kinds, so that two groups may each have a kind with the same name. Existing rows:
//
//   - Rows of Landscaper's kinds get Landscaper's group, because the bridge could not watch kinds with the same names
//     in other groups. Exception: users' controllers may have watched Target or Context in another group. Pawl wrote
//     their events and actions, so the group of these rows is known; the group of their object rows is unknown.
//   - The group of all other kinds is unknown. The migration deletes their objects, checkpoints and subscriptions,
//     because no process would ever delete a row with a wrong group. The bridge relists these kinds, and the next
//     passes subscribe again. An open run in level mode may miss a deletion this way, so the migration wakes it.
//   - Events and actions of other kinds stay, with the group '?'. No query reads the group '?'.
//   - Jobs, pending wakes and retries have no kind and stay unchanged.
//
// Cost: PostgreSQL stores the default of a new column in the catalog, so the time to add the column does not depend on
// the number of events. Only events of other kinds are updated. `action` is rewritten once.
//
// PostgreSQL rejects the statements of processes of the previous build, because the old keys no longer exist. These
// processes retry until they are replaced. The migration releases their leases, so that a new bridge need not wait.

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
  // For the resync, which queries unfinished jobs.
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

  // object is the key by which runs write actions and the bridge holds watch events. The four columns contain its
  // parts, for users and consoles.
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
