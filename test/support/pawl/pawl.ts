// Runs a Pawl for one test file: a database, a task queue, a namespace, and bridge and worker as processes on the
// shared servers. Several can run at the same time, because each watches only its namespace.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, openSync, readFileSync, closeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Database, openDatabase } from '../../../activities/journal/database.ts'
import { migrateUp } from '../../../activities/journal/migrate.ts'
import type { KubeObject } from '../../../activities/kube/client.ts'
import { childEnvironment, processArgs } from '../../../worker/server/config.ts'
import { accountsOf, type Accounts } from '../rights/accounts.ts'
import type { TestServers } from '../servers/servers.ts'

export interface PawlOptions {
  readonly name: string
  readonly servers: TestServers
  /** The watched namespace. Undefined: all namespaces, which needs a separate cluster (tenants.ts). */
  readonly namespace: string | undefined
  /** Default: accounts with the shipped or generated roles. */
  readonly accounts?: Accounts
  /** The worker's kubeconfig, for example through a proxy. */
  readonly workerKubeconfig?: string
  readonly bridgeKubeconfig?: string
  readonly workerFlags?: readonly string[]
  readonly bridgeFlags?: readonly string[]
  /** A module of controllers in level mode. The worker then bundles the workflows. */
  readonly controllers?: string
  /** The folder of an installed package. Default: the checkout. */
  readonly installed?: string
  /** The clock offset of a process in milliseconds, by its name. */
  readonly clocksMs?: Readonly<Record<string, number>>
  /** Environment variables of a process, by its name. */
  readonly environments?: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** The folder of another checkout. Its worker bundles its own workflows. */
  readonly checkout?: string | undefined
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

/** Time limit for states of the journal. */
const JOURNAL_WAIT_MS = 90_000

// The start of a process takes 2 s, and more than 30 s on a busy machine.
const START_LIMIT_MS = 90_000

const SHIFTED_CLOCK = new URL('shifted-clock.js', import.meta.url).href

/** The application name of the test's database connections. */
export const TEST_APPLICATION = 'pawl-test'

/** The value of --target-allow: without it, Targets must not use loopback addresses. */
export const LISTED_TARGETS = '127.0.0.1'

let count = 0

export class Pawl {
  #options: PawlOptions
  readonly databaseUrl: string
  readonly taskQueue: string
  readonly db: Kysely<Database>
  readonly client: Client
  #isKeyed = false
  readonly #connection: Connection
  readonly #accounts: Accounts
  readonly #dir = mkdtempSync(join(tmpdir(), 'pawl-e2e-'))
  readonly #children = new Map<string, ChildProcess>()

  private constructor(options: PawlOptions, databaseUrl: string, connection: Connection, accounts: Accounts) {
    this.#options = options
    this.#accounts = accounts
    this.databaseUrl = databaseUrl
    this.taskQueue = new URL(databaseUrl).pathname.slice(1)
    this.db = openDatabase(`${databaseUrl}?application_name=${TEST_APPLICATION}`, 4)
    this.#connection = connection
    this.client = new Client({ connection })
  }

  /** Creates the database, starts bridge and worker, and waits until both are ready. */
  static async start(options: PawlOptions): Promise<Pawl> {
    const database = `pawl_${options.name.replaceAll('-', '_')}_${process.pid}_${++count}`
    const admin = new pg.Client({ connectionString: options.servers.databaseUrl })
    await admin.connect()
    // Nobody can connect to template0. A process of the server in template1, such as autovacuum, makes the command fail.
    await admin.query(`create database ${database} template template0`)
    await admin.end()
    const url = new URL(options.servers.databaseUrl)
    url.pathname = `/${database}`
    await migrateUp(url.href)
    const connection = await Connection.connect({ address: options.servers.temporalAddress })
    const accounts = options.accounts ?? (await accountsOf(options.servers, options))
    const pawl = new Pawl(options, url.href, connection, accounts)
    const starts = await Promise.allSettled([pawl.startBridge(), pawl.startWorker()])
    const failed = starts.find((start) => start.status === 'rejected')
    if (failed === undefined) return pawl
    await pawl.stop()
    throw failed.reason
  }

  get options(): PawlOptions {
    return this.#options
  }

  /**
   * Later starts use this checkout. Undefined: the present checkout. Keeps the content key, because open jobs contain
   * hashes that use the key.
   */
  useCheckout(checkout: string | undefined): void {
    this.#isKeyed = this.#levelFlags().length > 0
    this.#options = { ...this.#options, checkout }
  }

  /** @param own additional flags of this bridge. */
  async startBridge(name = 'bridge', own: readonly string[] = []): Promise<void> {
    const { namespace, bridgeKubeconfig = this.#accounts.bridge, bridgeFlags = [] } = this.options
    const levels = this.#levelFlags()
    const flags = ['--kubeconfig', bridgeKubeconfig, '--database-url', this.databaseUrl]
    const scope = namespace === undefined ? [] : ['--namespace', namespace]
    await this.#spawn(name, 'bridge.ts', [...flags, ...scope, '--lease-ms', '1500', ...levels, ...bridgeFlags, ...own])
  }

  /**
   * @param kubeconfig default: the kubeconfig of the first worker.
   * @param own additional flags of this worker.
   */
  async startWorker(
    name = 'worker',
    kubeconfig = this.options.workerKubeconfig,
    own: readonly string[] = [],
  ): Promise<void> {
    const { servers, workerFlags = [] } = this.options
    const flags = ['--kubeconfig', kubeconfig ?? this.#accounts.worker, '--database-url', this.databaseUrl]
    const temporal = ['--temporal-address', servers.temporalAddress, '--task-queue', this.taskQueue]
    const levels = this.#levelFlags()
    const targets =
      workerFlags.includes('--wings') || !this.#knows('--target-allow') ? [] : ['--target-allow', LISTED_TARGETS]
    const bundle = levels.length > 0 ? levels : ['--workflow-bundle', servers.workflowBundle]
    await this.#spawn(name, 'reconciler.ts', [
      ...flags,
      ...temporal,
      ...bundle,
      ...FAST,
      ...targets,
      ...workerFlags,
      ...own,
    ])
  }

  /** Whether the checkout's page of flags has the flag. An older release may lack it, and has another page. */
  #knows(flag: string): boolean {
    const { checkout } = this.options
    if (checkout === undefined) return true
    const pages = ['docs/reference/flags.md', 'docs/guides/operate.md'].map((page) => join(checkout, page))
    const page = pages.find((path) => existsSync(path))
    return page === undefined || readFileSync(page, 'utf8').includes(flag)
  }

  #levelFlags(): readonly string[] {
    const { controllers, checkout } = this.options
    const key = ['--content-key', join(this.#dir, 'content.key')]
    if (controllers === undefined) return checkout === undefined && !this.#isKeyed ? [] : key
    return ['--controllers', controllers, ...key]
  }

  /** The process with this name. */
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

  /** Waits until the journal has this version of the object, and no wake and no open run with its name. */
  async waitUntilSettled({ metadata: { uid = '', name, resourceVersion = '0' } }: KubeObject): Promise<void> {
    await this.#until(sql`select
      exists (select from object where uid = ${uid} and (resource_version >= ${Number(resourceVersion)} or deleted))
      and not exists (select from wake where name = ${name})
      and not exists (select from job where name = ${name} and outcome is null) as ok`)
  }

  /** Waits until the journal has this version of the object. */
  async waitUntilJournaled({ metadata: { uid = '', resourceVersion = '0' } }: KubeObject): Promise<void> {
    await this.#until(
      sql`select exists (select from object where uid = ${uid} and resource_version >= ${Number(resourceVersion)}) as ok`,
    )
  }

  /** Waits until the journal has this version and no due wake of the object. A run may be open. */
  async waitUntilIdle({ metadata: { uid = '', name, resourceVersion = '0' } }: KubeObject): Promise<void> {
    await this.waitUntilJournaled({ metadata: { uid, name, resourceVersion } })
    await this.#until(sql`select not exists (select from wake where name = ${name} and due <= now()) as ok`)
  }

  /** Waits until the run that hosts a deploy item has made a pass after this version, and has no due wake. */
  async waitForHostPass({ metadata }: KubeObject): Promise<void> {
    const execution = metadata.ownerReferences?.[0]?.uid ?? ''
    await this.waitUntilJournaled({ metadata })
    const event = sql`select at from watch_event where uid = ${metadata.uid} and resource_version = ${Number(metadata.resourceVersion)}`
    const hosts = sql`(select uid from object where uid = ${execution} union select owner_uid from object where uid = ${execution})`
    await this.#until(sql`select not exists (select from wake where uid in ${hosts} and due <= now())
      and exists (select from job where uid in ${hosts} and last_pass_at > (${event} limit 1)) as ok`)
  }

  /** The jobs of an object, oldest first, after waitUntilSettled. The run that adds the finalizer is not a job. */
  async jobs(object: KubeObject): Promise<{ jobID: string; cause: string; outcome: string | null }[]> {
    await this.waitUntilSettled(object)
    return await this.db
      .selectFrom('job')
      .select(['job_id as jobID', 'cause', 'outcome'])
      .where('uid', '=', object.metadata.uid ?? '')
      .where('cause', '<>', 'first seen')
      .orderBy('started_at')
      .execute()
  }

  /** The runs of the object's newest job, sorted: controller, suffix of its task queue, outcome. */
  async runsOf(object: KubeObject & { readonly status?: { readonly jobID?: string } }): Promise<string[]> {
    const jobs = await this.db
      .selectFrom('job')
      .select(['controller', 'workflow_id', 'outcome'])
      .where('job_id', '=', object.status?.jobID ?? '')
      .execute()
    const found = jobs.map(async ({ controller, workflow_id, outcome }) => {
      const { taskQueue } = await this.client.workflow.getHandle(workflow_id).describe()
      return `${controller} on ${taskQueue.replace(this.taskQueue, '')}: ${outcome ?? 'open'}`
    })
    return (await Promise.all(found)).sort()
  }

  /** The wakes of objects with this name prefix, also of deleted objects. */
  async wakesOf(name: string): Promise<string[]> {
    const rows = await this.db
      .selectFrom('wake')
      .select(['controller', 'lease_owner'])
      .where('name', 'like', `${name}%`)
      .execute()
    return rows.map(({ controller, lease_owner }) => `${controller} ${lease_owner === null ? 'free' : 'taken'}`)
  }

  async #until(question: RawBuilder<unknown>): Promise<void> {
    const deadline = Date.now() + JOURNAL_WAIT_MS
    for (;;) {
      const { rows } = await question.execute(this.db)
      if ((rows[0] as { ok: boolean }).ok) return
      if (Date.now() > deadline)
        throw new Error(
          `the journal did not reach the expected state in ${JOURNAL_WAIT_MS} ms: ${await this.openState()}`,
        )
      await sleep(50)
    }
  }

  /** The wakes and open runs in the journal, to explain a failure. */
  async openState(): Promise<string> {
    const wakes = await this.db.selectFrom('wake').selectAll().execute()
    const jobs = await this.db.selectFrom('job').selectAll().where('outcome', 'is', null).execute()
    return JSON.stringify({ wakes, jobs }, undefined, 1)
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

  async #program(): Promise<typeof processArgs> {
    const { installed, checkout } = this.options
    const config =
      installed === undefined
        ? checkout && join(checkout, 'worker/server/config.ts')
        : join(installed, 'worker/server/config.js')
    if (config === undefined) return processArgs
    const module = pathToFileURL(config).href
    return ((await import(module)) as { processArgs: typeof processArgs }).processArgs
  }

  async #spawn(name: string, file: string, args: readonly string[]): Promise<void> {
    const path = join(this.#dir, `${name}.log`)
    const before = sizeOf(path)
    const fd = openSync(path, 'a')
    const shift = this.options.clocksMs?.[name]
    const env = childEnvironment({
      ...(shift !== undefined && { SHIFTED_CLOCK_MS: String(shift) }),
      ...this.options.environments?.[name],
    })
    const clock = shift === undefined ? [] : ['--import', SHIFTED_CLOCK]
    const child = spawn(process.execPath, [...clock, ...(await this.#program())(file, args)], {
      env,
      stdio: ['ignore', fd, fd],
    })
    closeSync(fd)
    this.#children.set(name, child)
    const deadline = Date.now() + START_LIMIT_MS
    while (!readFileSync(path, 'utf8').slice(before).includes('is running"')) {
      if (child.exitCode !== null) throw new Error(`${name} ended at once:\n${readFileSync(path, 'utf8').slice(-2000)}`)
      if (Date.now() > deadline)
        throw new Error(
          `${name} is not running after ${START_LIMIT_MS} ms:\n${readFileSync(path, 'utf8').slice(-2000)}`,
        )
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

/** @param log of the process; its newest start line has the address. @returns the HTTP status; 0 without an answer. */
export async function readiness(log: string): Promise<number> {
  const line = log.split('\n').findLast((one) => one.includes('is running"')) ?? '{}'
  const { health, healthPort } = JSON.parse(line) as { readonly health?: string; readonly healthPort?: number }
  const host = health ?? `127.0.0.1:${healthPort}`
  return await fetch(`http://${host}/readyz`).then(
    ({ status }) => status,
    () => 0,
  )
}
