// The configuration of a database: defaults, comparison with the live configuration, and the argument of `configure`.
// Source: spec/foundationdb.md 4.6; recordings 03, 10, 19, 24.
//
//   F1. Two configurations are compared only in normalized form.
//   F2. A value that the user has not set is not compared: the database has its own default.

import { writeJson } from '../../kit/index.ts'
import { compareTexts } from './distribution.ts'
import type { DatabaseConfiguration, DataCenter, Region } from '../cluster/schema/database.ts'
import { roleCounts } from '../model/process-counts.ts'

/** A complete configuration. */
export interface NormalizedConfiguration {
  readonly redundancy_mode: string
  readonly storage_engine: string
  readonly usable_regions: number
  readonly counts: Readonly<Partial<Record<CountName, number>>>
  readonly log_spill: number | undefined
  readonly regions: readonly Region[]
  readonly settings: Readonly<Partial<Record<SettingName, string | number>>>
}

/** In the order of the command. The number of storage processes is never sent. */
const COUNTS = ['logs', 'resolvers', 'log_routers', 'remote_logs', 'proxies', 'commit_proxies', 'grv_proxies'] as const
type CountName = (typeof COUNTS)[number]

const SETTINGS = [
  ...(['storage_migration_type', 'perpetual_storage_wiggle'] as const),
  ...(['perpetual_storage_wiggle_locality', 'perpetual_storage_wiggle_engine'] as const),
] as const
type SettingName = (typeof SETTINGS)[number]

const ENGINES: Readonly<Record<string, string>> = { '': 'ssd-2', ssd: 'ssd-2', memory: 'memory-2' }

/** The desired configuration. Source: spec/foundationdb.md 1.7, 4.6. */
export function desiredConfiguration(spec: DatabaseConfiguration): NormalizedConfiguration {
  return normalized(spec, roleCounts(spec))
}

/**
 * The live configuration, with only the values that the desired one has (F2).
 *
 * @param live `cluster.configuration` of the status of the database.
 */
export function liveConfiguration(
  live: DatabaseConfiguration,
  desired: NormalizedConfiguration,
): NormalizedConfiguration {
  const { counts, log_spill, settings, ...rest } = normalized(live, live)
  return {
    ...rest,
    counts: Object.fromEntries(Object.entries(counts).filter(([name]) => name in desired.counts)),
    log_spill: desired.log_spill === undefined ? undefined : log_spill,
    settings: Object.fromEntries(Object.entries(settings).filter(([name]) => name in desired.settings)),
  }
}

/** F1 */
export function isSameConfiguration(one: NormalizedConfiguration, other: NormalizedConfiguration): boolean {
  return configureString(one) === configureString(other)
}

/** The argument of `configure`, without `new`. */
export function configureString(configuration: NormalizedConfiguration): string {
  const { redundancy_mode, storage_engine, usable_regions, counts, log_spill, regions, settings } = configuration
  const values = <Name extends string>(names: readonly Name[], of: Readonly<Partial<Record<Name, string | number>>>) =>
    names.flatMap((name) => (of[name] === undefined ? [] : [`${name}=${of[name]}`]))
  return [
    ...[redundancy_mode, storage_engine, `usable_regions=${usable_regions}`],
    ...values(COUNTS, counts),
    ...(log_spill === undefined ? [] : [`log_spill:=${log_spill}`]),
    `regions=${escaped(writeJson(regions))}`,
    ...values(SETTINGS, settings),
  ].join(' ')
}

export function isRegionsEqual(one: readonly Region[], other: readonly Region[]): boolean {
  return writeJson(one) === writeJson(other)
}

type Counts = Readonly<Partial<Record<CountName, number | undefined>>>

function normalized(spec: DatabaseConfiguration, counts: Counts): NormalizedConfiguration {
  const { redundancy_mode: mode, storage_engine: engine = '', usable_regions = 1, log_spill, regions = [] } = spec
  return {
    redundancy_mode: mode === undefined || mode === '' ? 'double' : mode,
    storage_engine: ENGINES[engine] ?? engine,
    usable_regions: Math.max(1, usable_regions),
    counts: Object.fromEntries(
      COUNTS.flatMap((name) => {
        const count = counts[name]
        if (count !== undefined && count !== 0) return [[name, count]]
        return name === 'log_routers' || name === 'remote_logs' ? [[name, -1]] : []
      }),
    ),
    log_spill: log_spill === undefined || log_spill === 0 ? undefined : log_spill,
    regions: sortedRegions(regions),
    settings: Object.fromEntries(
      SETTINGS.flatMap((name) => (spec[name] === undefined || spec[name] === '' ? [] : [[name, spec[name]]])),
    ),
  }
}

/** Regions by the priority of their main data centre, data centres with the main one first. */
export function sortedRegions(regions: readonly Region[]): readonly Region[] {
  return regions
    .map(({ datacenters = [], satellite_logs = 0, satellite_redundancy_mode = '' }) => ({
      datacenters: datacenters.map(normalizedDataCenter).sort(compareDataCenters),
      ...(satellite_logs !== 0 && { satellite_logs }),
      ...(satellite_redundancy_mode !== '' && { satellite_redundancy_mode }),
    }))
    .sort((one, other) => compareDataCenters(one.datacenters[0] ?? {}, other.datacenters[0] ?? {}))
}

function normalizedDataCenter({ id = '', priority = 0, satellite = 0 }: DataCenter): DataCenter {
  return { id, ...(priority !== 0 && { priority }), ...(satellite !== 0 && { satellite }) }
}

function compareDataCenters(one: DataCenter, other: DataCenter): number {
  const satellites = (one.satellite ?? 0) - (other.satellite ?? 0)
  if (satellites !== 0) return satellites
  const priorities = (other.priority ?? 0) - (one.priority ?? 0)
  if (priorities !== 0) return priorities
  return compareTexts(one.id ?? '', other.id ?? '')
}

/** fdbcli splits its argument at blanks and removes quotes; a `;` would start another command. */
function escaped(json: string): string {
  return json.replaceAll(/["'\\<>&=;\s]/g, (character) =>
    character === '"' || character === "'" || character === '\\'
      ? `\\${character}`
      : `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
}
