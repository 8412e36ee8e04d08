// A simulated database: processes register and are lost, clients send requests.
//
// D1. The same calls at the same times give the same results: time comes from the clock, randomness from the seed.

import { withoutTls } from './connection-string.ts'
import { Distributor } from './distribution.ts'
import { nameOf, type ProcessDescription, type SimulatedProcess } from './process.ts'
import { recoverFromLoss, recoverIfBetter, retryRecovery } from './recovery.ts'
import { State } from './state.ts'
import { Transactions } from './transactions.ts'

/** How long after a process registered roles may move to it. */
const BETTER_SECONDS = 1

export class Database {
  readonly state: State
  readonly transactions: Transactions
  readonly distributor: Distributor

  constructor(...args: ConstructorParameters<typeof State>) {
    this.state = new State(...args)
    this.transactions = new Transactions(this.state)
    this.distributor = new Distributor(this.state)
  }

  /** A process started; `stored` are the keys in its data directory. */
  register(description: ProcessDescription, stored: Iterable<readonly [string, string]>): void {
    const { state } = this
    const known = state.processes.get(description.id)
    const process: SimulatedProcess = {
      description,
      incarnation: state.randomText(16),
      alive: true,
      startedAt: state.now(),
      lostAt: state.now(),
      store: new Map(stored),
      storage: known?.storage,
      storageEndedAt: known?.storageEndedAt ?? -Infinity,
    }
    state.processes.set(description.id, process)
    if (state.shards.has(description.id)) process.storage ??= { id: state.randomText(16), since: state.now() }
    void this.transactions.catchUp(process)
    this.distributor.catchUp(process)
    if (state.available) this.distributor.assignRoles()
    retryRecovery(state)
    state.clock.after(BETTER_SECONDS, () => {
      recoverIfBetter(state)
    })
    state.changed()
  }

  /** A process changed what it says about itself, for example after it wrote its cluster file. */
  update(description: ProcessDescription): void {
    const process = this.state.processes.get(description.id)
    if (process !== undefined) process.description = description
  }

  /** A process ended, by itself or by a kill. It may start again with the same data directory. */
  lose(id: string): void {
    const process = this.state.processes.get(id)
    if (process?.alive !== true) return
    process.alive = false
    process.lostAt = this.state.now()
    recoverFromLoss(this.state, id)
  }

  /** Lets the processes of these incarnations exit, if they still run. */
  kill(incarnations: readonly string[]): void {
    for (const { description, incarnation } of this.state.aliveProcesses()) {
      if (incarnations.includes(incarnation)) this.state.effects.exit(description.id)
    }
  }

  /** Live processes, except testers, which clients do not see. Source: fdb-recordings 15/007, 15/008. */
  workers(): SimulatedProcess[] {
    return this.state.aliveProcesses().filter((process) => this.state.classOf(process) !== 'test')
  }

  /** Each address of each live process, without `:tls`, with the incarnation of the process. */
  killable(): [address: string, incarnation: string][] {
    const pairs = this.workers().flatMap((process) =>
      processNames(process).map((name): [string, string] => [name, process.incarnation]),
    )
    return pairs.sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /** The process with this name. */
  named(address: string): SimulatedProcess | undefined {
    return this.state.aliveProcesses().find((process) => nameOf(process) === address)
  }
}

const processNames = ({ description }: SimulatedProcess) => description.addresses.map(withoutTls)
