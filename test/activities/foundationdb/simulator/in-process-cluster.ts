// A simulated database with its processes and tools in one process, on a virtual clock.

import type { TlsOptions } from '../../../../activities/foundationdb/simulator/cli/arguments.ts'
import type { Host } from '../../../../activities/foundationdb/simulator/cli/context.ts'
import { fdbcli } from '../../../../activities/foundationdb/simulator/cli/fdbcli.ts'
import {
  ConnectionLost,
  type Gateway,
  type Session,
} from '../../../../activities/foundationdb/simulator/cli/gateway.ts'
import {
  clientHandlers,
  type ClientHandlers,
} from '../../../../activities/foundationdb/simulator/core/client-requests.ts'
import { VirtualClock } from '../../../../activities/foundationdb/simulator/core/clock.ts'
import {
  clusterFileText,
  type ConnectionString,
  formatConnectionString,
  parseConnectionString,
} from '../../../../activities/foundationdb/simulator/core/connection-string.ts'
import { Database } from '../../../../activities/foundationdb/simulator/core/database.ts'
import type { ProcessDescription } from '../../../../activities/foundationdb/simulator/core/process.ts'
import type { ProcessClass } from '../../../../activities/foundationdb/simulator/core/process-class.ts'
import { runInScope } from '../../../../activities/foundationdb/simulator/core/request-scope.ts'
import { DEFAULT_VERSION } from '../../../../activities/foundationdb/simulator/version.ts'

export interface ProcessPlan {
  readonly address: string
  readonly processClass: ProcessClass
  readonly locality: Readonly<Record<string, string>>
  /** Further public addresses. */
  readonly more?: readonly string[]
  /** Its cluster file cannot be changed. */
  readonly readOnlyFile?: boolean
}

export interface ToolResult {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
  /** Seconds of the virtual clock. */
  readonly seconds: number
}

const CLIENT = { address: '127.0.0.1:34078', logGroup: 'default' }
/** 2026-11-27 12:00 UTC. */
const WALL_START = 1_795_780_800

export class InProcessCluster {
  readonly clock = new VirtualClock()
  readonly files = new Map<string, string>()
  readonly readOnly = new Set<string>()
  readonly database: Database
  /** Starts processes again after this time, as fdbmonitor does. */
  restartAfter: number | undefined
  private readonly handlers: ClientHandlers
  private readonly plans = new Map<string, ProcessPlan>()
  private readonly formerKeys = new Set<string>()
  private sessionsLost = 0
  private seed = 42

  constructor(connection: string) {
    const parsed = parseConnectionString(connection)
    if (parsed === undefined) throw new Error(`no connection string: ${connection}`)
    this.database = new Database(parsed, {
      clock: this.clock,
      random: () => this.random(),
      effects: {
        persist: async () => {
          // The keys of a process are in its record.
        },
        exit: (process) => {
          this.exit(process)
        },
        prepare: () => Promise.resolve(true),
        announce: (next) => {
          this.announce(next)
        },
        save: () => undefined,
      },
    })
    this.formerKeys.add(keyOf(parsed))
    this.handlers = clientHandlers(this.database, {
      clients: () => [CLIENT],
      incompatible: () => [],
      wallSeconds: () => this.wallSeconds(),
    })
  }

  private random(): number {
    this.seed = (this.seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return this.seed / 2_147_483_648
  }

  private wallSeconds(): number {
    return WALL_START + this.clock.now()
  }

  start(plan: ProcessPlan): void {
    this.plans.set(plan.address, plan)
    const { state } = this.database
    this.database.register(this.describe(plan), state.processes.get(idOf(plan.address))?.store ?? new Map())
  }

  private describe(plan: ProcessPlan): ProcessDescription {
    return {
      id: idOf(plan.address),
      addresses: [plan.address, ...(plan.more ?? [])],
      processClass: plan.processClass,
      locality: plan.locality,
      commandLine: `$DIR/bin/fdbserver --class=${plan.processClass} --public_address=${plan.address}`,
      version: DEFAULT_VERSION,
      memoryBytes: 1_073_741_824,
      storageMemoryBytes: 200_000_000,
      clusterFileUpToDate: plan.readOnlyFile !== true || this.formerKeys.size === 1,
    }
  }

  /** SIGKILL: nothing starts it again. */
  stop(address: string): void {
    this.database.lose(idOf(address))
  }

  /** Starts a stopped process again with its data directory. */
  restart(address: string): void {
    const plan = this.plans.get(address)
    if (plan === undefined) throw new Error(`no process was started at ${address}`)
    this.start(plan)
  }

  /** The process and its data directory are gone. */
  destroy(address: string): void {
    this.stop(address)
    this.database.state.processes.get(idOf(address))?.store.clear()
  }

  private exit(id: string): void {
    const plan = [...this.plans.values()].find(({ address }) => idOf(address) === id)
    this.clock.after(0, () => {
      if (this.database.state.roles.get('cluster_controller')?.includes(id) === true) this.sessionsLost++
      this.database.lose(id)
      if (plan !== undefined && this.restartAfter !== undefined) {
        this.clock.after(this.restartAfter, () => {
          this.start(plan)
        })
      }
    })
  }

  private announce(next: ConnectionString): void {
    this.formerKeys.add(keyOf(next))
    for (const plan of this.plans.values()) this.database.update(this.describe(plan))
  }

  private gateway(tls: TlsOptions): Gateway {
    const isAllowed = (address: string) => !address.endsWith(':tls') || this.hasTls(tls)
    const isReachable = (address: string) => isAllowed(address) && this.database.state.byAddress(address) !== undefined
    return {
      isReachable: (address) => Promise.resolve(isReachable(address)),
      open: (wanted) => {
        const found = wanted.coordinators.some(isReachable) && this.formerKeys.has(keyOf(wanted))
        return Promise.resolve(found ? this.session() : undefined)
      },
    }
  }

  private hasTls({ certificate, key, ca, peers }: TlsOptions): boolean {
    const exists = (path: string | undefined) => path !== undefined && this.files.has(path)
    return exists(certificate) && exists(key) && exists(ca) && (peers === undefined || !peers.includes('nobody'))
  }

  private session(): Session {
    const opened = this.sessionsLost
    const scope = { closed: false }
    return {
      connection: this.database.state.connection,
      request: async (operation, params) => {
        if (this.sessionsLost !== opened) throw new ConnectionLost('the cluster controller ended')
        const handler = this.handlers[operation] as (given: unknown) => unknown
        return (await runInScope(scope, () => handler(params))) as never
      },
      close: () => {
        scope.closed = true
      },
    }
  }

  /** Runs fdbcli until it ends, or until `limit` seconds passed (exit -9). */
  async fdbcli(
    argv: readonly string[],
    given: { readonly stdin?: string; readonly environment?: Record<string, string>; readonly limit?: number } = {},
  ): Promise<ToolResult> {
    const output = { stdout: '', stderr: '' }
    const began = this.clock.now()
    const host = this.host(output, given.stdin ?? '', given.environment ?? {})
    const run = { exit: undefined as number | undefined, error: undefined as unknown }
    fdbcli(argv, host, (tls) => this.gateway(tls)).then(
      (exit) => {
        run.exit = exit
      },
      (error: unknown) => {
        run.error = error
        run.exit = 99
      },
    )
    await this.advance(given.limit ?? 600, () => run.exit !== undefined)
    if (run.error !== undefined) throw run.error as Error
    return { exit: run.exit ?? -9, ...output, seconds: this.clock.now() - began }
  }

  /** Lets time pass, until `done` holds. */
  async advance(seconds: number, done: () => boolean = () => false): Promise<void> {
    const limit = this.clock.now() + seconds
    for (;;) {
      await settle()
      if (done()) return
      if (!this.clock.runNext(limit)) break
    }
    this.clock.set(limit)
    await settle()
  }

  private host(output: { stdout: string; stderr: string }, stdin: string, environment: Record<string, string>): Host {
    const lines = stdin.split('\n').slice(0, -1)
    return {
      version: DEFAULT_VERSION,
      clock: this.clock,
      timeScale: 1,
      environment,
      stdout: (text) => {
        output.stdout += text
      },
      stderr: (text) => {
        output.stderr += text
      },
      input: {
        next: () => {
          const value = lines.shift()
          return Promise.resolve(value === undefined ? { done: true, value: undefined } : { done: false, value })
        },
      },
      readFile: (path) => {
        const text = this.files.get(path)
        if (text === 'DIRECTORY') throw Object.assign(new Error(path), { code: 'EISDIR' })
        if (text === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' })
        return text
      },
      writeFile: (path, text) => {
        if (this.readOnly.has(path)) throw Object.assign(new Error(path), { code: 'EPERM' })
        this.files.set(path, text)
      },
      isDirectory: (path) => this.files.get(path) === 'DIRECTORY',
      random: () => this.random(),
      wallSeconds: () => this.wallSeconds(),
    }
  }

  /** Writes a cluster file with the present connection string. */
  writeClusterFile(path: string): void {
    this.files.set(path, clusterFileText(this.database.state.connection))
  }

  get connectionText(): string {
    return formatConnectionString(this.database.state.connection)
  }
}

const keyOf = ({ description, id }: ConnectionString) => `${description}:${id}`

/** 32 hexadecimal digits from an address. */
function idOf(address: string): string {
  return Buffer.from(address).toString('hex').padEnd(32, '0').slice(-32)
}

/** Runs all promise reactions that are due. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
