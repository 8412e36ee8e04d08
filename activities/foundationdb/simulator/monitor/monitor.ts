// fdbmonitor of the simulator: runs the processes of a configuration file, and follows changes of the file.
//
// M1. Reloads run one after the other; a change during a reload causes one more.
// M2. A changed process with kill_on_configuration_change=true restarts at once, any other at its next start.
// M3. A deleted, empty or broken file removes all processes (keeper.ts, K3).

import { watch, type FSWatcher } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { readConfiguration, type MonitoredProcess } from './configuration.ts'
import { Keeper, type KeeperDeps } from './keeper.ts'
import { ERROR, INFO } from './monitor-log.ts'

/** A file that is written in place changes several times; a reload waits until it has not changed for this long. */
const SETTLE_MS = 10
const NO_SUCH_FILE = 'SI_Error: -3, errno: 2'

export class Monitor {
  private readonly file: string
  private readonly deps: KeeperDeps
  private readonly keepers = new Map<string, Keeper>()
  private watcher: FSWatcher | undefined
  private timer: NodeJS.Timeout | undefined
  private reloads: Promise<void> = Promise.resolve()
  /** The log lines contain the number of watches so far, two per load of an existing file. */
  private watches = 0
  private isFileWatched = false

  constructor(file: string, deps: KeeperDeps) {
    this.file = file
    this.deps = deps
  }

  async start(): Promise<void> {
    const name = basename(this.file)
    this.watcher = watch(dirname(this.file), (_, changed) => {
      if (changed !== name) return
      clearTimeout(this.timer)
      this.timer = setTimeout(() => void this.reload(true), SETTLE_MS)
    })
    await this.reload(false)
  }

  /** Starts waiting processes at once, and reads the file again. */
  async hangUp(): Promise<void> {
    for (const keeper of this.keepers.values()) keeper.resetDelay()
    await this.reload(false)
  }

  async stop(): Promise<void> {
    this.watcher?.close()
    clearTimeout(this.timer)
    await Promise.all([...this.keepers.values()].map((keeper) => keeper.kill()))
  }

  private reload(isReplaced: boolean): Promise<void> {
    this.reloads = this.reloads.then(() => this.load(isReplaced))
    return this.reloads
  }

  private async load(isReplaced: boolean): Promise<void> {
    const text = await readText(this.file)
    this.logWatches(isReplaced, text !== undefined)
    if (text === undefined) {
      this.log(`Unable to load configuration file ${this.file} (${NO_SUCH_FILE})`, ERROR)
    }
    const processes = readConfiguration(text ?? '')
    const wanted = new Set(processes.map(({ id }) => id))
    const removed = [...this.keepers.values()].filter(({ id }) => !wanted.has(id))
    for (const { id } of removed) this.log(`Deconfigured ${id}`)
    const changed = processes.filter((monitored) => this.adopt(monitored))
    await Promise.all([
      ...removed.map(async (keeper) => {
        await keeper.remove()
      }),
      ...changed.map(({ id }) => this.keepers.get(id)?.restart()),
    ])
    for (const keeper of this.keepers.values()) if (keeper.isOver) this.keepers.delete(keeper.id)
  }

  /** Starts or updates a process. Returns whether a change requires its restart (M2). */
  private adopt(monitored: MonitoredProcess): boolean {
    const { id } = monitored
    if (monitored.argv === undefined) this.log(`Unable to resolve command for ${id}`, ERROR)
    const keeper = this.keepers.get(id)
    if (keeper === undefined || keeper.isOver) {
      this.log(`Starting ${id}`)
      const added = new Keeper(monitored, this.deps)
      this.keepers.set(id, added)
      added.start()
      return false
    }
    const isSame = isDeepStrictEqual(keeper.monitored.argv, monitored.argv)
    this.log(isSame ? `Updated configuration for ${id}` : `Found new configuration for ${id}`)
    keeper.update(monitored)
    return !isSame && monitored.argv !== undefined && monitored.killOnConfigurationChange
  }

  private logWatches(isReplaced: boolean, exists: boolean): void {
    if (isReplaced && this.isFileWatched) this.log('Could not remove inotify conf file watch, continuing...')
    if (exists) this.watches += 1
    if (exists) this.log(`Watching conf file ${this.file}`)
    else this.log(`Conf file has been deleted ${this.file}`)
    this.watches += 1
    this.log(`Watching conf dir ${dirname(this.file)}/ (${String(this.watches)})`)
    this.log(`Loading configuration ${this.file}`)
    this.isFileWatched = exists
  }

  private log(text: string, severity: typeof INFO | typeof ERROR = INFO): void {
    this.deps.log(severity, 'fdbmonitor', text)
  }
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
