// The process of one container on this machine, in its own session, with all its restarts.
//
// R1. All facts about it are on disk (pod-folder.ts), so a later agent knows as much.
// R2. Signals are sent only to the started process, never to a later process with the same PID.

import { mkdir, open, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { isRunning } from '../server/process-identity.ts'
import type { ContainerSpec } from './agent-pod.ts'
import {
  type ContainerFacts,
  type ContainerRun,
  type EndedRun,
  type EndReason,
  type Exit,
  STABLE_MS,
} from './decide.ts'
import type { ContainerFolder, RunRecord, ShimTraces } from './pod-folder.ts'
import { Probe, runCheck, type ProbeTarget } from './probe.ts'
import { killContainer, OWN_VARIABLE, readText, signalTo } from './processes.ts'
import { startShim } from './shim.ts'

// A shim needs milliseconds to write its first file.
const SHIM_LIMIT_MS = 10_000
const CLAIM_POLL_MS = 5
const KILLED: Exit = { how: 'exited', code: 137 }

export interface RunStart {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly files: Readonly<Record<string, string>>
}

export interface ContainerRunDeps {
  readonly folder: ContainerFolder
  readonly podUid: string
  readonly podIP: string
  /** The command of an exec probe. */
  readonly probeCommand: (command: readonly string[]) => readonly string[]
  /** Called when the process runs; the signal is aborted when it has ended. */
  readonly whileRunning: (ended: AbortSignal) => void
  /** Called after a change. */
  readonly onChange: () => void
}

interface Probes {
  readonly startup: Probe | undefined
  readonly liveness: Probe | undefined
  readonly readiness: Probe | undefined
  startedMs: number | undefined
}

export class ContainerProcessRun {
  readonly spec: ContainerSpec
  private readonly deps: ContainerRunDeps
  private number: number | undefined
  private isNumberKnown = false
  private probes: Probes | undefined
  private following: AbortController | undefined
  /** The ended runs, which do not change, by number. */
  private readonly ends = new Map<number, EndedRun>()

  constructor(spec: ContainerSpec, deps: ContainerRunDeps) {
    this.spec = spec
    this.deps = deps
  }

  /** @param isRebooted whether the machine has been started again since the pod was accepted, so no process is left. */
  async look(isRebooted: boolean, nowMs: number): Promise<ContainerFacts> {
    const number = await this.lastNumber()
    if (number === undefined) return { run: { state: 'none' }, restarts: 0, crashes: 0 }
    const folder = this.deps.folder.run(number)
    const record = await folder.read()
    const last = number === 0 ? undefined : await this.endOf(number - 1)
    const before = { restarts: number, ...(last !== undefined && { last }) }
    // The agent ended before it wrote the record, so nothing was started.
    if (record === undefined) return { run: { state: 'none' }, crashes: 0, ...before }
    const run = this.ends.get(number) ?? (await this.lookAtRun(number, record, isRebooted, nowMs))
    if (run.state !== 'ended') return { run, crashes: record.crashes, ...before }
    const isStable = run.startedMs !== undefined && run.finishedMs - run.startedMs >= STABLE_MS
    return { run, crashes: isStable ? 1 : record.crashes + 1, ...before }
  }

  private async lastNumber(): Promise<number | undefined> {
    if (!this.isNumberKnown) this.number = await this.deps.folder.lastRun()
    this.isNumberKnown = true
    return this.number
  }

  private async endOf(number: number): Promise<EndedRun | undefined> {
    const known = this.ends.get(number)
    if (known !== undefined) return known
    const folder = this.deps.folder.run(number)
    const record = await folder.read()
    if (record === undefined) return undefined
    const end = endedRun(record, await folder.traces(), (await folder.writtenMs()) ?? 0)
    this.ends.set(number, end)
    return end
  }

  private async lookAtRun(
    number: number,
    record: RunRecord,
    isRebooted: boolean,
    nowMs: number,
  ): Promise<ContainerRun> {
    const folder = this.deps.folder.run(number)
    if (record.unstartable !== undefined) return this.noteEnd(number, endedRun(record, NO_TRACES, nowMs))
    const traces = await folder.traces()
    // R2
    if (isRebooted) return this.noteEnd(number, endedRun(record, traces, nowMs))
    if (traces.exit === undefined) {
      if (traces.process !== undefined && isRunning(traces.process))
        return await this.running(record, traces.process.startedMs, nowMs)
      // The agent ended before it started the shim.
      if (traces.claimedMs === undefined) return { state: 'none' }
      if (isShimRunning(traces, nowMs)) return { state: 'starting' }
    }
    // The shim may have written the exit code meanwhile. A container ends with its first process.
    await killContainer(record.env[OWN_VARIABLE] ?? '')
    const message = await readText(this.deps.folder.terminationLog)
    const end = endedRun(record, await folder.traces(), nowMs)
    return this.noteEnd(number, { ...end, ...(message !== undefined && { message }) })
  }

  private noteEnd(number: number, end: EndedRun): EndedRun {
    this.following?.abort()
    this.following = undefined
    this.probes = undefined
    this.ends.set(number, end)
    return end
  }

  private async running(record: RunRecord, startedMs: number, nowMs: number): Promise<ContainerRun> {
    if (this.following === undefined) {
      this.following = new AbortController()
      this.deps.whileRunning(this.following.signal)
    }
    const probes = (this.probes ??= this.makeProbes(record))
    if (record.ending === undefined) pollProbes(probes, startedMs, nowMs)
    const message = await readText(this.deps.folder.terminationLog)
    return {
      state: 'running',
      startedMs,
      ...probeResults(probes),
      ...(message !== undefined && { message }),
      ...(record.image !== undefined && { image: record.image }),
      ...(record.ending !== undefined && { ending: record.ending }),
    }
  }

  private makeProbes({ env, cwd }: RunRecord): Probes {
    const { podIP, probeCommand, onChange } = this.deps
    const target: ProbeTarget = { podIP, exec: (command) => ({ argv: probeCommand(command), env, cwd }) }
    const make = (spec: ContainerSpec['startup'], initially: boolean) =>
      spec === undefined ? undefined : new Probe(spec, initially, async () => await runCheck(spec, target), onChange)
    const { startup, liveness, readiness } = this.spec
    return {
      startup: make(startup, true),
      liveness: make(liveness, true),
      readiness: make(readiness, false),
      startedMs: undefined,
    }
  }

  /** The shortest period of its probes; undefined: it has none. */
  get periodMs(): number | undefined {
    const { startup, liveness, readiness } = this.spec
    const periods = [startup, liveness, readiness].flatMap((spec) => spec?.periodMs ?? [])
    return periods.length === 0 ? undefined : Math.min(...periods)
  }

  /**
   * Starts the next run.
   *
   * @param crashes the number of consecutive short runs of the image before this run.
   * @param start the process, or the reason why it can never start.
   */
  async start(start: RunStart | { readonly unstartable: string }, image: string, crashes: number): Promise<void> {
    const { folder, podUid, onChange } = this.deps
    const before = await this.lastNumber()
    // A folder without a process was left by an agent that ended at once.
    const isUnused = before !== undefined && (await folder.run(before).traces()).claimedMs === undefined
    const wasUnstartable = before !== undefined && this.ends.has(before)
    const next = before === undefined ? 0 : before + 1
    const number = before !== undefined && isUnused && !wasUnstartable ? before : next
    const run = folder.run(number)
    if ('unstartable' in start) {
      await run.write({ argv: [], env: {}, cwd: folder.root, image, crashes, unstartable: start.unstartable })
      this.number = number
      return
    }
    const env = { ...start.env, [OWN_VARIABLE]: `${podUid}/${this.spec.name}/${number}` }
    await rm(folder.terminationLog, { force: true })
    for (const [path, text] of Object.entries(start.files)) {
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, text, { mode: 0o600 })
    }
    await run.write({ argv: start.argv, env, cwd: start.cwd, image, crashes })
    this.number = number
    const log = await open(run.log, 'a', 0o600)
    const shim = { isOver: false }
    const ended = () => {
      shim.isOver = true
      onChange()
    }
    try {
      await startShim({ folder: run.path, cwd: start.cwd, argv: start.argv, env, log: log.fd, ended })
    } finally {
      await log.close()
    }
    // Without this wait, the state would be `none` after the start.
    while (!shim.isOver && (await run.traces()).claimedMs === undefined) await sleep(CLAIM_POLL_MS)
  }

  /** Ends the present run; the reason is on record. */
  async terminate(why: EndReason, graceMs: number, nowMs: number): Promise<void> {
    if (this.number !== undefined && this.ends.has(this.number)) return
    await this.record({ why, sinceMs: nowMs, graceMs, isKilled: false })
    await this.signal('SIGTERM')
  }

  private async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const number = await this.lastNumber()
    if (number === undefined) return
    const { process } = await this.deps.folder.run(number).traces()
    if (process !== undefined) signalTo(process, name, name === 'SIGKILL' ? 'group' : 'process')
  }

  /** Kills the present run with its children. */
  async kill(): Promise<void> {
    const number = await this.lastNumber()
    const ending = number === undefined ? undefined : (await this.deps.folder.run(number).read())?.ending
    if (ending !== undefined) await this.record({ ...ending, isKilled: true })
    await this.signal('SIGKILL')
  }

  /** The last run's environment; undefined: it has not started. */
  async env(): Promise<Readonly<Record<string, string>> | undefined> {
    const number = await this.lastNumber()
    return number === undefined ? undefined : (await this.deps.folder.run(number).read())?.env
  }

  private async record(ending: NonNullable<RunRecord['ending']>): Promise<void> {
    const number = await this.lastNumber()
    const folder = number === undefined ? undefined : this.deps.folder.run(number)
    const record = await folder?.read()
    if (folder !== undefined && record !== undefined) await folder.write({ ...record, ending })
  }
}

function hasStarted({ startup }: Probes): boolean {
  return startup === undefined || (startup.isDecided && startup.succeeds)
}

/** The other probes begin after the startup probe has succeeded. */
function pollProbes(probes: Probes, startedMs: number, nowMs: number): void {
  probes.startup?.poll(startedMs, nowMs)
  if (!hasStarted(probes)) return
  probes.startedMs ??= probes.startup === undefined ? startedMs : nowMs
  probes.liveness?.poll(probes.startedMs, nowMs)
  probes.readiness?.poll(probes.startedMs, nowMs)
}

function probeResults(probes: Probes) {
  const { startup, liveness, readiness } = probes
  const isStarted = hasStarted(probes)
  return {
    isStarted,
    isReady: isStarted && (readiness?.succeeds ?? true),
    isUnhealthy: startup?.succeeds === false || liveness?.succeeds === false,
  }
}

const NO_TRACES: ShimTraces = { claimedMs: undefined, shim: undefined, process: undefined, exit: undefined }

function endedRun(record: RunRecord, { process, exit: file }: ShimTraces, nowMs: number): EndedRun {
  const { image, ending, unstartable } = record
  const end = {
    state: 'ended' as const,
    startedMs: process?.startedMs,
    finishedMs: file?.atMs ?? nowMs,
    ...(image !== undefined && { image }),
    ...(ending !== undefined && { why: ending.why }),
  }
  if (unstartable !== undefined) return { ...end, exit: { how: 'unstarted', message: unstartable } }
  const unseen: Exit = ending?.isKilled === true ? KILLED : { how: 'lost' }
  return { ...end, exit: file === undefined ? unseen : exitOf(file.text) }
}

function exitOf(text: string): Exit {
  if (text === 'unstarted') return { how: 'unstarted', message: 'the program of the container does not exist' }
  return /^\d+$/.test(text) ? { how: 'exited', code: Number(text) } : { how: 'lost' }
}

/** Whether the shim works: before it starts the process, and after its end until the exit code is written. */
function isShimRunning({ claimedMs = 0, shim }: ShimTraces, nowMs: number): boolean {
  return shim === undefined ? nowMs - claimedMs < SHIM_LIMIT_MS : isRunning(shim)
}
