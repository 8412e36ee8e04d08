// Creates a database by hand: starts fdbserver processes, runs `configure new`, and reads `status json` until the database is available.
//
//   H1. Only the processes of the database run: no fdbmonitor and no sidecar. Pods have both, so the claim is strict.
//   H2. The processes and their folder belong to a group, which a guard ends if the bench dies.

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Database } from '../../../activities/foundationdb/database/database.ts'
import { fdbcliDatabases } from '../../../activities/foundationdb/database/fdbcli-database.ts'
import { CommandFailure } from '../../../activities/foundationdb/database/fdbcli-output.ts'
import type { Tools } from '../../../activities/foundationdb/database/tools.ts'
import { startGroup } from '../../../worker/dev/group.ts'
import { startPart } from '../../../worker/dev/part.ts'
import { failed } from '../../../worker/dev/servers.ts'
import type { DatabasePlan } from './plan.ts'

export interface HandTimes {
  /** From the start of the first process. */
  readonly configuredMs: number
  readonly availableMs: number
}

export interface HandSettings {
  readonly tools: Tools
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

const COORDINATORS = 3
const POLL_MS = 50

/** Creates the database and stops it. @throws if a process ends, or the database is not available in time. */
export async function createByHand(plan: DatabasePlan, settings: HandSettings): Promise<HandTimes> {
  const group = await startGroup()
  try {
    // H2
    const folder = await mkdtemp(join(tmpdir(), 'pawl-by-hand-'))
    group.removeAtEnd(folder)
    const addresses = chooseAddresses(plan.classes.length)
    const connectionString = `sample:byhand@${addresses.slice(0, COORDINATORS).join(',')}`
    const seed = join(folder, 'fdb.cluster')
    await writeFile(seed, `${connectionString}\n`)
    const fdbserver = await settings.tools.find('fdbserver', plan.version)
    const folders = plan.classes.map((_, at) => join(folder, String(at)))
    for (const one of folders) await mkdir(one)

    const startedAt = performance.now()
    const parts = plan.classes.map((processClass, at) => {
      const [directory = '', address = ''] = [folders[at], addresses[at]]
      const args = argumentsOf({ directory, seed, address, processClass })
      const logFile = join(directory, 'output.log')
      const spec = { name: `fdbserver ${address}`, command: fdbserver, args, logFile, stopSignal: 'SIGKILL' } as const
      return startPart(spec, group.add)
    })
    await Promise.all(parts)
    const database = fdbcliDatabases({ tools: settings.tools, environment: process.env }).open(
      { connectionString, version: plan.version },
      settings.signal,
    )
    return await Promise.race([configureNew(database, plan, startedAt, settings), failed(group.failure)])
  } finally {
    await group.stop()
  }
}

async function configureNew(
  database: Database,
  { configuration }: DatabasePlan,
  startedAt: number,
  { timeoutMs, signal }: HandSettings,
): Promise<HandTimes> {
  const passed = () => performance.now() - startedAt
  const until = async (goal: string, isReached: () => Promise<boolean>): Promise<number> => {
    // A command fails while too few processes answer; a user repeats it.
    while (!(await isReached().catch(falseIfCommandFailed))) {
      if (passed() > timeoutMs) throw new Error(`database by hand: not ${goal} after ${timeoutMs} ms`)
      await sleep(POLL_MS, undefined, { signal })
    }
    return passed()
  }
  const configuredMs = await until('configured', async () => {
    await database.configure(configuration, { isNew: true })
    return true
  })
  const availableMs = await until('available', async () => (await database.status()).isAvailable)
  return { configuredMs, availableMs }
}

/** `configure new` on a configured database fails, too: an attempt that timed out has configured it. */
function falseIfCommandFailed(error: unknown): boolean {
  if (error instanceof CommandFailure) return error.kind === 'exists'
  throw error
}

/** The arguments of examples/foundationdb/cluster.yaml: each process is a fault domain. */
function argumentsOf(of: {
  readonly directory: string
  readonly seed: string
  readonly address: string
  readonly processClass: string
}): readonly string[] {
  const zone = of.address.replace(/:.*/, '')
  return Object.entries({
    cluster_file: join(of.directory, 'fdb.cluster'),
    seed_cluster_file: of.seed,
    public_address: of.address,
    class: of.processClass,
    datadir: of.directory,
    logdir: of.directory,
    locality_zoneid: zone,
    locality_machineid: zone,
    knob_disable_posix_kernel_aio: '1',
  }).map(([name, value]) => `--${name}=${value}`)
}

/** Random addresses outside of 127.64.0.0/10, where the node agent chooses addresses of pods. */
function chooseAddresses(count: number): readonly string[] {
  const network = `127.${128 + Math.floor(Math.random() * 120)}.${Math.floor(Math.random() * 256)}`
  return Array.from({ length: count }, (_, at) => `${network}.${at + 1}:4501`)
}
