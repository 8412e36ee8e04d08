// A client of a database that writes numbered keys while the cluster changes, and reads all acknowledged keys back.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const LIMIT_SECONDS = 10
/** A key for each half second is enough to have keys in each phase of a change. */
const PAUSE_MS = 500

export class KeyWriter {
  readonly acknowledged: number[] = []
  private readonly stopped = new AbortController()
  private readonly fdbcli: () => string
  private readonly connectionString: () => Promise<string>
  private readonly work: Promise<void>

  /**
   * @param fdbcli the path; a function if the version changes.
   * @param connectionString reads the current one, because coordinators change.
   */
  constructor(fdbcli: string | (() => string), connectionString: () => Promise<string>) {
    this.fdbcli = typeof fdbcli === 'string' ? () => fdbcli : fdbcli
    this.connectionString = connectionString
    this.work = this.writeAll()
  }

  async stop(): Promise<void> {
    this.stopped.abort()
    await this.work
  }

  /** The numbers of the keys in the database that have their value. */
  async readAll(): Promise<readonly number[]> {
    const output = await this.exec('getrange n/ n0 100000')
    return [...output.matchAll(/`n\/(\d+)' is `v(\d+)'/g)].flatMap(([, key, value]) =>
      key === value ? [Number(key)] : [],
    )
  }

  /** Deletes all keys. */
  async clear(): Promise<void> {
    const output = await this.exec('writemode on; clearrange n/ n0')
    if (!output.includes('Committed')) throw new Error(`clearrange: found "${output}"; expected Committed`)
  }

  private async writeAll(): Promise<void> {
    for (let number = 0; !this.stopped.signal.aborted; number += 1) {
      // A write without an acknowledgement may be lost.
      const output = await this.exec(`writemode on; set n/${number} v${number}`).catch(() => '')
      if (output.includes('Committed')) this.acknowledged.push(number)
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }

  private async exec(command: string): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-fdb-writer-'))
    try {
      const file = join(folder, 'fdb.cluster')
      await writeFile(file, `${await this.connectionString()}\n`)
      const env = { ...process.env, FDB_SIM_TIME_SCALE: '0.1' }
      const { stdout } = await run(this.fdbcli(), ['-C', file, '--exec', command, '--timeout', String(LIMIT_SECONDS)], {
        env,
      })
      return stdout
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}
