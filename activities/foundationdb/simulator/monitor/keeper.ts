// Keeps one process of the configuration running.
//
// K1. An ended process starts again after its delay, with the newest configuration, until it is removed.
// K2. The output of the process becomes log lines: stdout with severity 10, stderr with severity 40.
// K3. A removed process continues to run, unless the configuration that it was loaded with kills on changes.

import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { constants } from 'node:os'
import { getSystemErrorMap } from 'node:util'
import { outsidePath } from '../container-root.ts'
import type { MonitoredProcess } from './configuration.ts'
import { ERROR, INFO, WARNING, type MonitorLog } from './monitor-log.ts'
import { RestartDelay } from './restart-delay.ts'

const DRAIN_MS = 20

export interface KeeperDeps {
  readonly log: MonitorLog
  readonly env: Readonly<Record<string, string | undefined>>
  /** Real seconds per second of a delay. */
  readonly timeScale: number
  /** Returns a number in [0, 1). */
  readonly random: () => number
}

export class Keeper {
  monitored: MonitoredProcess
  private readonly deps: KeeperDeps
  private readonly delay = new RestartDelay()
  private child: ChildProcess | undefined
  private timer: NodeJS.Timeout | undefined
  private isRemoved = false
  private startedAtMs = 0

  constructor(monitored: MonitoredProcess, deps: KeeperDeps) {
    this.monitored = monitored
    this.deps = deps
  }

  get id(): string {
    return this.monitored.id
  }

  /** Whether a removed process has ended. */
  get isOver(): boolean {
    return this.isRemoved && this.child === undefined
  }

  start(): void {
    const { argv, deletedVariables } = this.monitored
    const [program, ...args] = argv ?? []
    if (program === undefined) return
    this.cancelRestart()
    const env = Object.fromEntries(Object.entries(this.deps.env).filter(([name]) => !deletedVariables.includes(name)))
    const child = spawn(outsidePath(program, this.deps.env), args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.child = child
    this.startedAtMs = performance.now()
    // A program that cannot be executed has no PID in Node.js.
    this.deps.log(INFO, this.id, `Launching ${program} (${String(child.pid ?? 0)}) for ${this.id}`)
    child.on('error', (error: NodeJS.ErrnoException) => {
      this.deps.log(ERROR, this.id, `Unable to launch ${program} for ${this.id} (execv error ${describe(error)})`)
      if (child.pid === undefined) this.ended(child, 0, null)
    })
    createInterface(child.stdout).on('line', (line) => this.deps.log(INFO, this.id, line))
    createInterface(child.stderr).on('line', (line) => this.deps.log(ERROR, this.id, line))
    child.on('exit', (code, signal) => void this.drained(child).then(() => this.ended(child, code, signal)))
  }

  /** Takes over a changed or unchanged configuration, also after a removal. */
  update(monitored: MonitoredProcess): void {
    this.monitored = monitored
    this.isRemoved = false
    if (this.child === undefined && this.timer === undefined) this.start()
  }

  /** K3. */
  async remove(): Promise<void> {
    this.isRemoved = true
    this.cancelRestart()
    if (this.monitored.killOnConfigurationChange) await this.kill()
  }

  /** Ends the process and starts it with the newest configuration at once. */
  async restart(): Promise<void> {
    await this.kill()
    this.start()
  }

  /** Ends the process with SIGTERM and waits for its end; it does not start again by itself. */
  async kill(): Promise<void> {
    this.cancelRestart()
    const child = this.child
    if (child?.pid === undefined) return
    this.child = undefined
    this.deps.log(INFO, 'fdbmonitor', `Killing process ${String(child.pid)}`)
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await exited
  }

  resetDelay(): void {
    this.delay.reset()
    if (this.timer !== undefined) this.start()
  }

  /** Waits for the last output of a process. Its own children may keep its pipes open, so the wait is short. */
  private async drained(child: ChildProcess): Promise<void> {
    await new Promise((resolve) => {
      child.once('close', resolve)
      setTimeout(resolve, DRAIN_MS)
    })
  }

  private ended(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    if (this.child !== child) return
    this.child = undefined
    if (this.isRemoved || this.monitored.argv === undefined) return
    const ranSeconds = (performance.now() - this.startedAtMs) / 1000 / this.deps.timeScale
    const seconds = this.delay.after(ranSeconds, this.monitored.delays, this.deps.random())
    const how = signal === null ? `exited ${String(code)}` : `terminated by signal ${String(constants.signals[signal])}`
    const severity = signal === null && code !== 0 ? ERROR : WARNING
    const text = `Process ${String(child.pid ?? 0)} ${how}, restarting in ${String(seconds)} seconds`
    this.deps.log(severity, this.id, text)
    this.timer = setTimeout(() => this.start(), seconds * 1000 * this.deps.timeScale)
  }

  private cancelRestart(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }
}

/** For example `2: No such file or directory`. */
function describe(error: NodeJS.ErrnoException): string {
  const [, text] = getSystemErrorMap().get(error.errno ?? 0) ?? ['', error.message]
  return `${String(-(error.errno ?? 0))}: ${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
