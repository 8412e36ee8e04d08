// A simulated cluster of real processes: fdbserver and fdbcli from a generated folder of executables.

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { writeExecutables } from '../../../../activities/foundationdb/simulator/bin.ts'
import { DEFAULT_VERSION } from '../../../../activities/foundationdb/simulator/version.ts'

export interface CliResult {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

export class ProcessCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'fdb-simulator-'))
  readonly file = join(this.folder, 'fdb.cluster')
  readonly bin = writeExecutables(join(this.folder, 'bin'), process.execPath)
  private readonly servers = new Map<number, ChildProcess>()
  // Each cluster has its own part of the loopback network, so that test files can run at the same time.
  private readonly network = `127.${String(process.pid % 250)}.${String(Math.floor(Math.random() * 250))}`

  /** Of servers and tools. */
  readonly environment: Readonly<Record<string, string | undefined>>

  /** `coordinators`: the numbers of the processes that the first cluster file names. `timeScale`: the seconds that a simulated second takes. */
  constructor(coordinators: readonly number[], timeScale = 0.02) {
    this.environment = { ...process.env, FDB_SIM_TIME_SCALE: String(timeScale) }
    writeFileSync(this.file, `test:abc@${coordinators.map((n) => this.address(n)).join(',')}\n`)
  }

  address(n: number): string {
    return `${this.network}.${String(n)}:4501`
  }

  dataDirectory(n: number): string {
    return join(this.folder, `p${String(n)}`)
  }

  /** Starts the process with its data directory, in which it has its own copy of the first cluster file. */
  start(n: number, version: string = DEFAULT_VERSION): void {
    const directory = this.dataDirectory(n)
    mkdirSync(directory, { recursive: true })
    const options = {
      public_address: this.address(n),
      cluster_file: join(directory, 'fdb.cluster'),
      seed_cluster_file: this.file,
      datadir: directory,
      class: 'storage',
      locality_zoneid: `node-${String(n)}`,
    }
    const argv = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
    const bin =
      version === DEFAULT_VERSION ? this.bin : writeExecutables(join(this.folder, version), process.execPath, version)
    this.servers.set(n, spawn(join(bin, 'fdbserver'), argv, { env: this.environment, stdio: 'ignore' }))
  }

  /** SIGKILL. */
  async kill(...numbers: number[]): Promise<void> {
    await Promise.all(
      numbers.map(async (n) => {
        const server = this.servers.get(n)
        server?.kill('SIGKILL')
        await this.exited(n)
      }),
    )
  }

  /** Resolves with the exit code of the process. */
  async exited(n: number): Promise<number | null> {
    const server = this.servers.get(n)
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return server?.exitCode ?? null
    return await new Promise((resolve) => {
      server.once('exit', resolve)
    })
  }

  async fdbcli(command: string, file = this.file): Promise<CliResult> {
    return await new Promise((resolve) => {
      const argv = ['--exec', command, '-C', file]
      execFile(join(this.bin, 'fdbcli'), argv, { env: this.environment, timeout: 60_000 }, (error, stdout, stderr) => {
        resolve({ exit: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr })
      })
    })
  }

  clusterFileOf(n: number): string {
    return readFileSync(join(this.dataDirectory(n), 'fdb.cluster'), 'utf8')
  }

  async stop(): Promise<void> {
    await this.kill(...this.servers.keys())
    rmSync(this.folder, { recursive: true })
  }
}
