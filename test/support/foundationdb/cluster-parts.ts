// One database in several Kubernetes clusters, each with its own controller. The controllers take turns, and each effect is recorded with the holder of
// the lock.

import type { ClusterSpec } from '../../../workflows/foundationdb/cluster/kind.ts'
import { parseConnectionString } from '../../../workflows/foundationdb/database/connection-string.ts'
import { unpackTuple } from '../../../workflows/foundationdb/database/tuple.ts'
import { LOCK_KEY_PREFIX } from '../../../workflows/foundationdb/model/cluster-settings.ts'
import { ClusterWorld } from './cluster-world.ts'

/** An effect on the database, or a pass that deletes Pods for an update. */
export interface TracedEffect {
  /** The lock ID of the controller. */
  readonly by: string
  /** The lock ID in the database; undefined: no controller has the lock. */
  readonly holder: unknown
  readonly effect: string
}

const LONG_UPTIME_SECONDS = 1000

export class ClusterParts {
  readonly worlds: readonly ClusterWorld[]
  /** The controller that creates the database. */
  readonly first: ClusterWorld
  private readonly trace: TracedEffect[] = []
  private running = ''

  private constructor(first: ClusterWorld, others: readonly ClusterWorld[]) {
    this.first = first
    this.worlds = [first, ...others]
    first.database.onEffect = (effect) => {
      this.record(effect)
    }
    for (const world of this.worlds) world.nodeOf = (_, count) => `${idOf(world)}-node-${count}`
  }

  /** Creates the database in the first Kubernetes cluster; the others have not begun. @param specs with different prefixes. */
  static async create(spec: Partial<ClusterSpec>, ...specs: readonly Partial<ClusterSpec>[]): Promise<ClusterParts> {
    const lockOptions = { disableLocks: false }
    const first = new ClusterWorld({ lockOptions, ...spec })
    while (first.target.status?.configured !== true) await first.pass()
    const { database, clock } = first
    const seedConnectionString = first.target.status.connectionString ?? ''
    const others = specs.map(
      (one, at) => new ClusterWorld({ lockOptions, seedConnectionString, ...one }, { database, clock, place: at + 2 }),
    )
    return new ClusterParts(first, others)
  }

  change(spec: Partial<ClusterSpec>): void {
    for (const world of this.worlds) world.change(spec)
  }

  /** Runs one pass of each controller. @returns whether all have reconciled their generation and request no other pass. */
  async round(): Promise<boolean> {
    let isComplete = true
    for (const world of this.worlds) {
      this.running = idOf(world)
      const { ended, events } = await world.pass()
      if (events.some(({ reason }) => reason === 'UpdatingPods')) this.record('remove Pods')
      isComplete &&= ended !== undefined && world.generations.reconciled === world.target.metadata.generation
    }
    return isComplete
  }

  /** Then lets the processes run for a long time. @throws a plain Error after `most` rounds. */
  async settle(most = 100): Promise<void> {
    for (let count = 0; count < most; count++) {
      if (!(await this.round())) continue
      this.first.clock.seconds += LONG_UPTIME_SECONDS
      return
    }
    const states = this.worlds.map(({ condition, generations }) => JSON.stringify([condition, generations]))
    throw new Error(`not reconciled after ${most} rounds: ${states.join('\n')}`)
  }

  takeTrace(): readonly TracedEffect[] {
    return this.trace.splice(0)
  }

  /** The number of coordinators by a locality, such as `{ dc1: 3 }`. */
  coordinatorsBy(locality: string): Readonly<Record<string, number>> {
    const { target, database } = this.first
    const counts: Record<string, number> = {}
    for (const address of parseConnectionString(target.status?.connectionString ?? '').coordinators) {
      const found = database.processes.find(({ addresses }) => addresses.includes(address))
      const place = found?.locality[locality] ?? 'unknown'
      counts[place] = (counts[place] ?? 0) + 1
    }
    return counts
  }

  private record(effect: string): void {
    const lock = this.first.database.keys.get(`${LOCK_KEY_PREFIX}/global`)
    this.trace.push({ by: this.running, holder: lock && unpackTuple(lock)[0], effect })
  }
}

function idOf({ target }: ClusterWorld): string {
  return target.spec.processGroupIDPrefix ?? ''
}
