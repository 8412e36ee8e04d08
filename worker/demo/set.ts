// Starts the demo's servers with `pawl dev --ephemeral` as a child process, as users do.

import { execFile, spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { childEnvironment } from '../server/config.ts'
import { BACKEND } from './shop-processes.ts'

const run = promisify(execFile)
const PAWL = fileURLToPath(new URL('../pawl.js', import.meta.url))

const CHAOS_CONFIG = fileURLToPath(new URL('../../examples/chaos/config.yaml', import.meta.url))

/** The simulator of FoundationDB has the documented waits of the real tools; the tour shortens them. */
export const SIMULATOR_TIMES = { FDB_SIM_TIME_SCALE: '0.1' } as const
/** Pawl waits up to 10 minutes after a recovery of a database before the next disturbance. */
const SHORT_RECOVERY_WAIT = ['--fdb-recovery-wait', '2s']

export interface DemoSet {
  readonly dataDir: string
  readonly kubeconfig: string
  /** Runs kubectl against the set and returns its output. */
  readonly kubectl: (...args: readonly string[]) => Promise<string>
  readonly temporalUi: string
  /** Address of `pawl api`. */
  readonly api: string
  /** Resolves when the set ends by itself. */
  readonly ended: Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Starts the set with these wings and shows its progress. @param interrupted a rejection aborts the start. @throws the
 * rejection, or an Error if the set ends before it is ready.
 */
export async function startSet(wings: readonly string[], interrupted: Promise<never>): Promise<DemoSet> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pawl-demo-'))
  // In its own process group: Ctrl-C reaches the demo, which then stops the set.
  const ofChaos = wings.includes('chaos') ? ['--chaos-config', CHAOS_CONFIG] : []
  const ofDatabases = wings.includes('foundationdb') ? SHORT_RECOVERY_WAIT : []
  const flags = ['--ephemeral', '--data-dir', dataDir, '--wings', wings.join(','), ...ofChaos, ...ofDatabases]
  const child = spawn(process.execPath, [PAWL, 'dev', ...flags], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: childEnvironment({ ...BACKEND, ...SIMULATOR_TIMES }),
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  const kill = () => child.kill('SIGTERM')
  process.once('exit', kill)

  const ready = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      process.stdout.write(chunk.toString().replace(/^(?=.)/gm, '  '))
      if (chunk.includes('Ctrl-C stops all')) resolve()
    })
  })
  await Promise.race([
    ready,
    ended.then(() => Promise.reject(new Error('pawl dev ended before it was ready; its output is above'))),
    interrupted.catch(async (error: unknown) => {
      await stop()
      throw error
    }),
  ])

  const { stdout } = await run(process.execPath, [PAWL, 'dev', 'status', '--data-dir', dataDir, '-o', 'json'])
  const { kubeconfig, kubectl, temporalUi, parts } = JSON.parse(stdout) as Record<
    'kubeconfig' | 'kubectl' | 'temporalUi',
    string
  > & { readonly parts: readonly { readonly name: string; readonly address: string | null }[] }
  return {
    dataDir,
    kubeconfig,
    temporalUi,
    api: parts.find(({ name }) => name === 'api')?.address ?? '',
    kubectl: async (...args) => (await run(kubectl, [`--kubeconfig=${kubeconfig}`, ...args])).stdout,
    ended,
    stop,
  }
}
