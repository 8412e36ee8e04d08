// What the heartbeats of all processes come to: whether the engine is well, and what the object that tells so is to say. Pure.
//
//   V1. Of names and counts only: a text of an error may quote anything, and who may read the object need not be trusted with it.
//   V2. A process that fell silent counts until another of its role has started since, or it is forgotten; one that ended as it should never counts.
//   V3. What is needed is what the bridges follow objects for, by what they say themselves: processes with other flags come to the same.
//   V4. Failed after two looks in a row that were not well: a process that is being replaced is no failure.

import type { HeartbeatRecord } from '../../activities/journal/write/heartbeats.ts'

export type HealthState = 'Init' | 'Ok' | 'Failed'

export interface ToldHealth {
  readonly state: HealthState
  readonly at: Date
}

/** After so many beats that did not come. */
const SILENT_BEATS = 3
const MOST_TOLD = 20

/** What is not well, for people; empty when all is. The same for whoever has heard the same. */
export function wrongWith(heard: readonly HeartbeatRecord[]): readonly string[] {
  const living = heard.filter((one) => !isSilent(one))
  const [bridges, workers] = [ofRole(living, 'bridge'), ofRole(living, 'worker')]
  const served = servedBy(workers)
  // V3
  const unserved = [...servedBy(bridges)].filter((controller) => !served.has(controller))
  return [
    ...(bridges.length > 0 ? [] : ['no bridge is running']),
    ...(workers.length > 0 ? [] : ['no worker is running']),
    ...(workers.length > 0 && unserved.length > 0 ? [`no worker runs ${unserved.join(', ')}`] : []),
    ...living.flatMap(({ role, place, wrong }) =>
      wrong.length === 0 ? [] : [`${role} ${place} is not ready: ${wrong.join(', ')}`],
    ),
    ...heard
      .filter((one) => isSilent(one) && !isReplaced(one, living))
      .map(({ role, place, at }) => `${role} ${place} is silent since ${at.toISOString()}`),
  ]
}

function ofRole(heard: readonly HeartbeatRecord[], wanted: HeartbeatRecord['role']): readonly HeartbeatRecord[] {
  return heard.filter(({ role }) => role === wanted)
}

function servedBy(heard: readonly HeartbeatRecord[]): ReadonlySet<string> {
  return new Set(heard.flatMap(({ serves }) => serves))
}

function isSilent({ silentMs, everyMs }: HeartbeatRecord): boolean {
  return silentMs > SILENT_BEATS * everyMs
}

/** V2 */
function isReplaced({ role, at }: HeartbeatRecord, living: readonly HeartbeatRecord[]): boolean {
  return living.some((one) => one.role === role && one.startedAt > at)
}

/** All in one text, bounded. */
export function describeHealth(state: HealthState, wrong: readonly string[]): string {
  if (state === 'Ok') return 'bridge, worker, journal and Temporal are well'
  const told = wrong.slice(0, MOST_TOLD)
  const more = wrong.length - told.length
  return [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

export interface Looked {
  readonly isWell: boolean
  /** Looks in a row that were not well, this one included. */
  readonly badLooks: number
  readonly now: Date
  readonly everyMs: number
}

/** What is to be written over what stands there (undefined: nothing); undefined: it may stay as it is. */
export function toTell(
  { isWell, badLooks, now, everyMs }: Looked,
  told: ToldHealth | undefined,
): HealthState | undefined {
  const ageMs = told === undefined ? Infinity : ageOf(told.at, now, everyMs)
  const state = isWell ? 'Ok' : stateOfBad(badLooks, ageMs > 2 * everyMs ? undefined : told?.state)
  return state !== told?.state || ageMs >= everyMs ? state : undefined
}

// What is to come was written by a hand, or by another clock.
function ageOf(at: Date, now: Date, everyMs: number): number {
  const ageMs = now.getTime() - at.getTime()
  return ageMs < -everyMs ? Infinity : ageMs
}

/** V4. Where nobody has told anything lately, the engine has only begun. */
function stateOfBad(badLooks: number, told: HealthState | undefined): HealthState {
  return badLooks >= 2 ? 'Failed' : (told ?? 'Init')
}
