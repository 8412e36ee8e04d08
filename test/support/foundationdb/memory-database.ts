// A FoundationDB database in memory, at the interface `Database` of the activities, for tests of the cluster controller. It records each effect as the
// words of fdbcli. Its processes are given by the test's Pods (cluster-world.ts).
//
//   D1. An exclusion is complete at once, except for process groups in `moving`.
//   D2. A lost storage process leaves one replica less for `HEALING_SECONDS`.
//   D3. Without a majority of coordinators, and while `isDown`, the database is unavailable and every command times out.

import type {
  Database,
  DatabaseProvider,
  KeyChange,
  ReadKey,
} from '../../../activities/foundationdb/database/database.ts'
import { CommandFailure, type ExclusionReport } from '../../../activities/foundationdb/database/fdbcli-output.ts'
import type { DatabaseStatus, ProcessStatus } from '../../../activities/foundationdb/database/status.ts'
import { hostOf, localityExclusion, parseAddress } from '../../../workflows/foundationdb/database/process-address.ts'
import { isLogClass } from '../../../workflows/foundationdb/contract.ts'
import { compactVersion, isProtocolCompatible } from '../../../workflows/foundationdb/model/version.ts'

/** Unix seconds. */
export interface Clock {
  seconds: number
}

export interface MemoryProcess {
  /** The number of the Kubernetes cluster. */
  readonly place: number
  readonly processGroup: string
  readonly processClass: string
  /** The IP. */
  readonly host: string
  /** `IP:port`, with `:tls` for TLS; the first is the address in the status. */
  readonly addresses: readonly string[]
  readonly commandLine: string
  readonly locality: Readonly<Record<string, string>>
  readonly version: string
  /** Unix seconds. */
  readonly started: number
}

const LONG_AGO_SECONDS = 10_000
const HEALING_SECONDS = 60
const COPIES: Readonly<Record<string, number>> = { single: 1, double: 2, triple: 3 }

export class MemoryDatabase implements Database {
  /** Such as `exclude no_wait locality_instance_id:storage-1`, in order. */
  readonly effects: string[] = []
  processes: readonly MemoryProcess[] = []
  readonly exclusions = new Set<string>()
  /** Process groups whose data has not moved away. */
  readonly moving = new Set<string>()
  /** Values by keys in Latin-1. */
  readonly keys = new Map<string, Uint8Array>()
  isDown = false
  /** Replaces fields of the status. */
  overrides: Partial<DatabaseStatus> = {}
  /** Is called with each effect. */
  onEffect: (effect: string) => void = () => undefined
  /** Each starts the missing processes of one Kubernetes cluster. */
  readonly monitors: (() => void)[] = []
  private readonly clock: Clock
  /** Unix seconds by process group. */
  private readonly storageSeen = new Map<string, number>()
  private configuration: Readonly<Record<string, unknown>> | undefined
  private coordinators: readonly string[] | undefined
  private description = ''
  private generation = 0
  private recovered: number

  constructor(clock: Clock) {
    this.clock = clock
    this.recovered = clock.seconds - LONG_AGO_SECONDS
  }

  /** An independent copy without monitors. */
  fork(clock: Clock): MemoryDatabase {
    const copy = new MemoryDatabase(clock)
    copy.effects.push(...this.effects)
    for (const target of this.exclusions) copy.exclusions.add(target)
    for (const id of this.moving) copy.moving.add(id)
    for (const [key, value] of this.keys) copy.keys.set(key, value)
    for (const [id, seen] of this.storageSeen) copy.storageSeen.set(id, seen)
    const { processes, isDown, overrides, configuration, coordinators, description, generation, recovered } = this
    Object.assign(copy, { processes, isDown, overrides, configuration, coordinators })
    const { firstConnection, clientVersion } = this
    return Object.assign(copy, { description, generation, recovered, firstConnection, clientVersion })
  }

  /** For activities. A database is created by `configure new` through the connection string of the call. */
  get provider(): DatabaseProvider {
    return {
      open: ({ connectionString, version }) => {
        this.clientVersion = version
        if (this.coordinators === undefined) {
          const [name = '', addresses = ''] = connectionString.split('@')
          this.description = name.split(':')[0] ?? ''
          this.generation = 0
          this.coordinators = addresses.split(',')
          this.firstConnection = connectionString
        }
        return this
      },
      isSupported: () => Promise.resolve(true),
      protocolOf: (version) => Promise.resolve(`protocol of ${compactVersion(version)}`),
    }
  }

  private firstConnection = ''
  private clientVersion = ''

  /** Tools of another protocol do not reach the processes. */
  private get isReadable(): boolean {
    const { processes, clientVersion } = this
    return processes.length === 0 || processes.some(({ version }) => isProtocolCompatible(version, clientVersion))
  }

  /** The number of calls of `status json`. */
  statusReads = 0

  status(): Promise<DatabaseStatus> {
    this.statusReads += 1
    return Promise.resolve({ ...this.statusNow(), ...this.overrides })
  }

  async configure(configuration: string, { isNew }: { readonly isNew: boolean }): Promise<void> {
    if (isNew && this.configuration !== undefined) {
      this.effects.push('configure new is refused')
      throw new CommandFailure('exists', 'the database exists already')
    }
    await this.perform(`configure ${isNew ? 'new ' : ''}${configuration}`, isNew)
    this.configuration = configurationIn(configuration)
  }

  async exclude(
    targets: readonly string[],
    { waits }: { readonly waits: boolean },
  ): Promise<readonly ExclusionReport[]> {
    await this.perform(`exclude ${waits ? '' : 'no_wait '}${targets.join(' ')}`)
    for (const target of targets) this.exclusions.add(target)
    const isMoving = targets.some((target) => [...this.moving].some((id) => target === localityExclusion(id)))
    if (waits && isMoving) throw new CommandFailure('timeout', 'exclude: fdbcli reached its time-out')
    return targets.map((target) => ({ target, state: isMoving ? 'in progress' : 'excluded' }))
  }

  async include(targets: readonly string[]): Promise<void> {
    await this.perform(`include ${targets.join(' ')}`)
    for (const target of targets) this.exclusions.delete(target)
  }

  async kill(addresses: readonly string[], { isUpgrade }: { readonly isUpgrade: boolean }): Promise<void> {
    await this.perform(`kill${isUpgrade ? ' twice' : ''} ${addresses.join(' ')}`)
    this.processes = this.processes.filter(
      (process) => !process.addresses.some((address) => addresses.includes(address.replace(/:tls$/, ''))),
    )
    for (const start of this.monitors) start()
  }

  async changeCoordinators(addresses: readonly string[]): Promise<string> {
    await this.perform(`coordinators ${addresses.join(' ')}`)
    this.coordinators = addresses
    this.generation++
    return await this.connectionString()
  }

  connectionString(): Promise<string> {
    return Promise.resolve(this.stored)
  }

  startMaintenance(zone: string, seconds: number): Promise<void> {
    return this.perform(`maintenance on ${zone} ${seconds}`)
  }

  endMaintenance(): Promise<void> {
    return this.perform('maintenance off')
  }

  readPrefix(prefix: Uint8Array) {
    const start = textOf(prefix)
    const found = [...this.keys]
      .filter(([key]) => key.startsWith(start))
      .sort(([one], [other]) => (one < other ? -1 : 1))
    return this.checked(() => found.map(([key, value]) => ({ key: Buffer.from(key, 'latin1'), value })))
  }

  write(changes: readonly KeyChange[]): Promise<void> {
    return this.checked(() => {
      this.change(changes)
    })
  }

  async transact(decide: (read: ReadKey) => Promise<readonly KeyChange[]>): Promise<void> {
    const values = new Map<string, Uint8Array | undefined>()
    const changes = await decide((key) =>
      this.checked(() => {
        const value = this.keys.get(textOf(key))
        values.set(textOf(key), value)
        return value
      }),
    )
    if (changes.length === 0) return
    await this.checked(() => {
      if ([...values].some(([key, value]) => this.keys.get(key) !== value))
        throw new CommandFailure('refused', 'commit: conflict with another transaction')
      this.change(changes)
    })
  }

  private change(changes: readonly KeyChange[]): void {
    for (const { key, value } of changes) {
      if (value === undefined) this.keys.delete(textOf(key))
      else this.keys.set(textOf(key), value)
    }
  }

  private get stored(): string {
    if (this.generation === 0) return this.firstConnection
    return `${this.description}:generation${this.generation}@${(this.coordinators ?? []).join(',')}`
  }

  private async perform(effect: string, isFirst = false): Promise<void> {
    await this.checked(() => {
      this.effects.push(effect)
      this.onEffect(effect)
    }, isFirst)
    if (!/^(?:include|maintenance)/.test(effect)) this.recovered = this.clock.seconds
  }

  /** D3 */
  private async checked<Value>(run: () => Value, isFirst = false): Promise<Value> {
    await Promise.resolve()
    if (this.isDown || !this.hasQuorum || (!isFirst && this.configuration === undefined))
      throw new CommandFailure('timeout', 'fdbcli reached its time-out')
    return run()
  }

  private reachable(coordinator: string): boolean {
    const [, name, port = ''] = /^([a-z][^:]*)(:.*)$/.exec(coordinator) ?? []
    return this.processes.some(({ addresses, locality }) =>
      name === undefined
        ? addresses.includes(coordinator)
        : locality['dns_name'] === name && addresses.some((address) => address.endsWith(port)),
    )
  }

  private get hasQuorum(): boolean {
    const { coordinators } = this
    if (coordinators === undefined) return true
    return coordinators.filter((one) => this.reachable(one)).length > coordinators.length / 2
  }

  private statusNow(): DatabaseStatus {
    const { coordinators = [], configuration } = this
    const isAvailable = !this.isDown && this.hasQuorum && this.isReadable && configuration !== undefined
    const processes =
      this.isDown || !this.hasQuorum || !this.isReadable ? [] : this.processes.map((one) => this.processStatus(one))
    const copies = COPIES[String(configuration?.['redundancy_mode'])] ?? 2
    const replicas = copies - this.lostStorage().length
    return {
      isAvailable,
      isHealthy: isAvailable,
      hasQuorum: this.hasQuorum,
      messages: [],
      configuration,
      coordinators: coordinators.map((address) => ({ address, isReachable: this.reachable(address) })),
      isUnconfigured: configuration === undefined,
      connectionString: isAvailable ? this.stored : undefined,
      exclusions: [...this.exclusions],
      processes,
      data: {
        name: 'healthy',
        isHealthy: isAvailable,
        minReplicasRemaining: replicas,
        highestPriority: 0,
        teams: [{ isPrimary: true, name: 'healthy', isHealthy: true, minReplicasRemaining: replicas }],
      },
      logs: [
        {
          isCurrent: true,
          remote: undefined,
          satellite: undefined,
          main: { faultTolerance: copies - 1, replicationFactor: copies },
        },
      ],
      recovery: {
        name: 'fully_recovered',
        activeGenerations: 1,
        secondsSince: this.clock.seconds - this.recovered,
      },
      hasFullReplication: true,
      maintenanceZone: undefined,
      clients: [],
      incompatibleConnections: [],
      lag: {
        storageLagSeconds: 0,
        storageDurabilityLagSeconds: 0,
        logQueueBytes: 0,
        storageQueueBytes: 0,
      },
      canCleanBounce: true,
    }
  }

  /** D2 */
  private lostStorage(): readonly string[] {
    const reported = new Set(this.processes.map(({ processGroup }) => processGroup))
    for (const { processGroup, processClass } of this.processes)
      if (processClass === 'storage') this.storageSeen.set(processGroup, this.clock.seconds)
    return [...this.storageSeen].flatMap(([id, seen]) => {
      const isHealed = this.exclusions.has(localityExclusion(id)) || this.clock.seconds - seen > HEALING_SECONDS
      return reported.has(id) || isHealed ? [] : [id]
    })
  }

  private processStatus(process: MemoryProcess): ProcessStatus {
    const { processGroup, processClass, addresses, commandLine, locality, version, started } = process
    const [address = ''] = addresses
    const parsed = parseAddress(address)
    const isExcluded =
      this.exclusions.has(localityExclusion(processGroup)) ||
      (parsed !== undefined && this.exclusions.has(hostOf(parsed)))
    const role = isLogClass(processClass) ? 'log' : processClass
    return {
      address,
      processClass,
      commandLine,
      locality,
      version,
      isExcluded,
      isUnderMaintenance: false,
      runLoopBusy: 0,
      messages: [],
      uptimeSeconds: this.clock.seconds - started,
      roles: isExcluded && !this.moving.has(processGroup) ? [] : [{ role }],
    }
  }
}

/** `double ssd-2 usable_regions=1 logs=3 regions=[]` as `cluster.configuration`. */
function configurationIn(text: string): Readonly<Record<string, unknown>> {
  const [redundancy_mode, storage_engine, ...settings] = text.split(' ')
  const pairs = settings.map((one) => one.split(/:?=/, 2) as [string, string])
  const values = pairs.map(([name, value]) => [name, name === 'regions' ? regionsIn(value) : Number(value)] as const)
  return { redundancy_mode, storage_engine, ...Object.fromEntries(values) }
}

function regionsIn(text: string): unknown {
  return JSON.parse(text.replaceAll(/\\(["'\\])/g, '$1')) as unknown
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1')
}
