// The injector of a pod as a process of this machine, in its own process group.
//
// R1. All facts about it are on disk (pod-folder.ts), so a later agent knows as much.
// R2. Signals are sent only to the started process, never to a later process with the same PID.

import { execFile } from 'node:child_process'
import { open, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { EndReason, Exit, Run, InjectorMessage } from '../../../workflows/chaos/node-agent/chaos-pod.ts'
import type { Log } from '../injector/log.ts'
import { type PodFolder, type PodRecord, type ShimTraces, timeOf } from './pod-folder.ts'
import type { PodRun } from './pod-keeper.ts'
import { bootId, readText } from '../injector/processes.ts'
import { isRunning, killSession, signalTo } from './processes.ts'
import { readPod, type AgentPod, type Probe } from './read-pod.ts'
import { startShim } from './shim.ts'

export interface Prepared {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The texts of required files, by path. */
  readonly files: Readonly<Record<string, string>>
}

export interface ProcessRunDeps {
  readonly folder: PodFolder
  /** Prepares the process of a pod. @throws for temporary failures; `Unstartable` for permanent ones. */
  readonly prepare: (pod: AgentPod, folder: PodFolder) => Promise<Prepared>
  /** Updates the injector's target file until the signal. */
  readonly follow: (pod: AgentPod, folder: PodFolder, signal: AbortSignal) => void
  /** Program and arguments of the clean-up after an injector. */
  readonly sweepCommand: readonly string[]
  /** Called after a change. */
  readonly onChange: () => void
  readonly log: Log
}

/** The process can never be started. */
export class Unstartable extends Error {}

const SWEEP_LIMIT_MS = 60_000
// A shim needs milliseconds to write its first file.
const SHIM_LIMIT_MS = 10_000
const LOOK_EVERY_MS = 1000
const CLAIM_POLL_MS = 5
/** Marks a target without a process for the injector. */
export const SIMULATED_VARIABLE = 'CHAOS_INJECTOR_SIMULATED'
/** The value is unique to the pod's process. */
const OWN_VARIABLE = 'TMPDIR'

export class ProcessRun implements PodRun {
  private readonly deps: ProcessRunDeps
  private probe: ReadinessProbe | undefined
  private readonly following = new AbortController()
  private isFollowing = false
  /** The final state. */
  private finalState: Run | undefined

  constructor(deps: ProcessRunDeps) {
    this.deps = deps
  }

  get lookEveryMs(): number | undefined {
    if (this.finalState !== undefined) return undefined
    return Math.min(LOOK_EVERY_MS, this.probe?.periodMs ?? LOOK_EVERY_MS)
  }

  async look(nowMs: number): Promise<Run> {
    const { folder } = this.deps
    if (this.finalState !== undefined) return this.finalState
    const record = await folder.read()
    if (record === undefined) return { state: 'absent' }
    const traces = await folder.traces()
    // R2: after a reboot no process is left.
    if (record.bootId !== (await bootId('/proc'))) return (this.finalState = endedRun(record, traces, nowMs))
    return traces.exit === undefined
      ? await this.lookAtProcess(record, traces, nowMs)
      : await this.ended(record, traces, nowMs)
  }

  private async lookAtProcess(record: PodRecord, traces: ShimTraces, nowMs: number): Promise<Run> {
    const { injector, claimedMs } = traces
    if (injector !== undefined && (await isRunning(injector)))
      return await this.running(record, injector.startedMs, nowMs)
    // The agent ended before it started the shim.
    if (claimedMs === undefined) return { state: 'absent' }
    if (await isShimRunning(traces, nowMs)) return { state: 'starting' }
    // The shim may have written the exit code meanwhile.
    return await this.ended(record, await this.deps.folder.traces(), nowMs)
  }

  async start(pod: AgentPod, nowMs: number): Promise<void> {
    const { folder, prepare, onChange } = this.deps
    let prepared: Prepared
    try {
      prepared = await prepare(pod, folder)
    } catch (error) {
      if (!(error instanceof Unstartable)) throw error
      this.finalState = unstartedRun(error.message, nowMs)
      return
    }
    const { argv, env, files } = prepared
    await folder.create({ version: 1, pod: pod.object, acceptedMs: nowMs, bootId: await bootId('/proc'), argv, env })
    for (const [path, text] of Object.entries(files)) await writeFile(path, text, { mode: 0o600 })
    const log = await open(folder.log, 'a', 0o600)
    const shim = { isOver: false }
    const ended = () => {
      shim.isOver = true
      onChange()
    }
    try {
      await startShim({ folder: folder.path, argv, env, log: log.fd, ended })
    } finally {
      await log.close()
    }
    // Without this wait, the state would be `absent` after the start.
    while (!shim.isOver && (await folder.traces()).claimedMs === undefined) await sleep(CLAIM_POLL_MS)
  }

  async terminate(why: EndReason, graceMs: number, nowMs: number): Promise<void> {
    const record = await this.recorded()
    await this.deps.folder.write({ ...record, ending: { why, sinceMs: nowMs, graceMs, isKilled: false } })
    const { injector } = await this.deps.folder.traces()
    if (injector !== undefined) await signalTo(injector, 'SIGTERM', 'process')
  }

  async kill(): Promise<void> {
    const record = await this.recorded()
    if (record.ending !== undefined)
      await this.deps.folder.write({ ...record, ending: { ...record.ending, isKilled: true } })
    const { injector } = await this.deps.folder.traces()
    if (injector !== undefined) await signalTo(injector, 'SIGKILL', 'group')
  }

  async sweep(): Promise<void> {
    const { folder, sweepCommand, log } = this.deps
    const record = await folder.read()
    const { exit, claimedMs } = await folder.traces()
    const isClean = exit?.text === '0' || exit?.text === 'unstarted' || claimedMs === undefined
    // The exit code 0 of an injector means a complete clean-up.
    if (record !== undefined && !isClean) {
      const [program = '', ...args] = sweepCommand
      await promisify(execFile)(program, args, { cwd: folder.files, env: record.env, timeout: SWEEP_LIMIT_MS })
      log.info('swept', { folder: folder.path })
    }
    await folder.remove()
    this.finalState = undefined
  }

  private async recorded(): Promise<PodRecord> {
    const record = await this.deps.folder.read()
    if (record === undefined) throw new Error(`${this.deps.folder.path}: found no record of a pod; expected one`)
    return record
  }

  private async running({ pod, acceptedMs, ending, env }: PodRecord, startedMs: number, nowMs: number): Promise<Run> {
    const { folder, follow } = this.deps
    this.probe ??= new ReadinessProbe(readPod(pod).container.probe, folder)
    if (!this.isFollowing) follow(readPod(pod), folder, this.following.signal)
    this.isFollowing = true
    const isReady = await this.probe.look(startedMs, nowMs)
    // The injector writes its message before it is ready.
    return { state: 'running', acceptedMs, startedMs, isReady, ...(await this.readMessage(env)), ending }
  }

  private async ended(record: PodRecord, traces: ShimTraces, nowMs: number): Promise<Run> {
    const { injector } = traces
    this.following.abort()
    // A container ends with its first process.
    if (injector !== undefined) await killSession(injector, [OWN_VARIABLE, record.env[OWN_VARIABLE] ?? ''])
    return (this.finalState = { ...endedRun(record, traces, nowMs), ...(await this.readMessage(record.env)) })
  }

  private async readMessage(env: PodRecord['env']): Promise<{ readonly injectorMessage?: InjectorMessage }> {
    const message = await readText(this.deps.folder.message)
    return message === undefined
      ? {}
      : { injectorMessage: { message, isSimulated: env[SIMULATED_VARIABLE] !== undefined } }
  }
}

function endedRun({ acceptedMs, ending }: PodRecord, { injector, exit: exitFile }: ShimTraces, nowMs: number): Run {
  const unseen: Exit = ending?.isKilled === true ? KILLED : { how: 'lost' }
  const exit = exitFile === undefined ? unseen : exitOf(exitFile.text)
  const finishedMs = exitFile?.atMs ?? nowMs
  return { state: 'ended', acceptedMs, startedMs: injector?.startedMs, finishedMs, exit, ending }
}

const KILLED: Exit = { how: 'exited', code: 137 }

function exitOf(text: string): Exit {
  if (text === 'unstarted') return { how: 'unstarted', message: 'there is no such program as the injector' }
  return /^\d+$/.test(text) ? { how: 'exited', code: Number(text) } : { how: 'lost' }
}

/**
 * Whether the shim works: before it starts the injector, and after the injector's end until it has written the exit
 * code.
 */
async function isShimRunning({ claimedMs = 0, shim }: ShimTraces, nowMs: number): Promise<boolean> {
  return shim === undefined ? nowMs - claimedMs < SHIM_LIMIT_MS : await isRunning(shim)
}

function unstartedRun(message: string, nowMs: number): Run {
  const exit: Exit = { how: 'unstarted', message }
  return { state: 'ended', acceptedMs: nowMs, startedMs: undefined, finishedMs: nowMs, exit, ending: undefined }
}

const DEFAULT_PERIOD_MS = 1000

export class ReadinessProbe {
  readonly periodMs: number
  private readonly probe: Probe | undefined
  private readonly folder: Pick<PodFolder, 'inside'>
  private lookedMs: number | undefined
  private failures = 0
  private isReady: boolean

  constructor(probe: Probe | undefined, folder: Pick<PodFolder, 'inside'>) {
    this.probe = probe
    this.folder = folder
    this.periodMs = probe?.periodMs ?? DEFAULT_PERIOD_MS
    this.isReady = probe === undefined
  }

  /**
   * Checks if the period has passed. One success makes it ready, `failureThreshold` consecutive failures make it
   * unready.
   */
  async look(startedMs: number, nowMs: number): Promise<boolean> {
    const { probe } = this
    if (probe === undefined || nowMs - startedMs < probe.initialDelayMs) return this.isReady
    if (this.lookedMs !== undefined && nowMs - this.lookedMs < probe.periodMs) return this.isReady
    this.lookedMs = nowMs
    const isThere = (await timeOf(this.folder.inside(probe.file))) !== undefined
    this.failures = isThere ? 0 : this.failures + 1
    if (isThere) this.isReady = true
    else if (this.failures >= probe.failureThreshold) this.isReady = false
    return this.isReady
  }
}
