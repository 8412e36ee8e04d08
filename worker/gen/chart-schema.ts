// Writes the names of the wings into the schema of the chart's values (deploy/chart/values.schema.json). The rest of the
// schema is not generated.

import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const SCHEMA = 'deploy/chart/values.schema.json'

interface ValuesSchema {
  readonly properties: { readonly wings: { readonly items: object } }
}

/** The schema by path; empty in a folder without the chart. */
export async function chartSchema(root: string, wings: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (!existsSync(join(root, SCHEMA))) return new Map()
  const schema = JSON.parse(await readFile(join(root, SCHEMA), 'utf8')) as ValuesSchema
  const { properties } = schema
  const items = { ...properties.wings.items, enum: wings.toSorted() }
  const changed = { ...schema, properties: { ...properties, wings: { ...properties.wings, items } } }
  return new Map([[SCHEMA, `${JSON.stringify(changed, null, 2)}\n`]])
}
