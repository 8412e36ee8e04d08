// One Pawl of a test's own: a database, a task queue, a namespace, a bridge and a worker as real processes on the shared servers.
// Several live side by side on one API server, because each follows only its own namespace.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, closeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import type { Kysely } from 'kysely'
import pg from 'pg'
import { type Database, openDatabase } from '../../activities/journal/database.ts'
import { migrateUp } from '../../activities/journal/migrate.ts'
import type { TestServers } from './servers.ts'

export interface PawlOptions {
  readonly name: string
  readonly servers: TestServers
  /** The namespace that this Pawl follows. */
  readonly namespace: string
  /** Kubeconfig for the worker alone, e.g. one that leads through a proxy. */
  readonly workerKubeconfig?: string
  readonly workerFlags?: readonly string[]
}

// Time-outs short enough for tests that kill workers. Source: issue text "1-2 s in these tests".
const FAST = [
  '--wake-lease-ms',
  '1500',
  '--sweep-ms',
  '1500',
  '--workflow-task-timeout-ms',
  '1500',
  '--sticky-timeout-ms',
  '1000',
]

let count = 0

export class Pawl {
  readonly options: PawlOptions
  readonly databaseUrl: string
  readonly taskQueue: string
  readonly db: Kysely<Database>
  readonly client: Client
  readonly #connection: Connection
  readonly #dir = mkdtempSync(join(tmpdir(), 'pawl-e2e-'))
  readonly #children = new Map<string, ChildProcess>()

  private constructor(options: PawlOptions, databaseUrl: string, connection: Connection) {
    this.options = options
    this.databaseUrl = databaseUrl
    this.taskQueue = new URL(databaseUrl).pathname.slice(1)
    this.db = openDatabase(databaseUrl, 4)
    this.#connection = connection
    this.client = new Client({ connection })
  }

  /** Makes the database and starts bridge and worker; returns when both are ready. */
  static async start(options: PawlOptions): Promise<Pawl> {
    const database = `pawl_${options.name.replaceAll('-', '_')}_${process.pid}_${++count}`
    const admin = new pg.Client({ connectionString: options.servers.databaseUrl })
    await admin.connect()
    await admin.query(`create database ${database}`)
    await admin.end()
    const url = new URL(options.servers.databaseUrl)
    url.pathname = `/${database}`
    await migrateUp(url.href)
    const connection = await Connection.connect({ address: options.servers.temporalAddress })
    const pawl = new Pawl(options, url.href, connection)
    await Promise.all([pawl.startBridge(), pawl.startWorker()])
    return pawl
  }

  async startBridge(name = 'bridge'): Promise<void> {
    const { servers, namespace } = this.options
    const flags = ['--kubeconfig', servers.kubeconfigPath, '--database-url', this.databaseUrl, '--namespace', namespace]
    await this.#spawn(name, 'bridge.ts', [...flags, '--lease-ms', '1500'])
  }

  async startWorker(name = 'worker'): Promise<void> {
    const { servers, workerKubeconfig, workerFlags = [] } = this.options
    const flags = ['--kubeconfig', workerKubeconfig ?? servers.kubeconfigPath, '--database-url', this.databaseUrl]
    const temporal = ['--temporal-address', servers.temporalAddress, '--task-queue', this.taskQueue]
    const bundle = ['--workflow-bundle', servers.workflowBundle]
    await this.#spawn(name, 'reconciler.ts', [...flags, ...temporal, ...bundle, ...FAST, ...workerFlags])
  }

  /** The process of a part, to be stopped or killed by its pid. */
  child(name: string): ChildProcess {
    const child = this.#children.get(name)
    if (child === undefined) throw new Error(`${name} was not started`)
    return child
  }

  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.child(name)
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  log(name: string): string {
    return readFileSync(join(this.#dir, `${name}.log`), 'utf8')
  }

  async stop(): Promise<void> {
    for (const child of this.#children.values()) child.kill('SIGCONT')
    await Promise.all([...this.#children.keys()].map((name) => this.kill(name, 'SIGTERM')))
    await this.db.destroy()
    await this.#connection.close()
  }

  async #spawn(name: string, file: string, args: readonly string[]): Promise<void> {
    const path = join(this.#dir, `${name}.log`)
    const before = sizeOf(path)
    const fd = openSync(path, 'a')
    const child = spawn(process.execPath, [join('worker', file), ...args], { stdio: ['ignore', fd, fd] })
    closeSync(fd)
    this.#children.set(name, child)
    const deadline = Date.now() + 30_000
    while (!readFileSync(path, 'utf8').slice(before).includes('is running"')) {
      if (child.exitCode !== null) throw new Error(`${name} ended at once:\n${readFileSync(path, 'utf8').slice(-2000)}`)
      if (Date.now() > deadline)
        throw new Error(`${name} is not running after 30 s:\n${readFileSync(path, 'utf8').slice(-2000)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

function sizeOf(path: string): number {
  try {
    return readFileSync(path, 'utf8').length
  } catch {
    return 0
  }
}
