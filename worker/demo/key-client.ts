// A client of a database: commits one numbered key in each transaction, counts the transactions of each second, and reads all keys back.
//
//   K1. A key counts as soon as the database acknowledges its transaction. A transaction without an answer is repeated with the same key.
//   K2. The client reads the connection string before each batch, because coordinators change.

import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { childEnvironment } from '../server/config.ts'

const run = promisify(execFile)
/** Transactions of one call of fdbcli. A call starts a process, so the client makes one each second. */
const BATCH = 20
const SECOND_MS = 1000
const TIMEOUT_SECONDS = 10
const COMMITTED = /^Committed \(\d+\)/gm

export interface KeyClientSettings {
  readonly fdbcli: string
  /** The file for the connection string. */
  readonly clusterFile: string
  readonly connectionString: () => Promise<string>
  readonly env: Readonly<Record<string, string>>
}

export class KeyClient {
  /** The number of acknowledged keys. */
  acknowledged = 0
  readonly #settings: KeyClientSettings
  readonly #stopped = new AbortController()
  readonly #work: Promise<unknown>

  /** @param report called each second with the transactions per second. */
  constructor(settings: KeyClientSettings, report: (transactions: number) => void) {
    this.#settings = settings
    this.#work = Promise.all([this.#write(), this.#count(report)])
  }

  /** @throws an Error if fdbcli cannot be started. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#work
  }

  /** The number of acknowledged keys that the database does not have. */
  async lost(): Promise<number> {
    const output = await this.#exec(`getrange demo/ demo0 ${this.acknowledged + 1}`)
    const found = new Set(
      Array.from(output.matchAll(/`demo\/(\d+)' is `v(\d+)'/g), ([, key, value]) => `${key}=${value}`),
    )
    const keys = Array.from({ length: this.acknowledged }, (_, key) => `${key}=${key}`)
    return keys.filter((key) => !found.has(key)).length
  }

  async #write(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const started = Date.now()
      const sets = Array.from({ length: BATCH }, (_, at) => this.acknowledged + at).map(
        (key) => `set demo/${key} v${key}`,
      )
      const output = await this.#exec(['writemode on', ...sets].join('; '))
      // K1
      this.acknowledged += output.match(COMMITTED)?.length ?? 0
      await sleep(Math.max(0, started + SECOND_MS - Date.now()))
    }
  }

  /** Shows the mean of two seconds, because a batch ends at another moment of each second. */
  async #count(report: (transactions: number) => void): Promise<void> {
    const counts = [0, 0, 0]
    while (!this.#stopped.signal.aborted) {
      await sleep(SECOND_MS)
      counts.push(this.acknowledged)
      const [before = 0, , now = 0] = counts.slice(-3)
      report(Math.round((now - before) / 2))
    }
  }

  /** The output, also of a command that ends with an error. */
  async #exec(command: string): Promise<string> {
    const { fdbcli, clusterFile, connectionString, env } = this.#settings
    await writeFile(clusterFile, `${await connectionString()}\n`)
    const args = ['-C', clusterFile, '--exec', command, '--timeout', String(TIMEOUT_SECONDS)]
    const options = { env: childEnvironment(env), maxBuffer: 2 ** 26 }
    return await run(fdbcli, args, options).then(
      ({ stdout }) => stdout,
      (error: unknown) => {
        const { code, stdout = '' } = error as { readonly code?: unknown; readonly stdout?: string }
        // A string names a failed start, such as ENOENT.
        if (typeof code === 'string') throw error
        return stdout
      },
    )
  }
}
