// The database that the bench creates by hand and with Pawl: the cluster of examples/foundationdb/cluster.yaml.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

import type { ClusterSpec } from '../../../workflows/foundationdb/cluster/kind.ts'
import { configureString, desiredConfiguration } from '../../../workflows/foundationdb/database/configure-string.ts'

export const MANIFEST = fileURLToPath(new URL('../../../examples/foundationdb/cluster.yaml', import.meta.url))

export interface DatabasePlan {
  readonly version: string
  /** The class of each process. */
  readonly classes: readonly string[]
  /** The argument of `configure new`. */
  readonly configuration: string
}

/** @throws if the manifest has no process counts, because the controller would then choose the number of processes. */
export function readPlan(): DatabasePlan {
  const { spec } = parse(readFileSync(MANIFEST, 'utf8')) as { readonly spec: ClusterSpec }
  const { version, processCounts = {}, databaseConfiguration = {} } = spec
  const classes = Object.entries(processCounts).flatMap(([name, count]) =>
    Array.from({ length: Math.max(0, count) }, () => name),
  )
  if (classes.length === 0) throw new Error(`${MANIFEST}: spec.processCounts: found no process, expected some`)
  return { version, classes, configuration: configureString(desiredConfiguration(databaseConfiguration)) }
}
