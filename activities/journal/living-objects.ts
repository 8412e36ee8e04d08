// The rows of the objects of one kind that live, for queries to narrow further.

import type { Kysely } from 'kysely'
import type { GroupKind } from '../../workflows/kit/index.ts'
import type { Database } from './database.ts'

export const livingObjects = (db: Kysely<Database>, cluster: string, { group, kind }: GroupKind) =>
  db
    .selectFrom('object')
    .where('cluster', '=', cluster)
    .where('api_group', '=', group)
    .where('kind', '=', kind)
    .where('deleted', '=', false)
