// The simulated fdbserver: one process with a data directory, which registers with the leader found through the
// coordinators of its cluster file. One of the processes leads and runs the simulation.

import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'

import { openClusterFile } from '../cli/cluster-file.ts'
import type { Host } from '../cli/context.ts'
import { outsidePath } from '../container-root.ts'
import { clusterFileText, type ConnectionString, formatConnectionString } from '../core/connection-string.ts'
import type { ProcessDescription } from '../core/process.ts'
import { runInScope } from '../core/request-scope.ts'
import type { ServerEvent } from '../protocol.ts'
import { protocolOf, versionText } from '../version.ts'
import { readServerArguments, type ServerArguments } from './arguments.ts'
import { Coordinator } from './coordinator.ts'
import { DataDirectory } from './data-directory.ts'
import { findLeader, keyOf } from './find-leader.ts'
import { type Connection, readLines, send } from './json-lines.ts'
import { Leader } from './leader.ts'
import { Leadership } from './leadership.ts'

const RETRY_MS = 50
/** A leader that is to exit first sends the other processes their events. */
const EXIT_MS = 30

export interface ServerHost extends Host {
  /** Shown as `command_line` in status. */
  readonly commandLine: string
}

/** Runs until the database lets the process exit. @returns the exit code. */
export async function fdbserver(argv: readonly string[], host: ServerHost): Promise<number> {
  if (argv.includes('--version') || argv.includes('-v')) {
    host.stdout(versionText('FoundationDB', host.version))
    return 0
  }
  if (argv.includes('--help') || argv.includes('-h')) {
    host.stdout(`FoundationDB 7.1 (v${host.version})\nUsage: fdbserver -p ADDRESS [OPTIONS]\n`)
    return 0
  }
  const given = readServerArguments(argv)
  if (typeof given === 'string') {
    host.stderr(given)
    return 1
  }
  for (const warning of given.warnings) host.stderr(warning)
  seedClusterFile(given, host)
  const file = openClusterFile(given.clusterFile, host)
  if (typeof file === 'string') {
    host.stderr(`${file}Error: ${/: \d+ (.*)\n$/.exec(file)?.[1] ?? ''}\n`)
    return 10
  }
  const process = new ServerProcess(given, host, file.path, file.connection)
  return await process.run()
}

function seedClusterFile({ clusterFile, seedClusterFile }: ServerArguments, { environment }: ServerHost): void {
  if (clusterFile === undefined || seedClusterFile === undefined) return
  const [file, seed] = [clusterFile, seedClusterFile].map((path) => outsidePath(path, environment))
  if (file === undefined || seed === undefined || existsSync(file) || !existsSync(seed)) return
  mkdirSync(dirname(file), { recursive: true })
  copyFileSync(seed, file)
}

class ServerProcess {
  private readonly directory: DataDirectory
  private readonly coordinator: Coordinator
  private readonly leadership: Leadership
  private leader: Leader | undefined
  private connection: ConnectionString
  private fileUpToDate = true
  private joined = false
  private member: Connection | undefined
  private exit: (code: number) => void = () => undefined
  private readonly given: ServerArguments
  private readonly host: ServerHost
  private readonly path: string

  constructor(given: ServerArguments, host: ServerHost, path: string, connection: ConnectionString) {
    this.given = given
    this.host = host
    this.path = path
    this.connection = connection
    this.directory = new DataDirectory(
      outsidePath(given.dataDirectory, host.environment),
      randomBytes(16).toString('hex'),
    )
    this.coordinator = new Coordinator(this.directory)
    this.leadership = new Leadership({
      address: given.publicAddresses[0],
      key: (current) => this.key(current),
      coordinator: this.coordinator,
      connection: () => this.connection,
    })
  }

  private key(connection: ConnectionString): string {
    return `${protocolOf(this.host.version)}/${keyOf(connection)}`
  }

  async run(): Promise<number> {
    const ended = new Promise<number>((resolve) => {
      this.exit = resolve
    })
    const servers = await Promise.all(this.given.listenAddresses.map(async (address) => await this.listen(address)))
    void this.lead()
    void this.follow()
    const code = await ended
    this.leadership.stop()
    this.member?.close()
    for (const server of servers) server.close()
    return code
  }

  private async listen(address: string) {
    const match = /^\[?(.+?)\]?:(\d+)(?::tls)?$/.exec(address)
    const server = createServer((socket) => {
      readLines(socket, (message) => {
        void this.answer(message, socket)
      })
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host: match?.[1] ?? '127.0.0.1', port: Number(match?.[2] ?? 4500) }, resolve)
    })
    return server
  }

  private async lead(): Promise<void> {
    const saved = await this.leadership.elected()
    // The leader before ended while it changed the coordinators.
    const isChanging =
      saved !== undefined && formatConnectionString(saved.connection) !== formatConnectionString(this.connection)
    if (isChanging) await this.leadership.prepare(saved.connection)
    this.leader = new Leader(this.connection, saved, {
      clock: this.host.clock,
      leadership: this.leadership,
      incompatible: () => this.coordinator.incompatible(),
      changeConnection: (next) => {
        this.changeLeadersConnection(next)
      },
    })
    if (isChanging) this.changeLeadersConnection(saved.connection)
  }

  private changeLeadersConnection(next: ConnectionString): void {
    this.changeConnection(next)
    void this.leadership.moveVotes()
  }

  private async answer(message: Record<string, unknown>, socket: Socket): Promise<void> {
    const { id, op, params } = message as { id: number; op: string; params: never }
    try {
      const result = await this.perform(op, params, socket)
      if (result === undefined) socket.destroy()
      else send(socket, { id, result })
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      send(socket, { id, error: { code, message: error instanceof Error ? error.message : String(error) } })
    }
  }

  /** Undefined: this process cannot answer, the connection ends. */
  private async perform(op: string, params: never, socket: Socket): Promise<unknown> {
    const { leader } = this
    if (op === 'locate') {
      const { key, process } = params as { key: string; process?: string }
      if (process !== undefined) this.coordinator.notice(process, key, this.key(this.connection))
      return this.coordinator.locate(key)
    }
    if (op === 'vote') {
      const { key, candidate } = params as { key: string; candidate: string }
      return this.coordinator.vote(key, candidate, socket)
    }
    if (op === 'save') {
      this.coordinator.save((params as { state: never }).state)
      return true
    }
    if (leader === undefined) return undefined
    const result = await this.performAsLeader(leader, op, params, socket)
    await leader.settled()
    return result
  }

  private async performAsLeader(leader: Leader, op: string, params: never, socket: Socket): Promise<unknown> {
    if (op === 'client') return leader.addClient((params as { logGroup: string }).logGroup, socket)
    if (op === 'register') {
      const { description, stored } = params as { description: ProcessDescription; stored: [string, string][] }
      leader.register(description, stored, socket)
      return true
    }
    if (op === 'update') {
      leader.database.update((params as { description: ProcessDescription }).description)
      return true
    }
    if (op === 'persisted') {
      leader.persisted(socket, (params as { number: number }).number)
      return true
    }
    if (!Object.hasOwn(leader.handlers, op)) return undefined
    const handler = leader.handlers[op as keyof typeof leader.handlers] as (given: never) => unknown
    const scope = { closed: false }
    socket.once('close', () => {
      scope.closed = true
    })
    return await runInScope(scope, () => handler(params))
  }

  private describe(): ProcessDescription {
    return {
      id: this.directory.processId,
      addresses: this.given.publicAddresses,
      processClass: this.given.processClass,
      locality: this.given.locality,
      commandLine: this.host.commandLine,
      version: this.host.version,
      memoryBytes: this.given.memoryBytes,
      storageMemoryBytes: this.given.storageMemoryBytes,
      clusterFileUpToDate: this.fileUpToDate,
    }
  }

  /** Registers with the leader, again after each loss of the connection. */
  private async follow(): Promise<void> {
    for (;;) {
      const found = await findLeader(this.connection, {
        key: (connection) => this.key(connection),
        process: this.given.publicAddresses[0],
      })
      if (found !== undefined) await this.stayWith(found.connection)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }

  private async stayWith(connection: Connection): Promise<void> {
    this.member = connection
    connection.onEvent = (event) => {
      this.receive(event, connection)
    }
    const closed = new Promise<void>((resolve) => {
      connection.onClose = resolve
    })
    try {
      await connection.request('register', { description: this.describe(), stored: this.directory.loadKeys() })
      if (!this.joined) this.host.stdout('FDBD joined cluster.\n')
      this.joined = true
      await closed
    } catch {
      connection.close()
    }
  }

  private receive(event: ServerEvent, connection: Connection): void {
    if (event.event === 'exit') {
      setTimeout(
        () => {
          this.exit(0)
        },
        this.leader === undefined ? 0 : EXIT_MS,
      )
    } else if (event.event === 'connection') this.changeConnection(event.connection)
    else {
      this.directory.append(event.mutations)
      connection.request('persisted', { number: event.number }).catch(() => undefined)
    }
  }

  private changeConnection(next: ConnectionString): void {
    const before = this.connection
    if (formatConnectionString(before) === formatConnectionString(next)) return
    this.connection = next
    this.coordinator.forward(this.key(before), formatConnectionString(next))
    const wasUpToDate = this.fileUpToDate
    try {
      this.host.writeFile(this.path, clusterFileText(next))
      this.fileUpToDate = true
    } catch {
      this.fileUpToDate = false
    }
    if (wasUpToDate !== this.fileUpToDate) {
      this.member?.request('update', { description: this.describe() }).catch(() => undefined)
    }
  }
}
