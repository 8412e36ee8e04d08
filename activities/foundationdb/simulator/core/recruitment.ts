// Chooses which processes get the roles of the transaction system. Pure.
//
// R1. A role goes to the processes that fit best; among equals to those with the fewest roles, then to the first by address.
// R2. Logs spread over as many zones as the redundancy mode requires; otherwise nothing is recruited.

import {
  count,
  leadingDatacenters,
  type ConfigurationKeys,
  redundancyMode,
  REDUNDANCY_MODES,
  type RedundancyMode,
} from './configuration.ts'
import { nameOf, type SimulatedProcess, zoneOf } from './process.ts'
import { fitness, type ProcessClass, type StatelessRole } from './process-class.ts'

/** A process that may get roles, with its class after `setclass`. */
export interface Candidate {
  readonly process: SimulatedProcess
  readonly processClass: ProcessClass
}

export type Placement = ReadonlyMap<StatelessRole, readonly string[]>

export interface Recruitment {
  /** IDs of the processes that get the role `log`. */
  readonly logs: readonly string[]
  /** IDs of the processes by stateless role. */
  readonly roles: Placement
}

interface Ranked extends Candidate {
  readonly rank: number
}

function rankedFor(candidates: readonly Candidate[], role: StatelessRole | 'log' | 'storage'): Ranked[] {
  return candidates
    .flatMap((candidate): Ranked[] => {
      const rank = fitness(candidate.processClass, role)
      return rank === undefined ? [] : [{ ...candidate, rank }]
    })
    .sort((a, b) => a.rank - b.rank || compareNames(a.process, b.process))
}

/** Orders by the bytes of the address, as FoundationDB's lists. Source: fdb-recordings 15/008. */
export function compareNames(a: SimulatedProcess, b: SimulatedProcess): number {
  return nameOf(a) < nameOf(b) ? -1 : 1
}

/** Whether the processes satisfy the redundancy mode's spread over zones and data halls. */
export function isSpread(processes: readonly SimulatedProcess[], mode: RedundancyMode, needed: number): boolean {
  const zones = new Set(processes.map(zoneOf))
  if (mode === 'three_data_hall') {
    const halls = processes.map(({ description }) => description.locality['data_hall'])
    return (
      !halls.includes(undefined) &&
      new Set(halls).size >= Math.min(needed, needed === 4 ? 2 : 3) &&
      zones.size >= needed
    )
  }
  return zones.size >= needed
}

function recruitLogs(candidates: readonly Candidate[], keys: ConfigurationKeys): string[] | undefined {
  const mode = redundancyMode(keys)
  const needed = REDUNDANCY_MODES[mode].logs
  const desired = Math.max(count(keys, 'logs', 3), needed)
  const chosen: Ranked[] = []
  for (const candidate of rankedFor(candidates, 'log')) {
    const spread = isSpread(
      chosen.map(({ process }) => process),
      mode,
      needed,
    )
    if (spread && (chosen.length >= desired || candidate.rank > (chosen.at(-1)?.rank ?? 0))) break
    const zones = new Set(chosen.map(({ process }) => zoneOf(process)))
    if (zones.has(zoneOf(candidate.process)) && !spread) continue
    chosen.push(candidate)
  }
  const processes = chosen.map(({ process }) => process)
  return isSpread(processes, mode, needed) ? processes.map(({ description }) => description.id) : undefined
}

/** With regions only processes of the leading region. Returns undefined if the processes do not suffice. */
export function recruit(candidates: readonly Candidate[], keys: ConfigurationKeys): Recruitment | undefined {
  const leading = leadingDatacenters(keys)
  if (leading.length === 0) return recruitFrom(candidates, keys)
  for (const id of leading) {
    const inside = candidates.filter(({ process }) => process.description.locality['dcid'] === id)
    const found = recruitFrom(inside, keys)
    if (found !== undefined) return withRemoteRegion(found, candidates, keys, id)
  }
  return undefined
}

/** With two usable regions, the second region has log routers and its own logs. */
function withRemoteRegion(
  { logs, roles }: Recruitment,
  candidates: readonly Candidate[],
  keys: ConfigurationKeys,
  leading: string,
): Recruitment {
  if (count(keys, 'usable_regions', 1) < 2) return { logs, roles }
  const remote = candidates.filter(({ process }) => process.description.locality['dcid'] !== leading)
  const routers = recruitStateless(remote, 'router', count(keys, 'log_routers', 1), new Map())
  return { logs: [...logs, ...(recruitLogs(remote, keys) ?? [])], roles: new Map([...roles, ['router', routers]]) }
}

function recruitFrom(candidates: readonly Candidate[], keys: ConfigurationKeys): Recruitment | undefined {
  const logs = recruitLogs(candidates, keys)
  if (logs === undefined) return undefined
  const load = new Map<string, number>(logs.map((id) => [id, 1]))
  const roles = new Map<StatelessRole, readonly string[]>()
  const wanted: readonly (readonly [StatelessRole, number])[] = [
    ['cluster_controller', 1],
    ['master', 1],
    ['commit_proxy', count(keys, 'commit_proxies', 3)],
    ['grv_proxy', count(keys, 'grv_proxies', 1)],
    ['resolver', count(keys, 'resolvers', 1)],
    ['data_distributor', 1],
    ['ratekeeper', 1],
  ]
  for (const [role, number] of wanted) {
    const chosen = recruitStateless(candidates, role, Math.max(1, number), load)
    if (chosen.length === 0) return undefined
    roles.set(role, chosen)
    for (const id of chosen) load.set(id, (load.get(id) ?? 0) + 1)
  }
  return { logs, roles }
}

/** Up to `number` processes of the best fit that at least one process has. */
export function recruitStateless(
  candidates: readonly Candidate[],
  role: StatelessRole,
  number: number,
  load: ReadonlyMap<string, number>,
): string[] {
  const ranked = rankedFor(candidates, role)
  const best = ranked.filter(({ rank }) => rank === ranked[0]?.rank)
  const weight = ({ process }: Candidate) => load.get(process.description.id) ?? 0
  return best
    .sort((a, b) => weight(a) - weight(b) || compareNames(a.process, b.process))
    .slice(0, number)
    .map(({ process }) => process.description.id)
}

/** Processes that should have the role `storage`: worse fits only if the better ones do not suffice. */
export function storageServers(candidates: readonly Candidate[], mode: RedundancyMode): SimulatedProcess[] {
  const needed = REDUNDANCY_MODES[mode].replicas
  const ranked = rankedFor(candidates, 'storage')
  const good = ranked.filter(({ rank }) => rank < 2).map(({ process }) => process)
  return isSpread(good, mode, needed) ? good : ranked.map(({ process }) => process)
}

/** Whether the second placement is strictly better for a role. A recovery then moves the roles. */
export function isBetter(candidates: readonly Candidate[], current: Placement, next: Placement): boolean {
  const classes = new Map(candidates.map(({ process, processClass }) => [process.description.id, processClass]))
  const worst = (placement: Placement, role: StatelessRole) =>
    Math.max(
      ...(placement.get(role) ?? []).map((id) => {
        const name = classes.get(id)
        return (name === undefined ? undefined : fitness(name, role)) ?? 9
      }),
    )
  return [...next.keys()].some((role) => worst(next, role) < worst(current, role))
}
