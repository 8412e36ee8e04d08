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
      alive: true,
      startedAt: state.now(),
      lostAt: state.now(),
      store: new Map(stored),
      storage: known?.storage,
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

  /** A process ended, whatever the reason. Its data directory may come back with it. */
  lose(id: string): void {
    const process = this.state.processes.get(id)
    if (process?.alive !== true) return
    process.alive = false
    process.lostAt = this.state.now()
    recoverFromLoss(this.state, id)
  }

  /** Lets the processes at these addresses exit. @returns addresses without a live process. */
  kill(addresses: readonly string[]): string[] {
    const live = this.state.aliveProcesses()
    const found = (address: string) => live.filter((process) => processNames(process).includes(address))
    for (const process of new Set(addresses.flatMap(found))) this.state.effects.exit(process.description.id)
    return addresses.filter((address) => found(address).length === 0)
  }

  /** What `kill` lists: each address of each live process, without `:tls`. */
  killable(): string[] {
    const names = this.state.aliveProcesses().flatMap(processNames)
    return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  }

  /** The process with this name. */
  named(address: string): SimulatedProcess | undefined {
    return this.state.aliveProcesses().find((process) => nameOf(process) === address)
  }
}

const processNames = ({ description }: SimulatedProcess) => description.addresses.map(withoutTls)
