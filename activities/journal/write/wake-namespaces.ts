// The namespaces in which anything is to be woken, each found by one step in an index: never a scan of what waits in them.

import { type RawBuilder, sql } from 'kysely'

/** For `with recursive`: the rows of `space`, whose `namespace` is null in the last one. */
export function wakeNamespaces(cluster: string): RawBuilder<unknown> {
  return sql`space as (
      (select namespace from wake where cluster = ${cluster} order by namespace limit 1)
      union all
      select (select w.namespace from wake w where w.cluster = ${cluster} and w.namespace > space.namespace order by w.namespace limit 1)
      from space where space.namespace is not null)`
}
