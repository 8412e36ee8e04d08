// Reads and commits of a simulated database.
//
// X1. A commit is acknowledged after every live process that holds a changed key has persisted it.
// X2. A commit for a process that is away marks it as stale if a live replica has the commit; otherwise the coordinators
//   keep the commit for the process (`queued`).
// X3. A transaction conflicts if a key that it read was written after its read version.

import { keyAfter, SYSTEM_END, USER_END } from './byte-string.ts'
import { DatabaseError } from './database-error.ts'
import type { SimulatedProcess } from './process.ts'
import type { Shard } from './shards.ts'
import { systemRows } from './system-keys.ts'
import type { Mutation, State } from './state.ts'

export interface ReadOptions {
  readonly lockAware?: boolean
  readonly systemKeys?: boolean
}

export type KeyRange = readonly [begin: string, end: string]

export interface Commit extends ReadOptions {
  readonly readVersion?: number
  readonly reads: readonly KeyRange[]
  readonly mutations: readonly Mutation[]
}

interface Write {
  readonly version: number
  readonly range: KeyRange
}

/** Versions of the last 5 s can be read; a million versions are a second. */
const WINDOW_VERSIONS = 5_000_000
const EXTENT = (mutation: Mutation): KeyRange =>
  mutation.type === 'set' ? [mutation.key, keyAfter(mutation.key)] : [mutation.begin, mutation.end]

export function applyMutation(store: Map<string, string>, mutation: Mutation): void {
  if (mutation.type === 'set') store.set(mutation.key, mutation.value)
  else for (const key of store.keys()) if (key >= mutation.begin && key < mutation.end) store.delete(key)
}

export class Transactions {
  private writes: Write[] = []
  private readonly state: State

  constructor(state: State) {
    this.state = state
  }

  /** Waits until the database is available. */
  async readVersion({ lockAware = false }: ReadOptions = {}): Promise<number> {
    const { state } = this
    await state.until(() => state.available)
    if (state.lockUid !== undefined && !lockAware) throw new DatabaseError(1038)
    return state.nextVersion()
  }

  /** Whether a live process holds all keys of the range. */
  isReadable(begin: string, end: string): boolean {
    const { shards } = this.state
    if (shards.shards.length === 0) return false
    return shards.overlapping(begin, end).every((shard) => this.sourceOf(shard.team, shard.stale) !== undefined)
  }

  private sourceOf(team: readonly string[], stale: ReadonlySet<string>): SimulatedProcess | undefined {
    const id = team.find((member) => this.state.isAlive(member) && !stale.has(member))
    return id === undefined ? undefined : this.state.processes.get(id)
  }

  /** Pairs in order of their keys. Waits until the range is readable. `limit` 0: no limit. */
  async range(begin: string, end: string, limit: number, options: ReadOptions): Promise<[string, string][]> {
    const { state } = this
    checkLegal(begin, end, options)
    await state.until(() => state.available && this.isReadable(begin, end))
    if (state.lockUid !== undefined && options.lockAware !== true) throw new DatabaseError(1038)
    const rows = state.shards.overlapping(begin, end).flatMap(({ team, stale }) => {
      const store = this.sourceOf(team, stale)?.store ?? new Map<string, string>()
      return [...store].filter(([key]) => key >= begin && key < end)
    })
    const system = end > USER_END ? systemRows(state).filter(([key]) => key >= begin && key < end) : []
    const unique = new Map([...rows, ...system])
    const sorted = [...unique].sort(([a], [b]) => (a < b ? -1 : 1))
    return limit === 0 ? sorted : sorted.slice(0, limit)
  }

  /** @returns the version of the commit. */
  async commit({ readVersion, reads, mutations, ...options }: Commit): Promise<number> {
    const { state } = this
    for (const mutation of mutations) checkLegal(...EXTENT(mutation), options)
    // A new database has no place for keys until the data distributor chose the first team.
    await state.until(() => state.available && state.shards.shards.length > 0)
    if (state.lockUid !== undefined && options.lockAware !== true) throw new DatabaseError(1038)
    const version = state.nextVersion()
    if (readVersion !== undefined) this.checkConflicts(readVersion, reads, version)
    this.writes = this.writes.filter((write) => write.version > version - WINDOW_VERSIONS)
    this.writes.push(...mutations.map((mutation) => ({ version, range: EXTENT(mutation) })))
    const persisted = this.apply(mutations)
    // Saves what the coordinators keep for processes that are away.
    state.changed()
    await Promise.all(persisted)
    return version
  }

  private checkConflicts(readVersion: number, reads: readonly KeyRange[], version: number): void {
    if (readVersion < version - WINDOW_VERSIONS) throw new DatabaseError(1007)
    const overlaps = ([begin, end]: KeyRange, [from, to]: KeyRange) => begin < to && from < end
    const newer = this.writes.filter((write) => write.version > readVersion)
    if (newer.some(({ range }) => reads.some((read) => overlaps(read, range)))) throw new DatabaseError(1020)
  }

  private apply(mutations: readonly Mutation[]): Promise<void>[] {
    const { state } = this
    const byProcess = new Map<string, Mutation[]>()
    for (const mutation of mutations) {
      for (const shard of state.shards.overlapping(...EXTENT(mutation))) {
        const part = clip(mutation, shard.begin, state.shards.endOf(shard))
        for (const id of this.distribute(shard, part)) byProcess.set(id, [...(byProcess.get(id) ?? []), part])
      }
    }
    return [...byProcess].map(async ([id, parts]) => {
      const store = state.processes.get(id)?.store
      if (store !== undefined) for (const part of parts) applyMutation(store, part)
      await state.effects.persist(id, parts)
    })
  }

  /** @returns the live members of the shard's team; keeps the change for the others. */
  private distribute(shard: Shard, part: Mutation): string[] {
    const live = shard.team.filter((id) => this.state.isAlive(id) && !shard.stale.has(id))
    for (const id of shard.team.filter((member) => !live.includes(member))) {
      if (live.length > 0) shard.stale.add(id)
      else this.state.queued.set(id, [...(this.state.queued.get(id) ?? []), part])
    }
    return live
  }

  /** Applies commits that happened while the process was away. */
  async catchUp(process: SimulatedProcess): Promise<void> {
    const parts = this.state.queued.get(process.description.id)
    if (parts === undefined) return
    this.state.queued.delete(process.description.id)
    for (const part of parts) applyMutation(process.store, part)
    await this.state.effects.persist(process.description.id, parts)
  }
}

function clip(mutation: Mutation, begin: string, end: string): Mutation {
  if (mutation.type === 'set') return mutation
  return {
    type: 'clear',
    begin: mutation.begin < begin ? begin : mutation.begin,
    end: mutation.end > end ? end : mutation.end,
  }
}

function checkLegal(begin: string, end: string, { systemKeys = false }: ReadOptions): void {
  const limit = systemKeys ? SYSTEM_END : USER_END
  if (begin > limit || end > keyAfter(limit) || (begin === limit && end > limit)) throw new DatabaseError(2004)
}
