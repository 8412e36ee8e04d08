// Management commands: configuration, exclusions, coordinators, classes, maintenance, lock, tenants.
// Each function returns what fdbcli needs for its answer, and waits like FoundationDB does.
// Source: fdb-recordings 03, 07 to 10, 13, 19, 26; SURPRISES 2, 5, 6.

import { sleep } from './clock.ts'
import { ipOf } from './connection-string.ts'
import type { Distributor } from './distribution.ts'
import {
  count,
  isComplete,
  isValidConfiguration,
  leadingDatacenters,
  mainDatacenter,
  REDUNDANCY_MODES,
  regionsOf,
  type ConfigurationKeys,
} from './configuration.ts'
import { isNamedBy, nameOf, type SimulatedProcess, zoneOf } from './process.ts'
import { compareNames } from './recruitment.ts'
import {
  OUTAGE,
  recover,
  recoverFromExclusion,
  recoverIfBetter,
  restartDistributor,
  retryRecovery,
} from './recovery.ts'
import { isInProgress, namedCoordinators, namedProcesses } from './system-keys.ts'
import type { State } from './state.ts'

export type ConfigureResult =
  | 'created'
  | 'changed'
  | 'exists'
  | 'invalid'
  | 'unknown_region'
  | 'regions_and_usable'
  | 'one_active_region'
  | 'not_replicated'
  | 'engine_locked'
  | 'incomplete'

export interface ConfigureRequest {
  readonly changes: readonly (readonly [string, string])[]
  readonly isNew: boolean
  readonly force: boolean
}

/** Resolves when the database is available with the new configuration; that may never happen. */
export async function configure(state: State, request: ConfigureRequest): Promise<ConfigureResult> {
  if (request.isNew) return await createDatabase(state, new Map(request.changes))
  // A forced change gets through while a recovery is stuck. Source: fdb-recordings 10b/006, 10/114.
  await state.until(
    () =>
      state.configuration !== undefined &&
      (state.available || request.force) &&
      state.phase !== 'locking_coordinated_state',
  )
  const before = state.configuration ?? new Map<string, string>()
  const after = new Map([...before, ...request.changes])
  const refusal = request.force ? undefined : refusalOf(state, before, after)
  if (refusal !== undefined) return refusal
  const differs = [...after].some(([key, value]) => before.get(key) !== value)
  if (!differs) return 'changed'
  state.configuration = after
  followUsableRegions(state)
  if (state.available) {
    state.roles.delete('data_distributor')
    recover(state, OUTAGE.change)
  } else retryRecovery(state)
  await state.until(() => state.available)
  return 'changed'
}

/** How long copying the data into a second region takes. Source: fdb-recordings 19/016 to 19/021. */
const POPULATE_SECONDS = 43

function followUsableRegions(state: State): void {
  const usable = count(state.configuration ?? new Map(), 'usable_regions', 1)
  if (usable < 2) state.remoteReadyAt = undefined
  else state.remoteReadyAt ??= state.now() + POPULATE_SECONDS
}

async function createDatabase(state: State, keys: ConfigurationKeys): Promise<ConfigureResult> {
  if (!isComplete(keys)) return 'incomplete'
  await state.until(() => state.hasQuorum())
  if (state.configuration !== undefined) return 'exists'
  if (!isValidConfiguration(keys)) {
    state.phase = 'configuration_invalid'
    state.changed()
    await state.until(() => state.available)
    return 'exists'
  }
  state.configuration = keys
  retryRecovery(state)
  await state.until(() => state.available)
  return 'created'
}

/** How long a process counts as a storage server after it lost the role. Source: fdb-recordings 19/006. */
const SERVER_LIST_SECONDS = 10

function refusalOf(state: State, before: ConfigurationKeys, after: ConfigurationKeys): ConfigureResult | undefined {
  const regionsChange = JSON.stringify(regionsOf(after)) !== JSON.stringify(regionsOf(before))
  const usableChanges = count(before, 'usable_regions', 1) !== count(after, 'usable_regions', 1)
  if (regionsChange && usableChanges) return 'regions_and_usable'
  if (!isValidConfiguration(after)) return 'invalid'
  if (usableChanges && leadingDatacenters(after).length > 1) return 'one_active_region'
  const refusal = regionsChange ? regionRefusal(state, after) : undefined
  if (refusal !== undefined) return refusal
  const engineChanges = before.get('storage_engine') !== after.get('storage_engine')
  return engineChanges && (after.get('storage_migration_type') ?? '1') === '1' ? 'engine_locked' : undefined
}

function regionRefusal(state: State, after: ConfigurationKeys): ConfigureResult | undefined {
  if (leadingDatacenters(after).length > 1 && state.now() < (state.remoteReadyAt ?? 0)) return 'not_replicated'
  return storageIsInRegions(state, after) ? undefined : 'unknown_region'
}

function storageIsInRegions(state: State, keys: ConfigurationKeys): boolean {
  const known = regionsOf(keys).map((region) => mainDatacenter(region)?.id)
  const isServer = (process: SimulatedProcess) =>
    process.storage !== undefined || state.now() - process.storageEndedAt < SERVER_LIST_SECONDS
  const servers = state.aliveProcesses().filter(isServer)
  return known.length === 0 || servers.every(({ description }) => known.includes(description.locality['dcid']))
}

export interface ExcludeRequest {
  readonly exclusions: readonly string[]
  readonly failed: boolean
  readonly force: boolean
}

export type ExcludeRefusal = 'free_space' | 'unknown_space' | 'unsafe_failed'

/** Stores the exclusions. @returns why it refused, or undefined. */
export async function exclude(
  state: State,
  distributor: Distributor,
  request: ExcludeRequest,
): Promise<ExcludeRefusal | undefined> {
  await systemKeysReadable(state)
  if (!request.force) {
    const refusal = request.failed
      ? unsafeFailed(state, request.exclusions)
      : freeSpaceRefusal(state, request.exclusions)
    if (refusal !== undefined) return refusal
  }
  const marks = request.failed ? state.failed : state.exclusions
  for (const exclusion of request.exclusions) marks.add(exclusion)
  state.exclusionCounter = state.randomText(32)
  if (request.failed) {
    distributor.forgetFailed()
    restartDistributor(state)
  }
  recoverFromExclusion(state)
  state.changed()
  return undefined
}

/** Exclusions are system keys. While the database is locked the commands hang. Source: fdb-recordings 07/044. */
async function systemKeysReadable(state: State): Promise<void> {
  await state.until(() => state.available && state.lockUid === undefined)
}

function freeSpaceRefusal(state: State, exclusions: readonly string[]): ExcludeRefusal | undefined {
  if (!state.hasQuorum()) return 'unknown_space'
  const storage = state.aliveProcesses().filter((process) => process.storage !== undefined)
  const left = storage.filter((process) => !exclusions.some((exclusion) => isNamedBy(process, exclusion)))
  return storage.length > 0 && left.length === 0 ? 'free_space' : undefined
}

function unsafeFailed(state: State, exclusions: readonly string[]): ExcludeRefusal | undefined {
  const isNamed = (process: SimulatedProcess) => exclusions.some((exclusion) => isNamedBy(process, exclusion))
  const usable = state
    .aliveProcesses()
    .filter((process) => process.storage !== undefined && !isNamed(process) && !state.isExcluded(process))
  const wholeTeam = state.shards.shards.some(({ team }) =>
    team.every((id) => {
      const process = state.processes.get(id)
      return process === undefined || isNamed(process)
    }),
  )
  const alreadyFailed = exclusions.some((exclusion) => state.failed.has(exclusion))
  return wholeTeam || alreadyFailed || usable.length === 0 ? 'unsafe_failed' : undefined
}

export interface ExclusionState {
  readonly exclusion: string
  readonly state: 'excluded' | 'in_progress' | 'missing'
  /** Names of the processes, for localities. */
  readonly processes: readonly string[]
}

export interface ExclusionStates {
  readonly states: readonly ExclusionState[]
  /** Coordinators among the excluded processes. */
  readonly coordinators: readonly string[]
}

/** Source: SURPRISES 27, 33: only storage and logs count; a process that died just now still counts as known. */
export function exclusionStates(state: State, exclusions: readonly string[]): ExclusionStates {
  const states = exclusions.map((exclusion): ExclusionState => {
    const named = namedProcesses(state, exclusion).filter(
      (process) => process.alive || isInProgress(state, process) || state.now() - process.lostAt < KNOWN_SECONDS,
    )
    const processes = named.sort(compareNames).map(nameOf)
    if (named.length === 0) return { exclusion, state: 'missing', processes }
    const busy = named.some((process) => isInProgress(state, process))
    return { exclusion, state: busy ? 'in_progress' : 'excluded', processes }
  })
  return { states, coordinators: exclusions.flatMap((exclusion) => namedCoordinators(state, exclusion)) }
}

const KNOWN_SECONDS = 10

/** `all` includes everything. An IP includes also its `ip:port` exclusions. */
export async function include(state: State, exclusions: readonly string[], failed: boolean): Promise<void> {
  await systemKeysReadable(state)
  const matches = (stored: string) =>
    exclusions.includes('all') ||
    exclusions.some((given) => given === stored || (!given.startsWith('locality_') && ipOf(stored) === given))
  if (failed) state.failed = new Set([...state.failed].filter((stored) => !matches(stored)))
  else state.exclusions = new Set([...state.exclusions].filter((stored) => !matches(stored)))
  if (exclusions.includes('all')) state.failed.clear()
  state.exclusionCounter = state.randomText(32)
  recoverIfBetter(state)
  state.changed()
}

/** Sorted: addresses first. */
export async function listExclusions(state: State): Promise<string[]> {
  await systemKeysReadable(state)
  return [...new Set([...state.exclusions, ...state.failed])].sort()
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Changes the coordinators, with a recovery and a new ID. @returns `same` without any effect if nothing changes. */
export async function changeCoordinators(
  state: State,
  change: { readonly coordinators?: readonly string[]; readonly description?: string },
): Promise<'changed' | 'same' | 'unreachable'> {
  await state.until(() => state.available)
  const { connection } = state
  const coordinators = change.coordinators ?? connection.coordinators
  const description = change.description ?? connection.description
  const same = sameSet(coordinators, connection.coordinators) && description === connection.description
  if (same) return 'same'
  // The change needs a recovery, which needs the present coordinators. Source: fdb-recordings 13/022.
  if (!state.hasQuorum()) recover(state, OUTAGE.change)
  await state.until(() => state.available)
  const unreachable = coordinators.filter((address) => state.byAddress(address) === undefined)
  if (unreachable.length > 0) {
    // Names that cannot be resolved are reported at once.
    if (unreachable.some(isIpAddress)) await sleep(state.clock, UNREACHABLE_SECONDS)
    return 'unreachable'
  }
  await sleep(state.clock, CHANGE_SECONDS)
  const next = { description, id: state.randomText(32, LETTERS), coordinators: [...coordinators] }
  if (!(await state.effects.prepare(next))) return 'unreachable'
  state.connection = next
  // Without processes for it the controller moves, and the distributor with it. Source: fdb-recordings 09, 25.
  const hasStateless = state.candidates().some(({ processClass }) => processClass === 'stateless')
  if (!hasStateless) state.roles.delete('data_distributor')
  recover(state, OUTAGE.change)
  state.effects.announce(next)
  await state.until(() => state.available)
  return 'changed'
}

const UNREACHABLE_SECONDS = 5
/** Until the new coordinators are in use. Source: fdb-recordings 09/012..040. */
const CHANGE_SECONDS = 1
const isIpAddress = (address: string) => /^(?:[\d.]+|\[[0-9a-fA-F:.]+\]):/.test(address)

const sameSet = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((item) => b.includes(item))

/** The coordinators that `coordinators auto` chooses, or undefined if the present ones are good. */
export async function automaticCoordinators(state: State): Promise<readonly string[] | undefined> {
  await state.until(() => state.available)
  const mode = state.mode()
  const needed = mode === 'three_data_hall' ? 9 : REDUNDANCY_MODES[mode].replicas * 2 - 1
  const usable = state.candidates().map(({ process }) => process)
  const present = state.connection.coordinators.flatMap((address) => {
    const process = state.byAddress(address)
    return process !== undefined && usable.includes(process) ? [process] : []
  })
  const chosen: SimulatedProcess[] = []
  for (const process of [...present, ...usable.sort(compareNames)]) {
    const zones = chosen.map(zoneOf)
    if (chosen.length < needed && !chosen.includes(process) && !zones.includes(zoneOf(process))) chosen.push(process)
  }
  const isGood =
    present.length === state.connection.coordinators.length && present.length >= Math.min(needed, chosen.length)
  return isGood ? undefined : chosen.map(({ description }) => description.addresses[0])
}
