// A database in memory for tests of the controllers: processes derive from Pods that run, each with the command line of its last start. It records the
// commands that change it. It stands at the seam `Database`; the tools and their simulation are tested elsewhere.

import type { Database, DatabaseProvider, KeyChange } from '../../../activities/foundationdb/database/database.ts'
import { CommandFailure } from '../../../activities/foundationdb/database/fdbcli-output.ts'
import type { DatabaseStatus, ProcessStatus } from '../../../activities/foundationdb/database/status.ts'

/** A process that a running Pod starts. */
export interface RunningProcess {
  readonly pod: string
  readonly address: string
  readonly processClass: string
  /** With which it would start now. */
  readonly commandLine: string
  readonly version: string
  readonly locality: Readonly<Record<string, string>>
}

export class MemoryDatabase {
  /** Effects in order, such as `configure new double ssd-2 ...`. */
  readonly effects: string[] = []
  readonly exclusions = new Set<string>()
  readonly keys = new Map<string, Uint8Array>()
  configuration: Record<string, unknown> | undefined
  connectionString: string
  isAvailable = true
  isReadable = true
  isDataHealthy = true
  uptimeSeconds = 60_000
  secondsSinceRecovery = 1000
  /** IDs of process groups whose data has not moved away yet. */
  readonly holding = new Set<string>()
  /** IDs of process groups whose processes do not report. */
  readonly missing = new Set<string>()
  readonly clients: { clientVersion: string; protocolVersion: string; address: string }[] = []
  readonly #started = new Map<string, { readonly commandLine: string; readonly version: string }>()
  readonly #processes: () => readonly RunningProcess[]
  #changes = 0

  constructor(connectionString: string, processes: () => readonly RunningProcess[]) {
    this.connectionString = connectionString
    this.#processes = processes
  }

  provider(versions: Readonly<Record<string, string>> = { '7.1.67': 'fdb00b071010000' }): DatabaseProvider {
    return {
      open: () => this.#database(),
      isSupported: (version) => Promise.resolve(version in versions),
      protocolOf: (version) => Promise.resolve(versions[version] ?? ''),
    }
  }

  /** A process keeps the command line of its start until it is killed or its Pod is gone. */
  processes(): readonly ProcessStatus[] {
    const running = this.#processes()
    for (const key of this.#started.keys()) if (!running.some((one) => keyOf(one) === key)) this.#started.delete(key)
    return running
      .filter(({ locality }) => !this.missing.has(locality['instance_id'] ?? ''))
      .map((process) => this.#statusOf(process))
  }

  #statusOf(process: RunningProcess): ProcessStatus {
    const { address, processClass, locality } = process
    const started = this.#started.get(keyOf(process)) ?? process
    this.#started.set(keyOf(process), started)
    const id = locality['instance_id'] ?? ''
    const host = address.replace(/:\d+(?::tls)?$/, '')
    const isExcluded = this.exclusions.has(`locality_instance_id:${id}`) || this.exclusions.has(host)
    const isCoordinator = this.connectionString.split('@')[1]?.split(',').includes(address) === true
    return {
      address,
      processClass,
      locality,
      isExcluded,
      commandLine: started.commandLine,
      version: started.version,
      isUnderMaintenance: false,
      uptimeSeconds: this.uptimeSeconds,
      runLoopBusy: 0,
      roles: [
        ...(isCoordinator ? [{ role: 'coordinator' }] : []),
        ...(isExcluded && !this.holding.has(id) ? [] : [{ role: processClass }]),
      ],
      messages: [],
    }
  }

  #database(): Database {
    const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')
    const apply = (changes: readonly KeyChange[]) => {
      for (const { key, value } of changes) {
        if (value === undefined) this.keys.delete(text(key))
        else this.keys.set(text(key), value)
      }
    }
    const run = (effect: string, change: () => void) => {
      if (!this.isAvailable) return Promise.reject(new CommandFailure('timeout', 'fdbcli reached its time-out'))
      this.effects.push(effect)
      change()
      return Promise.resolve()
    }
    return {
      status: () =>
        this.isReadable
          ? Promise.resolve(this.status())
          : Promise.reject(new CommandFailure('timeout', 'status json: fdbcli reached its time-out')),
      configure: (configuration, { isNew }) => {
        if (isNew && this.configuration !== undefined)
          return Promise.reject(new CommandFailure('exists', 'configure: the database exists already'))
        return run(`configure ${isNew ? 'new ' : ''}${configuration}`, () => {
          this.configuration = { ...this.configuration, ...parsed(configuration) }
        })
      },
      exclude: async (targets, { waits }) => {
        if (!targets.every((target) => this.exclusions.has(target)))
          await run(`exclude ${targets.join(' ')}`, () => {
            targets.forEach((target) => this.exclusions.add(target))
          })
        return targets.map((target) => {
          const isHeld = [...this.holding].some((id) => target.endsWith(`:${id}`))
          return { target, state: isHeld && waits ? ('in progress' as const) : ('excluded' as const) }
        })
      },
      include: (targets) =>
        run(`include ${targets.join(' ')}`, () => {
          targets.forEach((target) => this.exclusions.delete(target))
        }),
      kill: (addresses) =>
        run(`kill ${addresses.join(' ')}`, () => {
          for (const process of this.#processes())
            if (addresses.includes(process.address.replace(/:tls$/, ''))) this.#started.delete(keyOf(process))
        }),
      changeCoordinators: async (addresses) => {
        await run(`coordinators ${addresses.join(' ')}`, () => {
          const [description = ''] = this.connectionString.split(':')
          this.connectionString = `${description}:changed${++this.#changes}@${addresses.join(',')}`
        })
        return this.connectionString
      },
      connectionString: () => Promise.resolve(this.connectionString),
      startMaintenance: (zone, seconds) => run(`maintenance on ${zone} ${seconds}`, () => undefined),
      endMaintenance: () => run('maintenance off', () => undefined),
      readPrefix: (prefix) =>
        Promise.resolve(
          [...this.keys]
            .filter(([key]) => key.startsWith(text(prefix)))
            .map(([key, value]) => ({ key: Buffer.from(key, 'latin1'), value })),
        ),
      write: (changes) => {
        apply(changes)
        return Promise.resolve()
      },
      transact: (keys, decide) =>
        Promise.resolve().then(() => {
          if (!this.isAvailable) throw new CommandFailure('timeout', 'fdbcli reached its time-out')
          const decision = decide(keys.map((key) => this.keys.get(text(key))))
          apply(decision.changes)
          return decision
        }),
    }
  }

  status(): DatabaseStatus {
    const isConfigured = this.configuration !== undefined
    const replicas = this.configuration?.['redundancy_mode'] === 'triple' ? 3 : 2
    const processes = this.processes()
    return {
      isAvailable: this.isAvailable && isConfigured,
      isHealthy: true,
      hasQuorum: true,
      coordinators: (this.connectionString.split('@')[1] ?? '').split(',').map((address) => ({
        address,
        isReachable: processes.some((process) => process.address === address),
      })),
      messages: [],
      isUnconfigured: !isConfigured,
      connectionString: this.connectionString,
      configuration: this.configuration,
      exclusions: [...this.exclusions],
      processes,
      data: {
        name: 'healthy',
        isHealthy: this.isDataHealthy,
        minReplicasRemaining: replicas,
        highestPriority: 0,
        teams: [{ isPrimary: true, name: 'healthy', isHealthy: true, minReplicasRemaining: replicas }],
      },
      logs: [
        {
          isCurrent: true,
          main: { faultTolerance: replicas - 1, replicationFactor: replicas },
          remote: undefined,
          satellite: undefined,
        },
      ],
      recovery: { name: 'fully_recovered', activeGenerations: 1, secondsSince: this.secondsSinceRecovery },
      hasFullReplication: true,
      maintenanceZone: undefined,
      clients: this.clients.map(({ clientVersion, protocolVersion, address }) => ({
        clientVersion,
        protocolVersion,
        clients: [{ address, logGroup: 'default' }],
      })),
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
}

function keyOf({ pod, address }: RunningProcess): string {
  return `${pod} ${address}`
}

/** The live configuration after `configure`. */
function parsed(configuration: string): Record<string, unknown> {
  const [redundancy_mode, storage_engine, ...settings] = configuration.split(' ')
  const values = settings.map((setting) => {
    const [name = '', text = ''] = setting.split(/:?=(.*)/s)
    if (name === 'regions') return [name, JSON.parse(text.replaceAll('\\', '')) as unknown] as const
    return [name, /^-?\d+$/.test(text) ? Number(text) : text] as const
  })
  return { redundancy_mode, storage_engine, ...Object.fromEntries(values) }
}
