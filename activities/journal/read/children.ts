// Whose child an object is, as PostgreSQL decides it over rows of `object`. The rules (P1-P3) stand in workflows/kit/run/owners.ts; a test compares both.

import { type RawBuilder, sql } from 'kysely'

/**
 * Whether one row is the child of another.
 *
 * @param child alias of a row of `object`; of its owner references a projection keeps the controlling one.
 * @param owner alias of another.
 */
export function isChildRow(child: string, owner: string): RawBuilder<boolean> {
  const [c, o] = [sql.ref(child), sql.ref(owner)]
  const reference = (key: string) => sql`${c}.projection #>> ${sql.lit(`{metadata,ownerReferences,0,${key}}`)}`
  return sql`(${c}.cluster = ${o}.cluster and ${c}.owner_uid = ${o}.uid and ${o}.namespace in (${c}.namespace, '')
    and ${reference('name')} = ${o}.name and ${reference('kind')} = ${o}.kind
    and (case when strpos(${reference('apiVersion')}, '/') = 0 then '' else split_part(${reference('apiVersion')}, '/', 1) end) = ${o}.api_group)`
}
