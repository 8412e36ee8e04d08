// The FoundationDBCluster of a backup or restore, as their passes observe it.

import type { JsonObject, StateQuery } from '../kit/index.ts'
import type { StepProblem } from './progress.ts'

export interface ObservedCluster extends JsonObject {
  readonly spec: { readonly version: string }
  readonly status?: {
    readonly connectionString?: string
    readonly runningVersion?: string
    readonly configured?: boolean
  }
}

/** @param name a template, such as `${target.spec.clusterName}`. */
export function clusterQuery(name: string): StateQuery {
  return {
    kind: 'apps.foundationdb.org/v1beta2/FoundationDBCluster',
    name,
    pick: ['spec.version', 'status.connectionString', 'status.runningVersion', 'status.configured'],
  }
}

/** The database of a call of fdbbackup or fdbrestore. */
export interface Address {
  readonly connectionString: string
  readonly version: string
  /** Further arguments, such as `--knob_http_verbose_level=1`. */
  readonly knobs: readonly string[]
}

/** Undefined until the cluster has a database: fdbbackup and fdbrestore wait for one without end. */
export function addressOf(
  cluster: ObservedCluster | undefined,
  customParameters: readonly string[] = [],
): Address | undefined {
  const { connectionString = '', runningVersion = '', configured = false } = cluster?.status ?? {}
  if (cluster === undefined || connectionString === '' || !configured) return undefined
  const version = runningVersion === '' ? cluster.spec.version : runningVersion
  return { connectionString, version, knobs: knobsOf(customParameters) }
}

/** @param customParameters of the spec. */
export function knobsOf(customParameters: readonly string[] = []): readonly string[] {
  return customParameters.map((one) => `--${one}`)
}

/** A change of the cluster starts the next pass earlier. */
const WAIT_MS = 30_000

/** @param name of the cluster. */
export function noDatabase(name: string): StepProblem {
  const message = `FoundationDBCluster "${name}" has no database; wait until it is available, or create it`
  return { message, againMs: WAIT_MS }
}
