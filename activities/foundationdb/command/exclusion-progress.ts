// The progress of exclusions in a database: the bytes that excluded processes still store. Pure.

import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { excludedProcessGroup } from '../../../workflows/foundationdb/database/process-address.ts'
import { isExcluded, isMarked } from '../../../workflows/foundationdb/model/removal-marks.ts'
import type { DatabaseStatus } from '../database/status.ts'
import { processGroupsOf } from './process-groups.ts'

export interface ExcludedProcess {
  /** The ID of its process group, or its address if it reports none. */
  readonly name: string
  readonly address: string
  readonly roles: readonly string[]
  readonly bytesLeft: number
}

export interface ExclusionReading {
  readonly atMs: number
  readonly processes: readonly ExcludedProcess[]
  /** Process groups that are to be removed and whose exclusion has not excludedIDs. */
  readonly waiting: readonly string[]
  /** Excluded process groups without a running process. */
  readonly absent: readonly string[]
}

export function exclusionReading(
  { processes, exclusions }: Pick<DatabaseStatus, 'processes' | 'exclusions'>,
  cluster: FoundationDBCluster,
  atMs: number,
): ExclusionReading {
  const found = processes
    .filter(({ isExcluded }) => isExcluded)
    .map(({ address, locality, roles }) => ({
      name: locality['instance_id'] ?? address,
      address,
      roles: roles.map(({ role }) => role),
      bytesLeft: roles.reduce((sum, { storedBytes = 0 }) => sum + storedBytes, 0),
    }))
  const reported = new Set(processes.map(({ locality }) => locality['instance_id']))
  const absent = exclusions.flatMap((exclusion) => {
    const id = excludedProcessGroup(exclusion)
    return id === undefined || reported.has(id) ? [] : [id]
  })
  const excludedIDs = new Set([...found.map(({ name }) => name), ...absent])
  const waiting = processGroupsOf(cluster)
    .filter((group) => isMarked(group) && !isExcluded(group) && !excludedIDs.has(group.processGroupID))
    .map(({ processGroupID }) => processGroupID)
  return { atMs, waiting, processes: found.sort((one, other) => (one.name < other.name ? -1 : 1)), absent }
}

/** The processes whose exclusion is not complete: they still have a role. */
export function unfinished({ processes }: ExclusionReading): readonly ExcludedProcess[] {
  return processes.filter(({ roles }) => roles.length > 0)
}

export function isComplete(reading: ExclusionReading): boolean {
  return unfinished(reading).length === 0 && reading.waiting.length === 0
}

export function bytesLeftIn(reading: ExclusionReading): number {
  return unfinished(reading).reduce((sum, { bytesLeft }) => sum + bytesLeft, 0)
}

export interface Estimate {
  /** At least 0; undefined without progress or without an earlier reading. */
  readonly bytesPerSecond: number | undefined
  readonly secondsLeft: number | undefined
}

/** From the first reading to the last one. */
export function estimateOf(first: ExclusionReading, last: ExclusionReading): Estimate {
  const seconds = (last.atMs - first.atMs) / 1000
  const left = bytesLeftIn(last)
  const moved = bytesLeftIn(first) - left
  if (seconds <= 0 || moved <= 0) return { bytesPerSecond: undefined, secondsLeft: undefined }
  return { bytesPerSecond: moved / seconds, secondsLeft: (left / moved) * seconds }
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)))
  const value = bytes / 2 ** (10 * power)
  return `${power === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[power] ?? ''}`
}
