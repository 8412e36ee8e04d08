// Process groups in the status of a cluster. Pure. Source: spec/foundationdb.md 1.2 to 1.4.
//
//   G1. A condition keeps its first timestamp until it is removed.
//   G2. A marked process group leaves the status only after its objects are gone.

import { isStateful, type ProcessGroupCondition } from '../contract.ts'
import { isExcluded, isMarked } from '../model/removal-marks.ts'
import type { ProcessGroupStatus } from './kind.ts'

export { isExcluded, isMarked }

/** Unix seconds, and the same moment as text. */
export interface Moment {
  readonly seconds: number
  readonly text: string
}

export function unixSeconds(timestamp: string): number {
  // eslint-disable-next-line no-restricted-globals -- the rule forbids Date because of the clock; this call only parses a text
  return Math.floor(Date.parse(timestamp) / 1000)
}

/** Whether more than `seconds` have passed since the timestamp. */
export function hasPassed(timestamp: string, seconds: number, now: Moment): boolean {
  return now.seconds - unixSeconds(timestamp) > seconds
}

export function marked(group: ProcessGroupStatus, now: Moment): ProcessGroupStatus {
  return isMarked(group) ? group : { ...group, removalTimestamp: now.text, remove: true }
}

export function withoutExclusion(group: ProcessGroupStatus): ProcessGroupStatus {
  return { ...group, exclusionSkipped: true }
}

export function excluded(group: ProcessGroupStatus, now: Moment): ProcessGroupStatus {
  return group.exclusionTimestamp === undefined ? { ...group, exclusionTimestamp: now.text, excluded: true } : group
}

export function notExcluded(group: ProcessGroupStatus): ProcessGroupStatus {
  const rest = Object.entries(group).filter(([field]) => field !== 'exclusionTimestamp' && field !== 'excluded')
  return Object.fromEntries(rest) as unknown as ProcessGroupStatus
}

export function hasCondition(group: ProcessGroupStatus, type: ProcessGroupCondition): boolean {
  return conditionSince(group, type) !== undefined
}

/** Unix seconds. */
export function conditionSince(
  { processGroupConditions = [] }: ProcessGroupStatus,
  type: ProcessGroupCondition,
): number | undefined {
  const found = processGroupConditions.find((one) => one.type === type)
  return found === undefined ? undefined : (found.timestamp ?? 0)
}

/** G1 */
export function withCondition(
  group: ProcessGroupStatus,
  type: ProcessGroupCondition,
  isPresent: boolean,
  now: Moment,
): ProcessGroupStatus {
  const { processGroupConditions: conditions = [] } = group
  if (hasCondition(group, type) === isPresent) return group
  const changed = isPresent
    ? [...conditions, { type, timestamp: now.seconds }]
    : conditions.filter((one) => one.type !== type)
  return { ...group, processGroupConditions: changed }
}

export function withConditions(
  group: ProcessGroupStatus,
  conditions: Readonly<Partial<Record<ProcessGroupCondition, boolean>>>,
  now: Moment,
): ProcessGroupStatus {
  return Object.entries(conditions).reduce(
    (one, [type, isPresent]) => withCondition(one, type as ProcessGroupCondition, isPresent, now),
    group,
  )
}

/** A process group without objects. */
export function newProcessGroup(id: string, processClass: string, now: Moment): ProcessGroupStatus {
  const missing = { MissingProcesses: true, MissingPod: true, ...(isStateful(processClass) && { MissingPVC: true }) }
  const group = { processGroupID: id, processClass, addresses: [], processGroupConditions: [] }
  return withConditions(group, missing, now)
}

/** Whether the process group has no problems. */
export function isHealthy({ processGroupConditions = [] }: ProcessGroupStatus): boolean {
  return processGroupConditions.length === 0
}

export function addressesOf({ addresses = [] }: ProcessGroupStatus): readonly string[] {
  return addresses
}
