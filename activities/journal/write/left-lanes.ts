// What a process leaves to others of a controller's subjects: those of the lanes that it does not serve. The lane is asked of the subject's row when a
// wake is taken, so a wake says nothing of it, and whoever makes one need not know.

import { type RawBuilder, sql } from 'kysely'
import type { Path } from '../../../workflows/kit/index.ts'

export interface LeftLanes {
  readonly controller: string
  /** Where a subject's projection says its lane. */
  readonly at: Path
  readonly lanes: readonly string[]
}

/** Of a row that names controller, cluster and uid: whether its subject is in none of these lanes. @param table or alias of the rows. */
export function isNotLeft(table: 'wake' | 'w' | 'j', left: readonly LeftLanes[]): RawBuilder<boolean> {
  const row = (column: 'controller' | 'cluster' | 'uid') => sql.ref(`${table}.${column}`)
  const conditions = left.map(
    ({ controller, at, lanes }) => sql`not (${row('controller')} = ${controller} and exists (
      select from object o where o.cluster = ${row('cluster')} and o.uid = ${row('uid')}
        and o.projection #>> ${[...at]}::text[] = any(${[...lanes]}::text[])))`,
  )
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}
