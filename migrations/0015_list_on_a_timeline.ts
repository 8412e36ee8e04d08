// Stores the timeline of PostgreSQL's log on which the bridge listed a kind. Another timeline may lack the last
// commits, so there a missing row does not prove that the object is missing (activities/journal/conditions.ts, L1).
//
// Processes of the previous build continue to work: they do not change the column, and kinds without a timeline count
// as listed.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table watch_checkpoint add column timeline text`.execute(db)
}
