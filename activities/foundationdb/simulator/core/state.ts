// The state of a simulated database. The other modules of this folder change it and call `changed`.
//
// T1. The coordinators persist `CoordinatedState`; everything else is known again when the processes register.
// T2. Without a connection to a majority of the coordinators no recovery completes.

import type { Clock } from './clock.ts'
import type { ConnectionString } from './connection-string.ts'
import { type ConfigurationKeys, redundancyMode } from './configuration.ts'
import { isNamedBy, nameOf, type SimulatedProcess } from './process.ts'
import { type ProcessClass, processClass, type StatelessRole } from './process-class.ts'
import type { Candidate } from './recruitment.ts'
import { currentScope, type RequestScope } from './request-scope.ts'
import { ShardMap } from './shards.ts'

export type Phase =
  | 'configuration_never_created'
  | 'configuration_invalid'
  | 'locking_coordinated_state'
  | 'recruiting_transaction_servers'
  | 'accepting_commits'
  | 'all_logs_recruited'
  | 'fully_recovered'

export interface LogInterface {
  readonly process: string
  readonly id: string
  readonly address: string
}

export interface LogGeneration {
  readonly epoch: number
  readonly interfaces: readonly LogInterface[]
  readonly replicas: number
  readonly begin: number
  end: number | undefined
}

export type Mutation =
  | { readonly type: 'set'; readonly key: string; readonly value: string }
  | { readonly type: 'clear'; readonly begin: string; readonly end: string }

/** Effects of the simulation on processes and files. */
export interface Effects {
  /** Persists changes of the keys that a process holds. Resolves when they are on disk. */
  readonly persist: (process: string, mutations: readonly Mutation[]) => Promise<void>
  /** Makes the process exit with code 0. */
  readonly exit: (process: string) => void
  /** Before the change of a connection string: its coordinators get the state. @returns whether most of them have it. */
  readonly prepare: (connection: ConnectionString) => Promise<boolean>
  /** Announces a new connection string to all processes, which write their cluster files. */
  readonly announce: (connection: ConnectionString) => void
  /** Persists the state on the coordinators. */
  readonly save: (state: CoordinatedState) => void
}

export interface CoordinatedState {
  readonly connection: ConnectionString
  readonly configuration: readonly (readonly [string, string])[] | undefined
  readonly generation: number
  readonly logs: readonly LogGeneration[]
  readonly shards: readonly { readonly begin: string; readonly team: string[]; readonly stale: string[] }[]
  readonly exclusions: readonly string[]
  readonly failed: readonly string[]
  readonly classes: readonly (readonly [string, ProcessClass])[]
  readonly lockUid: string | undefined
  readonly tenants: readonly string[]
  readonly queued: readonly (readonly [process: string, mutations: readonly Mutation[]])[]
  readonly version: number
}

interface Waiting {
  readonly test: () => boolean
  readonly resolve: () => void
  readonly scope: RequestScope | undefined
}

export class State {
  readonly processes = new Map<string, SimulatedProcess>()
  readonly shards = new ShardMap()
  configuration: ConfigurationKeys | undefined
  phase: Phase = 'configuration_never_created'
  generation = 1
  /** When commits were accepted after the last recovery. */
  acceptedAt = 0
  recoveryReady = true
  /** The newest generation first; older ones are drained until the recovery is complete. */
  logs: LogGeneration[] = []
  roles = new Map<StatelessRole, readonly string[]>()
  readonly roleIds = new Map<string, string>()
  exclusions = new Set<string>()
  failed = new Set<string>()
  classes = new Map<string, ProcessClass>()
  maintenance: { zone: string; until: number } | undefined
  lockUid: string | undefined
  tenants: string[] = []
  consistencyCheck = true
  distribution = true
  /** Until this time the data distributor counts the data again. */
  initializingUntil = 0
  /** Random text that changes with each exclusion by address. */
  exclusionCounter: string | undefined
  writtenBytes = 0
  /** Commits for processes that are away, while no live process holds the shard. */
  queued = new Map<string, readonly Mutation[]>()
  /** When the second of two usable regions has a copy of all data. Undefined: one usable region. */
  remoteReadyAt: number | undefined
  private lastVersion = 0
  private savedText = ''
  private waiting: Waiting[] = []

  readonly clock: Clock
  readonly random: () => number
  readonly effects: Effects
  connection: ConnectionString

  constructor(
    connection: ConnectionString,
    parts: { readonly clock: Clock; readonly random: () => number; readonly effects: Effects },
  ) {
    this.connection = connection
    this.clock = parts.clock
    this.random = parts.random
    this.effects = parts.effects
    this.startedAt = parts.clock.now()
  }

  readonly startedAt: number

  get available(): boolean {
    return ['accepting_commits', 'all_logs_recruited', 'fully_recovered'].includes(this.phase)
  }

  now(): number {
    return this.clock.now()
  }

  /** A version that is greater than all previous ones; about a million per second. */
  nextVersion(): number {
    this.lastVersion = Math.max(
      this.lastVersion + 1,
      Math.floor((this.now() - this.startedAt) * 1e6) + this.versionBase,
    )
    return this.lastVersion
  }

  private versionBase = 0

  /** Hexadecimal digits, or letters and digits, chosen by the seeded generator. */
  randomText(length: number, alphabet = '0123456789abcdef'): string {
    return Array.from({ length }, () => alphabet[Math.floor(this.random() * alphabet.length)] ?? '0').join('')
  }

  roleId(key: string): string {
    const known = this.roleIds.get(key) ?? this.randomText(16)
    this.roleIds.set(key, known)
    return known
  }

  aliveProcesses(): SimulatedProcess[] {
    return [...this.processes.values()].filter(({ alive }) => alive)
  }

  isAlive(id: string): boolean {
    return this.processes.get(id)?.alive === true
  }

  byAddress(address: string): SimulatedProcess | undefined {
    return this.aliveProcesses().find(({ description }) => description.addresses.includes(address))
  }

  coordinatorsReachable(): boolean[] {
    return this.connection.coordinators.map((address) => this.byAddress(address) !== undefined)
  }

  hasQuorum(): boolean {
    const reachable = this.coordinatorsReachable()
    return reachable.filter(Boolean).length > reachable.length / 2
  }

  isExcluded(process: SimulatedProcess): boolean {
    return [...this.exclusions, ...this.failed].some((exclusion) => isNamedBy(process, exclusion))
  }

  classOf(process: SimulatedProcess): ProcessClass {
    return this.classes.get(nameOf(process)) ?? process.description.processClass
  }

  /** Live processes that may get roles. */
  candidates(withExcluded = false): Candidate[] {
    return this.aliveProcesses()
      .filter((process) => withExcluded || !this.isExcluded(process))
      .map((process) => ({ process, processClass: this.classOf(process) }))
  }

  mode(): ReturnType<typeof redundancyMode> {
    return redundancyMode(this.configuration ?? new Map())
  }

  /** Resolves as soon as `test` holds. It is evaluated after each change. Never resolves for a client that went away. */
  async until(test: () => boolean): Promise<void> {
    if (test()) return
    const scope = currentScope()
    await new Promise<void>((resolve) => {
      this.waiting.push({ test, resolve, scope })
    })
  }

  changed(): void {
    this.save()
    const open = this.waiting.filter(({ scope }) => scope?.closed !== true)
    const ready = open.filter(({ test }) => test())
    this.waiting = open.filter((each) => !ready.includes(each))
    for (const { resolve } of ready) resolve()
  }

  private save(): void {
    const text = JSON.stringify(this.coordinated(0))
    if (text === this.savedText) return
    this.savedText = text
    this.effects.save(this.coordinated(this.lastVersion))
  }

  private coordinated(version: number): CoordinatedState {
    return {
      connection: this.connection,
      configuration: this.configuration && [...this.configuration],
      generation: this.generation,
      logs: this.logs,
      shards: this.shards.shards.map(({ begin, team, stale }) => ({ begin, team, stale: [...stale] })),
      exclusions: [...this.exclusions],
      failed: [...this.failed],
      classes: [...this.classes],
      lockUid: this.lockUid,
      tenants: this.tenants,
      queued: [...this.queued],
      version,
    }
  }

  /** Continues with the state that the coordinators persisted. The processes have to register again. */
  restore(saved: CoordinatedState): void {
    this.connection = saved.connection
    this.configuration = saved.configuration === undefined ? undefined : new Map(saved.configuration)
    this.generation = saved.generation
    this.logs = saved.logs.map((generation) => ({ ...generation }))
    this.shards.shards = saved.shards.map(({ begin, team, stale }) => ({ begin, team, stale: new Set(stale) }))
    this.exclusions = new Set(saved.exclusions)
    this.failed = new Set(saved.failed)
    this.classes = new Map(saved.classes.filter(([, name]) => processClass(name) !== undefined))
    this.lockUid = saved.lockUid
    this.tenants = [...saved.tenants]
    this.queued = new Map(saved.queued)
    this.versionBase = saved.version + 100_000_000
    if (this.configuration !== undefined) this.phase = 'locking_coordinated_state'
  }
}
