// Starts the servers that the bench measures: the servers of `pawl dev` on durable storage, with bridge and worker, in a
// new folder. The bench removes them at the end.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

import { createKubeClient, type KubeClient } from '../../activities/kube/client.ts'
import { startDev, type Dev } from '../../worker/dev.ts'
import type { Servers } from '../../worker/dev/servers.ts'
import type { DevState } from '../../worker/dev/state.ts'
import { readConfig } from '../../worker/server/config.ts'
import type { GivenFlags } from '../../worker/server/flags.ts'
import type { ProcessTree } from './processes.ts'
import type { Context, ScenarioResult } from './scenario.ts'
import { measureYardsticks, yardstickSection } from './yardsticks.ts'

/** Makes Pawl delete finished Disruptions at once, instead of keeping them for their metrics. */
const CHAOS_CONFIG = fileURLToPath(new URL('../../examples/chaos/config.yaml', import.meta.url))

export interface BenchSet {
  readonly kubeconfigPath: string
  readonly kubectlPath: string
  readonly temporalAddress: string
  /** Includes the password. */
  readonly databaseUrl: string
  readonly processes: readonly ProcessTree[]
  readonly logFile: (part: string) => string
  /** Rejects when a part of the bench's own set dies. */
  readonly failure: Promise<never>
  readonly stop: () => Promise<void>
}

/** A scenario's view of the servers. */
export interface Stage extends Context {
  readonly set: BenchSet
  readonly kube: KubeClient
}

export interface SetNeeds {
  /** The names of the wings to serve, as in the flag --wings. Undefined: the default of `pawl dev`. */
  readonly wings?: string | undefined
  /** Flags of these wings. */
  readonly wingFlags?: GivenFlags
  /** Changes the started servers before the measurement. */
  readonly prepare?: (servers: Servers) => Promise<void>
}

/** Runs the work on a set, between two measurements of the yardsticks, and stops the set. */
export async function withSet(
  context: Context,
  needs: SetNeeds,
  work: (stage: Stage) => Promise<ScenarioResult>,
): Promise<ScenarioResult> {
  const set = await startSet(context, needs)
  const kube = createKubeClient({ kubeconfigPath: set.kubeconfigPath, userAgent: 'bench' })
  try {
    const measured = withYardsticks({ ...context, set, kube }, work)
    return await Promise.race([measured, set.failure, context.interrupted])
  } finally {
    await kube.close()
    await set.stop()
  }
}

async function withYardsticks(stage: Stage, work: (stage: Stage) => Promise<ScenarioResult>): Promise<ScenarioResult> {
  if (!stage.options.yardsticks) return await work(stage)
  const before = await measureYardsticks(stage)
  const { failures, sections } = await work(stage)
  const after = await measureYardsticks(stage)
  return { failures, sections: [yardstickSection(before, after), ...sections] }
}

async function startSet({ options, signal, log }: Context, { wings, wingFlags, prepare }: SetNeeds): Promise<BenchSet> {
  // Each process gets its own inspector port. It listens only after SIGUSR1 (inspector.ts).
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --inspect-port=0`
  const dataDir = await mkdtemp(join(tmpdir(), 'pawl-bench-'))
  try {
    const dev = await startDev({
      config: readConfig(),
      dataDir,
      ephemeral: false,
      temporalStore: options.temporalStore,
      wings,
      progress: log,
      signal,
      wingFlags: { ...(wings?.includes('chaos') === true && { 'chaos-config': CHAOS_CONFIG }), ...wingFlags },
    })
    await prepare?.(dev.servers)
    for (const folder of dataFolders(dev, dataDir)) dev.servers.removeAtEnd(folder)
    const described = await describeSet(dev.state)
    // `prepare` may have restarted parts.
    const processes = dev.servers.parts.map(({ spec, identity }) => ({ name: spec.name, pid: identity.pid }))
    const failure = dev.servers.failure.then((error) => Promise.reject(error))
    failure.catch(() => undefined)
    return { ...described, processes, failure, stop: () => dev.stop() }
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true })
    throw error
  }
}

/** All folders with data of the set. PostgreSQL's data may be in another folder. */
function dataFolders({ servers }: Dev, dataDir: string): readonly string[] {
  const args = servers.parts.find(({ spec }) => spec.name === 'postgresql')?.spec.args ?? []
  const data = args[args.indexOf('-D') + 1] ?? dataDir
  return relative(dataDir, data).startsWith('..') ? [dataDir, dirname(data)] : [dataDir]
}

async function describeSet({
  dataDir,
  kubeconfig,
  kubectl,
  parts,
}: DevState): Promise<Omit<BenchSet, 'failure' | 'stop'>> {
  const partNamed = (name: string) => {
    const part = parts.find((one) => one.name === name)
    if (part === undefined)
      throw new Error(`pawl dev in ${dataDir} has no ${name}, expected one that starts all servers`)
    return part
  }
  const url = new URL(partNamed('postgresql').address ?? '')
  url.username = 'pawl'
  url.password = (await readFile(join(dataDir, 'postgresql', 'password'), 'utf8')).trim()
  return {
    kubeconfigPath: kubeconfig,
    kubectlPath: kubectl,
    temporalAddress: partNamed('temporal').address ?? '',
    databaseUrl: url.href,
    processes: parts.flatMap(({ name, process }) => (process === null ? [] : { name, pid: process.pid })),
    logFile: (part) => partNamed(part).logFile ?? '',
  }
}
