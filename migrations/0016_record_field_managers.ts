// Stores with each event of a client other than Pawl's runs the field manager that wrote it, for users: Kubernetes keeps
// only the last write of each manager.
//
// Processes of the previous build continue to work: their events have no manager.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table watch_event add column manager text`.execute(db)
}
