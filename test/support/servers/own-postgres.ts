// A separate PostgreSQL on durable storage, which a test can kill, fill, freeze and fail over.
//
//   O1. Acknowledged commits survive SIGKILL, because fsync is on, unlike on the shared servers.
//   O2. A standby starts with a copy of the stopped primary's folder, because the embedded package has no pg_basebackup.

import { setTimeout as sleep } from 'node:timers/promises'
import { execFile } from 'node:child_process'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Part, startPart } from '../../../worker/dev/part.ts'
import { isRunning } from '../../../worker/server/process-identity.ts'
import { startPostgres } from '../../../worker/dev/postgres.ts'
import { freePort } from './free-port.ts'

const run = promisify(execFile)

// Child processes of a killed server hold its shared memory. A new server can only start when they have ended.
const LONGEST_START_MS = 30_000

async function untilStarted<T>(start: () => Promise<T>): Promise<T> {
  const until = performance.now() + LONGEST_START_MS
  for (;;) {
    try {
      return await start()
    } catch (error) {
      if (performance.now() > until || !String(error).includes('still in use')) throw error
      await sleep(200)
    }
  }
}

export class OwnPostgres {
  /** Administrator's address, with the password. */
  readonly url: string
  readonly dir: string
  #part: Part

  private constructor(url: string, dir: string, part: Part) {
    this.url = url
    this.dir = dir
    this.#part = part
  }

  /** @param dir where its data are; default: a fresh folder. */
  static async start(dir?: string): Promise<OwnPostgres> {
    const place = dir ?? (await mkdtemp(join(tmpdir(), 'pawl-postgres-')))
    let part: Part | undefined
    const options = { dir: place, logDir: place, port: await freePort(), ephemeral: false, counting: false }
    const onOutside = (outside: string) => {
      throw new Error(`the data of PostgreSQL are in ${outside}, expected them below ${place}`)
    }
    const onPart = (started: Part) => {
      part = started
    }
    const { url } = await startPostgres({ ...options, onPart, onOutside })
    if (part === undefined) throw new Error('PostgreSQL runs without a part')
    return new OwnPostgres(url, place, part)
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /** Ends all its processes without warning. */
  async kill(): Promise<void> {
    process.kill(this.#part.identity.pid, 'SIGKILL')
    await this.#part.ended
  }

  async stop(): Promise<void> {
    await this.#part.stop()
  }

  /** After a stop or a death; with further settings, such as `max_connections=60`. */
  async startAgain(...settings: readonly string[]): Promise<void> {
    const { spec } = this.#part
    const wanted = { ...spec, args: [...spec.args, ...settings.flatMap((setting) => ['-c', setting])] }
    this.#part = await untilStarted(() => startPart(wanted))
  }

  /** Whether the server has ended by itself. */
  get isDead(): boolean {
    return !isRunning(this.#part.identity)
  }

  /** Sets something without a restart; undefined: as it was. */
  async set(name: string, value: string | undefined): Promise<void> {
    await this.ask(value === undefined ? `alter system reset ${name}` : `alter system set ${name} = '${value}'`)
    await this.ask('select pg_reload_conf()')
  }

  async ask(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5000 })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  /** A second server that follows this one by streaming replication (O2); this one is restarted for it. @param through where it gets the stream from. */
  async addStandby(through: number = this.port): Promise<OwnPostgres> {
    await this.stop()
    const dir = await mkdtemp(join(tmpdir(), 'pawl-standby-'))
    // Not fs.cp, which would make all of it ours.
    await run('cp', ['-a', `${this.dir}/.`, dir])
    const { args } = this.#part.spec
    const data = args[args.indexOf('-D') + 1] ?? ''
    const copy = data.replace(this.dir, dir)
    const { username, password } = new URL(this.url)
    const source = `host=127.0.0.1 port=${through} user=${username} password=${password} application_name=standby`
    await writeFile(join(copy, 'standby.signal'), '')
    await appendFile(join(copy, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
    await this.startAgain()
    return await OwnPostgres.start(dir)
  }

  /** Makes a standby the primary. */
  async promote(): Promise<void> {
    await this.ask('select pg_promote(true, 60)')
  }

  /** Stops it, and removes its data. */
  async remove(): Promise<void> {
    await this.#part.stop()
    await rm(this.dir, { recursive: true, force: true })
  }
}
