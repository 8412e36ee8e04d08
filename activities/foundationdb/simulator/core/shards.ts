// Which storage processes hold which keys. Data is stored per process: a shard whose processes are all gone is lost.
//
// S1. A key is readable while a live process of its shard's team holds it completely.
// S2. A move copies the keys first and drops them from the old team afterwards.

import { SYSTEM_END } from './byte-string.ts'
import type { SimulatedProcess } from './process.ts'

export interface Shard {
  /** First key. The shard ends where the next one begins. */
  readonly begin: string
  /** IDs of the processes that hold it. */
  team: string[]
  /** IDs of team members that missed a commit while they were away; they are copied again when they return. */
  stale: Set<string>
}

export class ShardMap {
  shards: Shard[] = []

  endOf(shard: Shard): string {
    return this.shards[this.shards.indexOf(shard) + 1]?.begin ?? `${SYSTEM_END}\xff`
  }

  of(key: string): Shard | undefined {
    return this.shards.findLast(({ begin }) => begin <= key)
  }

  /** The shards that overlap `begin` (inclusive) to `end` (exclusive). */
  overlapping(begin: string, end: string): Shard[] {
    return this.shards.filter((shard) => shard.begin < end && this.endOf(shard) > begin)
  }

  has(id: string): boolean {
    return this.shards.some(({ team }) => team.includes(id))
  }

  bytes(shard: Shard, process: SimulatedProcess): number {
    const end = this.endOf(shard)
    let sum = 0
    for (const [key, value] of process.store) if (key >= shard.begin && key < end) sum += key.length + value.length
    return sum
  }

  /** Replaces the content of the shard on `to` by the content on `from`. Without `from` the shard becomes empty. */
  copy(shard: Shard, from: SimulatedProcess | undefined, to: SimulatedProcess): void {
    this.drop(shard, to)
    const end = this.endOf(shard)
    for (const [key, value] of from?.store ?? []) if (key >= shard.begin && key < end) to.store.set(key, value)
    shard.stale.delete(to.description.id)
  }

  drop(shard: Shard, process: SimulatedProcess): void {
    const end = this.endOf(shard)
    for (const key of process.store.keys()) if (key >= shard.begin && key < end) process.store.delete(key)
  }

  /** Divides the shard before `key`. Both parts keep the team. */
  split(shard: Shard, key: string): Shard {
    const upper = { begin: key, team: [...shard.team], stale: new Set(shard.stale) }
    this.shards.splice(this.shards.indexOf(shard) + 1, 0, upper)
    return upper
  }
}
