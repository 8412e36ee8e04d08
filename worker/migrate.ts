// `pawl migrate`: updates the journal's tables, the key of content hashes and Temporal's search attributes, or shows the missing parts.

import { Connection } from '@temporalio/client'

import { loadOrCreateContentKey } from '../activities/journal/content-key.ts'
import { migrateUp, migrationStatus } from '../activities/journal/migrate.ts'
import { SEARCH_ATTRIBUTES } from './server/config.ts'
import { connectionOptions, type TemporalTarget } from './server/temporal.ts'

/** The numbers of `temporal.api.enums.v1.IndexedValueType`: loading that module takes a quarter of a second. */
const INDEXED = { Keyword: 2, KeywordList: 7 } as const

export interface MigrateTarget {
  readonly databaseUrl: string
  /** Undefined: Temporal is not updated. */
  readonly temporal: TemporalTarget | undefined
  /** File of the key, created when missing; undefined: the key comes from elsewhere, e.g. a Secret. */
  readonly contentKeyPath?: string | undefined
}

export interface MigrateReport {
  readonly migrations: readonly { readonly name: string; readonly appliedAt: Date | undefined }[]
  /** Undefined: Temporal was not checked. */
  readonly missingAttributes: readonly string[] | undefined
}

/** Applies missing migrations; idempotent. Returns the names of added migrations and attributes. */
export async function migrate({
  databaseUrl,
  temporal: target,
  contentKeyPath,
}: MigrateTarget): Promise<readonly string[]> {
  const migrations = await migrateUp(databaseUrl)
  if (contentKeyPath !== undefined) await loadOrCreateContentKey(contentKeyPath)
  const attributes = target === undefined ? [] : await withConnection(target, (c) => addAttributes(c, target.namespace))
  return [...migrations, ...attributes]
}

/** Returns applied and missing migrations; changes nothing. */
export async function migrateStatus({ databaseUrl, temporal: target }: MigrateTarget): Promise<MigrateReport> {
  const migrations = await migrationStatus(databaseUrl)
  const missing =
    target === undefined ? undefined : await withConnection(target, (c) => missingAttributes(c, target.namespace))
  return { migrations, missingAttributes: missing }
}

/** Adds the missing search attributes of the namespace; returns their names. */
export async function addAttributes(connection: Connection, namespace: string): Promise<readonly string[]> {
  const missing = await missingAttributes(connection, namespace)
  if (missing.length === 0) return []
  const searchAttributes = Object.fromEntries(missing.map((name) => [name, INDEXED[SEARCH_ATTRIBUTES[name]]]))
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes })
  return missing
}

type AttributeName = keyof typeof SEARCH_ATTRIBUTES

/** The missing search attributes of the namespace. */
export async function missingAttributes(connection: Connection, namespace: string): Promise<readonly AttributeName[]> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
  const known = new Set(Object.keys(customAttributes))
  const names = Object.keys(SEARCH_ATTRIBUTES) as AttributeName[]
  return names.filter((name) => !known.has(name))
}

async function withConnection<T>(target: TemporalTarget, use: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect(connectionOptions(target))
  try {
    return await use(connection)
  } finally {
    await connection.close()
  }
}
