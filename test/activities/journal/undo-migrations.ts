// Reverts the newest migrations, newest first, to the journal schema of a previous release. Only tests do this.

import { type Kysely, sql } from 'kysely'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The SQL statements that revert each migration. */
const UNDONE: Readonly<Record<string, readonly string[]>> = {
  '0006_fence_former_runs': [`alter table wake drop constraint wake_of_present_runs`, `drop table former_run`],
  '0007_note_stuck_runs': [`drop table stuck_run`, `alter table job drop column restarts, drop column restarted_at`],
  '0008_prune_by_index': [`drop index action_by_time, job_by_end, object_deleted`],
  '0009_say_who_may_work': [`drop table journal_schema`],
  '0010_find_children_by_place': [
    `create index object_by_owner on object (owner_uid) where owner_uid is not null`,
    `drop index object_by_owner_and_place`,
  ],
  '0011_take_pass_turns': [`drop table pass_turn`],
  '0012_find_givers_and_takers': [`drop index object_by_given, object_by_taken`],
  '0013_know_living_processes': [`drop table heartbeat`],
  '0014_subscribe_by_traits': [
    `delete from subscription where traits <> '{}'`,
    `alter table subscription drop constraint subscription_pkey,
       add primary key (controller, uid, job_id, api_group, kind, namespace, name)`,
    `alter table subscription drop column traits`,
  ],
  '0015_list_on_a_timeline': [`alter table watch_checkpoint drop column timeline`],
  '0016_record_field_managers': [`alter table watch_event drop column manager`],
  '0017_note_watched_namespace': [`alter table watch_checkpoint drop column namespace`],
}

/** The names of all migrations in order; a name is the file name without `.ts`. */
export async function migrationNames(): Promise<string[]> {
  const files = await readdir(fileURLToPath(new URL('../../../migrations', import.meta.url)))
  return files.map((file) => file.replace(/\.ts$/, '')).sort()
}

/**
 * Reverts this migration and all later ones.
 *
 * @returns their names, in the order in which they can be applied again.
 * @throws Error if UNDONE has no statements for one of them. Add the statements with each new migration.
 */
export async function undoMigrations<DB>(db: Kysely<DB>, from: string): Promise<string[]> {
  const all = await migrationNames()
  const later = all.slice(all.indexOf(from))
  for (const name of later.toReversed()) {
    const statements = UNDONE[name]
    if (statements === undefined)
      throw new Error(`nobody says how migration ${name} is undone: add it to ${import.meta.url}`)
    for (const statement of statements) await sql.raw(statement).execute(db)
  }
  await sql`delete from kysely_migration where name = any(${later}::text[])`.execute(db)
  return later
}
