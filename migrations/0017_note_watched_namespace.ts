// Stores the namespace that the bridge watched, because the position of its watch says nothing about other namespaces.
// '': all namespaces. null: the bridge of a previous build, whose successor continues from the checkpoint as before.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table watch_checkpoint add column namespace text`.execute(db)
}
