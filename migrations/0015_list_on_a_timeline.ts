// The timeline of PostgreSQL's log on which a kind was listed: on another one, which may lack the last commits, a row that is missing says nothing
// (activities/journal/listed-kinds.ts).
//
// Processes of the former version go on beside this: they leave the column as it is, and rows without it count as before.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table watch_checkpoint add column timeline text`.execute(db)
}
