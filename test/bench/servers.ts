// The set that is measured: real servers on durable storage, as `pawl dev` has them, with bridge and worker. Either one of the
// bench's own, in a fresh folder that is removed at the end, or a running one that is left alone.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

import { readConfig } from '../../worker/server/config.ts'
import { startDev, type Dev } from '../../worker/dev.ts'
import type { TemporalStore } from '../../worker/dev/servers.ts'
import { readState, type DevState } from '../../worker/dev/state.ts'
import { PartRestarts, type Restart } from './part-restarts.ts'
import type { ProcessTree } from './processes.ts'
import type { Say } from './progress.ts'
import type { Scenario } from './scenario.ts'
import { countStatements } from './statements.ts'

/** Disruptions that are undone do not stay for the sake of their metrics. */
const CHAOS_CONFIG = fileURLToPath(new URL('../../examples/chaos/config.yaml', import.meta.url))

export interface BenchSet {
  /** Whether it was started by the bench, and goes with it. */
  readonly isOwn: boolean
  readonly kubeconfigPath: string
  readonly temporalAddress: string
  /** With the password. */
  readonly databaseUrl: string
  readonly processes: readonly ProcessTree[]
  readonly logFile: (part: string) => string
  /** Rejects when a part of a set of the bench's own dies. */
  readonly failure: Promise<never>
  /** Stops parts and starts them again; `processes` follows. Undefined: the set is not the bench's own. */
  readonly restart?: (names: readonly string[]) => Promise<Restart>
  /** Stops and removes what was started. */
  readonly stop: () => Promise<void>
}

export interface SetOptions {
  /** Of a running set; undefined: one of the bench's own is started. */
  readonly dataDir: string | undefined
  readonly temporalStore: TemporalStore
  /** Whether bridge and worker can be profiled side by side, and PostgreSQL counts statements. */
  readonly forProfile: boolean
  /** Of one of the bench's own, as the flag has them. */
  readonly wings?: string | undefined
  readonly prepare?: Scenario['prepare']
  readonly signal: AbortSignal
  readonly say: Say
}

export async function openSet(options: SetOptions): Promise<BenchSet> {
  if (options.dataDir === undefined) return await startSet(options)
  if (options.prepare !== undefined)
    throw new Error(`--data-dir: found ${options.dataDir}, expected none: this scenario needs a set of its own`)
  const state = await readState(options.dataDir)
  if (state === undefined) throw new Error(`nothing runs for ${options.dataDir}, expected pawl dev to`)
  const never = new Promise<never>(() => undefined)
  return { ...(await describeSet(state)), isOwn: false, failure: never, stop: () => Promise.resolve() }
}

async function startSet({ temporalStore, forProfile, wings, prepare, signal, say }: SetOptions): Promise<BenchSet> {
  // Each process listens to an inspector on a port of its own, once it is told to.
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --inspect-port=0`
  const dataDir = await mkdtemp(join(tmpdir(), 'pawl-bench-'))
  const start = () =>
    startDev({
      config: readConfig(),
      dataDir,
      ephemeral: false,
      temporalStore,
      wings,
      progress: say,
      signal,
      ...(wings?.includes('chaos') === true && { wingFlags: { 'chaos-config': CHAOS_CONFIG } }),
    })
  try {
    const dev = await (forProfile ? startForProfile(start) : start())
    await prepare?.(dev.servers)
    for (const dir of foldersOf(dev, dataDir)) dev.servers.removeAtEnd(dir)
    const described = await describeSet(dev.state)
    // As they run now: some may have been started anew.
    const parts = dev.servers.parts.map(({ spec, identity }) => ({ name: spec.name, pid: identity.pid }))
    const restarts = new PartRestarts(dev.servers, parts, described.logFile)
    const { processes, failure } = restarts
    const restart = (names: readonly string[]) => restarts.restart(names)
    return { ...described, processes, isOwn: true, failure, restart, stop: () => dev.stop() }
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true })
    throw error
  }
}

/** Twice, since PostgreSQL learns at its start that it shall count. */
async function startForProfile(start: () => Promise<Dev>): Promise<Dev> {
  const first = await start()
  try {
    await countStatements(first.servers.databaseUrl)
  } finally {
    await first.stop()
  }
  return await start()
}

/** All that holds the set's data: PostgreSQL's may have to be elsewhere. */
function foldersOf({ servers }: Dev, dataDir: string): readonly string[] {
  const args = servers.parts.find(({ spec }) => spec.name === 'postgresql')?.spec.args ?? []
  const data = args[args.indexOf('-D') + 1] ?? dataDir
  return relative(dataDir, data).startsWith('..') ? [dataDir, dirname(data)] : [dataDir]
}

async function describeSet({
  dataDir,
  kubeconfig,
  parts,
}: DevState): Promise<Omit<BenchSet, 'isOwn' | 'failure' | 'stop'>> {
  const named = (name: string) => {
    const part = parts.find((one) => one.name === name)
    if (part === undefined)
      throw new Error(`the set of ${dataDir} has no ${name} of its own, expected pawl dev with all its servers`)
    return part
  }
  const url = new URL(named('postgresql').address ?? '')
  url.username = 'pawl'
  url.password = (await readFile(join(dataDir, 'postgresql', 'password'), 'utf8')).trim()
  return {
    kubeconfigPath: kubeconfig,
    temporalAddress: named('temporal').address ?? '',
    databaseUrl: url.href,
    processes: parts.flatMap(({ name, process }) => (process === null ? [] : { name, pid: process.pid })),
    logFile: (part) => named(part).logFile ?? '',
  }
}
