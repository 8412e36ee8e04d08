// The data distributor: gives processes the role `storage`, and moves shards away from excluded and lost processes.
// Source: fdb-recordings 08 (exclude), 28, 29, 30 (loss), 07 (maintenance).

import { count, leadingDatacenters, mainDatacenter, REDUNDANCY_MODES, regionsOf } from './configuration.ts'
import { isNamedBy, type SimulatedProcess, zoneOf } from './process.ts'
import { isSpread, storageServers } from './recruitment.ts'
import { compareNames } from './recruitment.ts'
import type { Shard } from './shards.ts'
import type { State } from './state.ts'

const TICK_SECONDS = 0.25
/** How old the figures about data in status may be. Source: SURPRISES 23. */
const PUBLISH_SECONDS = 5
/** How long after its exclusion ended a process gets the role again. Source: fdb-recordings 08/031, 08/094. */
const ROLE_SECONDS = 4.5
/** How long the distributor waits before it copies the data of a lost process. Source: SURPRISES 22a. */
export const FAILURE_SECONDS = 65
/** Source: fdb-recordings 08/039 (29 MB in 12 s), 29/006 (41 MB in 30 s). */
const BYTES_PER_SECOND = 2_400_000
const MOVE_SECONDS = 0.3
/** A shard with more bytes is divided. Source: fdb-recordings 08/033 (two shards with 50 MB). */
const SPLIT_BYTES = 30_000_000

interface Move {
  readonly shard: Shard
  readonly team: readonly string[]
  readonly bytes: number
  readonly due: number
  /** The shard is a part of a divided one, which moves to another team. */
  readonly divided: boolean
}

export class Distributor {
  private move: Move | undefined
  private published: { replicas: number; at: number } | undefined
  private readonly eligibleSince = new Map<string, number>()
  /** Processes that lost the role because of an exclusion. */
  private readonly removed = new Set<string>()
  private readonly state: State

  constructor(state: State) {
    this.state = state
    this.schedule()
  }

  private schedule(): void {
    this.state.clock.after(TICK_SECONDS, () => {
      if (this.state.available) this.tick()
      this.schedule()
    })
  }

  /** The running move, for `data.moving_data`. */
  get moving(): { readonly bytes: number; readonly team: readonly string[] } | undefined {
    return this.move
  }

  private tick(): void {
    const { state } = this
    if (state.maintenance !== undefined && state.maintenance.until <= state.now()) state.maintenance = undefined
    this.assignRoles()
    if (this.move !== undefined && this.isNeedless(this.move)) this.move = undefined
    if (this.move !== undefined && this.move.due <= state.now()) this.finish(this.move)
    if (this.move === undefined && state.distribution) this.plan()
    this.dropRoles()
    if (this.published === undefined || state.now() - this.published.at >= PUBLISH_SECONDS) {
      this.published = { replicas: this.fewestReplicas(), at: state.now() }
    }
    state.changed()
  }

  /** Creates the first shard when the database is new, and gives eligible processes the role `storage`. */
  assignRoles(): void {
    const { state } = this
    const isNew = state.shards.shards.length === 0
    const servers = this.storageServers()
    for (const id of this.eligibleSince.keys()) {
      if (!servers.some(({ description }) => description.id === id)) this.eligibleSince.delete(id)
    }
    for (const process of servers) {
      const { id } = process.description
      const since = this.eligibleSince.get(id) ?? state.now()
      this.eligibleSince.set(id, since)
      if (!this.removed.has(id) || state.now() - since >= ROLE_SECONDS)
        process.storage ??= { id: state.randomText(16), since: state.now() }
    }
    if (!isNew) return
    const team = this.chooseTeam([])
    if (team !== undefined) state.shards.shards = [{ begin: '', team: [...team], stale: new Set() }]
  }

  private dropRoles(): void {
    const { state } = this
    const servers = this.storageServers()
    for (const process of state.processes.values()) {
      const { id } = process.description
      const used = state.shards.has(id) || this.move?.team.includes(id) === true
      if (process.storage !== undefined && !used && process.alive && !servers.includes(process)) {
        process.storage = undefined
        process.storageEndedAt = state.now()
        process.store.clear()
        this.removed.add(id)
      }
    }
  }

  /** With regions only processes of usable ones. */
  private storageServers(): SimulatedProcess[] {
    const { state } = this
    const keys = state.configuration ?? new Map<string, string>()
    const leading = leadingDatacenters(keys)
    const usable = regionsOf(keys).map((region) => mainDatacenter(region)?.id)
    const inside = count(keys, 'usable_regions', 1) > 1 ? usable : leading.slice(0, 1)
    const candidates = state
      .candidates()
      .filter(({ process }) => inside.length === 0 || inside.includes(process.description.locality['dcid']))
    return storageServers(candidates, state.mode())
  }

  /** Without regions every process is. */
  private isInLeadingRegion({ description }: SimulatedProcess): boolean {
    const [leading] = leadingDatacenters(this.state.configuration ?? new Map())
    return leading === undefined || description.locality['dcid'] === leading
  }

  /** Alive, or away so shortly that nothing is copied yet. */
  isHealthy(id: string): boolean {
    const { state } = this
    const process = state.processes.get(id)
    if (process === undefined) return state.now() - state.startedAt < FAILURE_SECONDS
    if (state.isExcluded(process)) return false
    const maintained = state.maintenance?.zone === zoneOf(process)
    return process.alive || maintained || state.now() - process.lostAt < FAILURE_SECONDS
  }

  /** The healthy replicas of the shard with the fewest, as of some seconds ago. */
  publishedReplicas(): number {
    return this.published?.replicas ?? this.fewestReplicas()
  }

  /** A move ends if its reason went away, for example when a process is included again. */
  private isNeedless({ shard, divided }: Move): boolean {
    const { replicas } = REDUNDANCY_MODES[this.state.mode()]
    return !divided && shard.team.length === replicas && shard.team.every((id) => this.isHealthy(id))
  }

  /** The healthy replicas of the shard with the fewest. */
  fewestReplicas(): number {
    return Math.min(...this.state.shards.shards.map(({ team }) => team.filter((id) => this.isHealthy(id)).length))
  }

  private plan(): void {
    const { state } = this
    for (const shard of state.shards.shards) {
      const members = shard.team.filter((id) => this.isHealthy(id))
      const needed = REDUNDANCY_MODES[state.mode()].replicas
      if (members.length === needed && shard.team.length === needed) continue
      const team = this.chooseTeam(members.slice(0, needed))
      const source = this.source(shard)
      if (team === undefined || source === undefined || sameMembers(team, shard.team)) continue
      const copies = team.filter((id) => !shard.team.includes(id)).length
      this.start(shard, team, copies === 0 ? 0 : state.shards.bytes(shard, source))
      return
    }
    this.divide()
  }

  private start(shard: Shard, team: readonly string[], bytes: number, divided = false): void {
    this.move = { shard, team, bytes, divided, due: this.state.now() + MOVE_SECONDS + bytes / BYTES_PER_SECOND }
  }

  /** A live process that holds the shard completely. */
  source(shard: Shard): SimulatedProcess | undefined {
    const id = shard.team.find((member) => this.state.isAlive(member) && !shard.stale.has(member))
    return id === undefined ? undefined : this.state.processes.get(id)
  }

  /** Adds storage servers to `members` until the redundancy is reached. Undefined if they do not suffice. */
  chooseTeam(members: readonly string[]): readonly string[] | undefined {
    const { state } = this
    const mode = state.mode()
    const { replicas } = REDUNDANCY_MODES[mode]
    const load = (process: SimulatedProcess) =>
      state.shards.shards.filter(({ team }) => team.includes(process.description.id)).length
    const candidates = [...state.aliveProcesses()]
      .filter(
        (process) => process.storage !== undefined && !state.isExcluded(process) && this.isInLeadingRegion(process),
      )
      .sort(compareNames)
    // The first process is often the only coordinator. The recorded databases put their first keys elsewhere.
    candidates.push(...candidates.splice(0, 1))
    candidates.sort((a, b) => load(a) - load(b))
    const team = members.flatMap((id) => state.processes.get(id) ?? [])
    for (const process of candidates) {
      if (team.length >= replicas) break
      const taken = team.some((member) => member === process || zoneOf(member) === zoneOf(process))
      const hall = process.description.locality['data_hall']
      const sameHall =
        mode === 'three_data_hall' && team.some(({ description }) => description.locality['data_hall'] === hall)
      if (!taken && !sameHall) team.push(process)
    }
    if (!isSpread(team, mode, replicas)) return undefined
    return team.map(({ description }) => description.id)
  }

  private finish({ shard, team, bytes }: Move): void {
    const { state } = this
    this.move = undefined
    const source = this.source(shard)
    if (source === undefined || !team.every((id) => state.isAlive(id) || shard.team.includes(id))) return
    for (const id of team.filter((member) => !shard.team.includes(member))) {
      const target = state.processes.get(id)
      if (target === undefined) continue
      state.shards.copy(shard, source, target)
      void persistShard(state, shard, target)
    }
    const dropped = shard.team.filter((id) => !team.includes(id))
    shard.team = [...team]
    state.writtenBytes += bytes
    for (const id of dropped) this.drop(shard, id)
  }

  private drop(shard: Shard, id: string): void {
    const { state } = this
    const process = state.processes.get(id)
    shard.stale.delete(id)
    if (process === undefined) return
    state.shards.drop(shard, process)
    if (process.alive) void persistShard(state, shard, process)
  }

  private divide(): void {
    const { state } = this
    for (const shard of state.shards.shards) {
      const source = this.source(shard)
      if (source === undefined || state.shards.bytes(shard, source) <= SPLIT_BYTES) continue
      const end = state.shards.endOf(shard)
      const keys = [...source.store.keys()].filter((key) => key >= shard.begin && key < end).sort()
      const middle = keys[Math.floor(keys.length / 2)]
      if (middle === undefined || middle === shard.begin) continue
      const upper = state.shards.split(shard, middle)
      const team = this.chooseTeam([])
      if (team !== undefined && !sameMembers(team, shard.team))
        this.start(upper, team, state.shards.bytes(upper, source), true)
      return
    }
  }

  /** Forgets what processes that are excluded as `failed` held. Shards without another replica become empty. */
  forgetFailed(): void {
    const { state } = this
    const isFailed = (id: string) => {
      const process = state.processes.get(id)
      return process !== undefined && [...state.failed].some((exclusion) => isNamedBy(process, exclusion))
    }
    for (const shard of state.shards.shards) {
      if (!shard.team.some(isFailed)) continue
      const members = shard.team.filter((id) => !isFailed(id))
      const team = members.length > 0 ? members : this.chooseTeam([])
      if (team === undefined) continue
      for (const id of shard.team.filter(isFailed)) this.drop(shard, id)
      shard.team = [...team]
      shard.stale = new Set([...shard.stale].filter((id) => team.includes(id)))
    }
  }

  /** Brings a process that came back up to date. */
  catchUp(process: SimulatedProcess): void {
    const { state } = this
    for (const shard of state.shards.shards) {
      if (!shard.stale.has(process.description.id)) continue
      const source = this.source(shard)
      if (source === undefined) continue
      state.shards.copy(shard, source, process)
      void persistShard(state, shard, process)
    }
  }
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id))
}

async function persistShard(state: State, shard: Shard, process: SimulatedProcess): Promise<void> {
  const end = state.shards.endOf(shard)
  const pairs = [...process.store].filter(([key]) => key >= shard.begin && key < end)
  await state.effects.persist(process.description.id, [
    { type: 'clear', begin: shard.begin, end },
    ...pairs.map(([key, value]) => ({ type: 'set' as const, key, value })),
  ])
}
