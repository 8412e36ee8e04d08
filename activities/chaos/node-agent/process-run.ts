// The injector of a pod as a process of this machine, in a group of its own.
//
//   R1. All that is known of it is on disk (pod-folder.ts): another agent that comes after this one knows as much.
//   R2. A signal goes to the process that was started, never to a later one with its number.

import { execFile } from 'node:child_process'
import { open, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import type { EndReason, Exit, Run, Said } from '../../../workflows/chaos/node-agent/chaos-pod.ts'
import type { Log } from '../injector/log.ts'
import type { PodFolder, PodRecord, ShimTraces } from './pod-folder.ts'
import type { PodRun } from './pod-run.ts'
import { bootId, readText } from '../injector/processes.ts'
import { isThere, killRestOf, signalTo } from './processes.ts'
import { ReadinessProbe } from './readiness-probe.ts'
import { readPod, type SeenPod } from './read-pod.ts'
import { startShim } from './shim.ts'

export interface Prepared {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Texts of files that have to be there, by their paths. */
  readonly files: Readonly<Record<string, string>>
}

export interface ProcessRunDeps {
  readonly folder: PodFolder
  /** What a pod's process is started with. @throws for what may work later; with `Unstartable` for what never will. */
  readonly prepare: (pod: SeenPod, folder: PodFolder) => Promise<Prepared>
  /** Keeps up to date what the injector is told of its target, until the signal. */
  readonly follow: (pod: SeenPod, folder: PodFolder, signal: AbortSignal) => void
  /** Program and arguments that undo what an injector has left. */
  readonly sweepCommand: readonly string[]
  /** Called when something has changed. */
  readonly nudge: () => void
  readonly log: Log
}

/** It cannot be started, ever. */
export class Unstartable extends Error {}

const SWEEP_LIMIT_MS = 60_000
// A shim takes milliseconds to say that it is there.
const SHIM_LIMIT_MS = 10_000
const LOOK_EVERY_MS = 1000
const CLAIM_POLL_MS = 5
/** Tells the injector that its target has no process. */
export const SIMULATED_VARIABLE = 'CHAOS_INJECTOR_SIMULATED'
/** No other pod's process has the same value. */
const OWN_VARIABLE = 'TMPDIR'

export class ProcessRun implements PodRun {
  private readonly deps: ProcessRunDeps
  private probe: ReadinessProbe | undefined
  private readonly following = new AbortController()
  private isFollowing = false
  /** An end is for ever. */
  private over: Run | undefined

  constructor(deps: ProcessRunDeps) {
    this.deps = deps
  }

  get lookEveryMs(): number | undefined {
    if (this.over !== undefined) return undefined
    return Math.min(LOOK_EVERY_MS, this.probe?.periodMs ?? LOOK_EVERY_MS)
  }

  async look(nowMs: number): Promise<Run> {
    const { folder } = this.deps
    if (this.over !== undefined) return this.over
    const record = await folder.read()
    if (record === undefined) return { state: 'absent' }
    const traces = await folder.traces()
    // R2: of an earlier start of the machine no process is left.
    if (record.bootId !== (await bootId('/proc'))) return (this.over = endedRun(record, traces, nowMs))
    return traces.exit === undefined
      ? await this.lookAtProcess(record, traces, nowMs)
      : await this.ended(record, traces, nowMs)
  }

  private async lookAtProcess(record: PodRecord, traces: ShimTraces, nowMs: number): Promise<Run> {
    const { injector, claimedMs } = traces
    if (injector !== undefined && (await isThere(injector)))
      return await this.running(record, injector.startedMs, nowMs)
    // The agent ended before it started the shim.
    if (claimedMs === undefined) return { state: 'absent' }
    if (await isShimAtWork(traces, nowMs)) return { state: 'starting' }
    // The shim may have written its last word meanwhile.
    return await this.ended(record, await this.deps.folder.traces(), nowMs)
  }

  async start(pod: SeenPod, nowMs: number): Promise<void> {
    const { folder, prepare, nudge } = this.deps
    let prepared: Prepared
    try {
      prepared = await prepare(pod, folder)
    } catch (error) {
      if (!(error instanceof Unstartable)) throw error
      this.over = unstarted(error.message, nowMs)
      return
    }
    const { argv, env, files } = prepared
    await folder.create({ version: 1, pod: pod.object, acceptedMs: nowMs, bootId: await bootId('/proc'), argv, env })
    for (const [path, text] of Object.entries(files)) await writeFile(path, text, { mode: 0o600 })
    const log = await open(folder.log, 'a', 0o600)
    const seen = { isOver: false }
    const ended = () => {
      seen.isOver = true
      nudge()
    }
    try {
      await startShim({ folder: folder.path, argv, env, log: log.fd, ended })
    } finally {
      await log.close()
    }
    // Before, it would look as if nothing had been started.
    while (!seen.isOver && (await folder.traces()).claimedMs === undefined) await sleep(CLAIM_POLL_MS)
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
    // One that has ended well says that all is clean.
    if (record !== undefined && !isClean) {
      const [program = '', ...args] = sweepCommand
      await promisify(execFile)(program, args, { cwd: folder.files, env: record.env, timeout: SWEEP_LIMIT_MS })
      log.info('swept', { folder: folder.path })
    }
    await folder.remove()
    this.over = undefined
  }

  private async recorded(): Promise<PodRecord> {
    const record = await this.deps.folder.read()
    if (record === undefined) throw new Error(`${this.deps.folder.path}: found no record of a pod, expected one`)
    return record
  }

  private async running({ pod, acceptedMs, ending, env }: PodRecord, startedMs: number, nowMs: number): Promise<Run> {
    const { folder, follow } = this.deps
    this.probe ??= new ReadinessProbe(readPod(pod).container.probe, folder)
    if (!this.isFollowing) follow(readPod(pod), folder, this.following.signal)
    this.isFollowing = true
    const isReady = await this.probe.look(startedMs, nowMs)
    // What it says is there before it is ready.
    return { state: 'running', acceptedMs, startedMs, isReady, ...(await this.said(env)), ending }
  }

  private async ended(record: PodRecord, traces: ShimTraces, nowMs: number): Promise<Run> {
    const { injector } = traces
    this.following.abort()
    // A container ends with its first process.
    if (injector !== undefined) await killRestOf(injector, [OWN_VARIABLE, record.env[OWN_VARIABLE] ?? ''])
    return (this.over = { ...endedRun(record, traces, nowMs), ...(await this.said(record.env)) })
  }

  private async said(env: PodRecord['env']): Promise<{ readonly said?: Said }> {
    const message = await readText(this.deps.folder.message)
    return message === undefined ? {} : { said: { message, isSimulated: env[SIMULATED_VARIABLE] !== undefined } }
  }
}

function endedRun({ acceptedMs, ending }: PodRecord, { injector, exit: said }: ShimTraces, nowMs: number): Run {
  const unseen: Exit = ending?.isKilled === true ? KILLED : { how: 'lost' }
  const exit = said === undefined ? unseen : exitOf(said.text)
  const finishedMs = said?.atMs ?? nowMs
  return { state: 'ended', acceptedMs, startedMs: injector?.startedMs, finishedMs, exit, ending }
}

const KILLED: Exit = { how: 'exited', code: 137 }

function exitOf(text: string): Exit {
  if (text === 'unstarted') return { how: 'unstarted', message: 'there is no such program as the injector' }
  return /^\d+$/.test(text) ? { how: 'exited', code: Number(text) } : { how: 'lost' }
}

/** Before it starts the injector, and when that has ended until it has said how. */
async function isShimAtWork({ claimedMs = 0, shim }: ShimTraces, nowMs: number): Promise<boolean> {
  return shim === undefined ? nowMs - claimedMs < SHIM_LIMIT_MS : await isThere(shim)
}

function unstarted(message: string, nowMs: number): Run {
  const exit: Exit = { how: 'unstarted', message }
  return { state: 'ended', acceptedMs: nowMs, startedMs: undefined, finishedMs: nowMs, exit, ending: undefined }
}
