// Of which kinds the journal knows all that there is. Source: docs/adr/0039.
//
//   L1. One is listed on the timeline of PostgreSQL's log on which its bridge has listed it, or gone on from there. A server that takes the place of another
//       one may lack the last commits: until the bridge has listed anew, a row that is missing there says nothing.
//   L2. Rows of a former version say no timeline, and count.

import { sql } from 'kysely'

/** The first part of the name of the file that the server writes its log to. */
export const TIMELINE = sql<string>`left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)`

/** L1, L2: whether a row of `watch_checkpoint` is of the present timeline. */
const IS_OF_TIMELINE = sql<boolean>`(timeline is null or timeline = ${TIMELINE})`

/** The kinds of which a list was journaled, as an array of `group` and `kind`. */
export const listedKinds = (cluster: string) => sql`(
  select coalesce(json_agg(json_build_object('group', api_group, 'kind', kind)), '[]') from watch_checkpoint
  where cluster = ${cluster} and resource_version is not null and ${IS_OF_TIMELINE})`
