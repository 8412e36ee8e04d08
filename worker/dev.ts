// `pawl dev`: starts the servers and Pawl's own processes for one data folder.
//
//   S1. A lock file allows one supervisor per data folder, so two starts never share a database.
//   S2. `state.json` exists only while all servers are ready.
//   S3. An ephemeral folder is removed at the end; after a failure its logs stay. A folder that contains other files is refused.
//   S4. A server or a process of Pawl that ends by itself is started again (dev/group.ts).

import { mkdir, mkdtemp, readdir, symlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Config } from './server/config.ts'
import type { GivenFlags } from './server/flags.ts'
import { LockHeldError, takeLock } from './dev/lock.ts'
import type { Progress } from './dev/obtain.ts'
import { type PawlParts, startPawl } from './dev/pawl-parts.ts'
import { type Part, PartDiedError } from './dev/part.ts'
import type { Ports } from './dev/ports.ts'
import { identify } from './server/process-identity.ts'
import {
  aborted,
  EPHEMERAL_MARK,
  failed,
  startServers,
  type ServerOptions,
  type Servers,
  type TemporalStore,
} from './dev/servers.ts'
import { type CodeWatch, watchCode } from './dev/watch-code.ts'
import { controllerFiles } from './server/load-controllers.ts'
import { removeState, writeState, type DevState, type PartState } from './dev/state.ts'

export interface DevOptions {
  readonly config: Config
  /** Undefined for the configured folder, or with `ephemeral` for a new temporary folder. */
  readonly dataDir: string | undefined
  readonly ephemeral: boolean
  readonly ports?: Partial<Ports>
  readonly own?: NonNullable<ServerOptions['own']>
  readonly audit?: boolean
  readonly temporalStore?: TemporalStore
  /** Names of the enabled wings, separated by commas; undefined for all. */
  readonly wings?: string | undefined
  /** Given flags of wings. */
  readonly wingFlags?: GivenFlags
  /** Modules of controllers in level mode, separated by commas. */
  readonly controllers?: string | undefined
  /** Restarts Pawl's processes when the controllers' code changes. */
  readonly watch?: boolean
  readonly progress: Progress
  /** Aborts the start. */
  readonly signal?: AbortSignal
}

export interface Dev {
  readonly state: DevState
  readonly servers: Servers
  /** Stops everything; can be called again. @param how `failed`: keeps the logs of an ephemeral folder. */
  readonly stop: (how?: 'failed') => Promise<void>
}

/**
 * Starts the set; resolves when everything is ready.
 *
 * @throws an Error if the data folder is in use, a binary is missing, or a server does not become ready; then
 * everything is stopped.
 */
export async function startDev(options: DevOptions): Promise<Dev> {
  // Files of the servers are readable by this user only.
  process.umask(0o077)
  const dataDir = await prepareFolder(options)
  const release = await lockFolder(dataDir)
  try {
    const current: { set?: Awaited<ReturnType<typeof completeSet>> } = {}
    let written = Promise.resolve()
    const writeCurrent = async () => {
      // S2
      if (current.set !== undefined) await writeState(describe(current.set.servers, { ...options, dataDir }))
    }
    // Several servers may restart at the same time; the file is written by one at a time.
    const restarts = { progress: options.progress, onRestart: () => (written = written.then(writeCurrent)) }
    const servers = await startServers({ ...options, dataDir, restarts })
    const set = await completeSet(servers, { ...options, dataDir })
    current.set = set
    const { watched } = set
    const stop = async (how?: 'failed') => {
      watched?.close()
      await stopSet(servers, dataDir, { release, how })
    }
    return { ...set, stop }
  } catch (error) {
    await release()
    throw error
  }
}

async function completeSet(
  servers: Servers,
  options: DevOptions & { dataDir: string },
): Promise<Omit<Dev, 'stop'> & { readonly watched?: CodeWatch }> {
  const { dataDir, config, own, wings, wingFlags, controllers, progress, signal, watch = false } = options
  const { temporalNamespace } = config
  const onEnd = (error: Error) => {
    progress(`${error.message}\nwaits for a change of the code`)
  }
  const pawl = startPawl({
    servers,
    config,
    dataDir,
    wings,
    wingFlags,
    controllers,
    progress,
    onEnd: watch ? onEnd : undefined,
    temporalNamespace,
    ownTemporal: own?.temporalAddress === undefined ? undefined : options.config,
  })
  try {
    const parts = await Promise.race([pawl, failed(servers.failure), aborted(signal)])
    await linkCommand(dataDir)
    const state = describe(servers, options)
    // S2
    await writeState(state)
    return { state, servers, ...(watch && { watched: await restartOnChange(parts, servers, options) }) }
  } catch (error) {
    await servers.stop(signal?.aborted === true ? undefined : 'failed')
    await pawl.catch(() => undefined)
    throw error
  }
}

async function restartOnChange(
  parts: PawlParts,
  servers: Servers,
  options: DevOptions & { dataDir: string },
): Promise<CodeWatch> {
  const { controllers, progress } = options
  return await watchCode(controllerFiles(controllers), async (file) => {
    const changedAt = Date.now()
    progress(`${file} has changed`)
    try {
      await parts.restart()
      await writeState(describe(servers, options))
      progress(`runs the new code, after ${((Date.now() - changedAt) / 1000).toFixed(1)} s`)
    } catch (error) {
      // onEnd has reported a process that did not become ready, unless it was only slow.
      if (!(error instanceof PartDiedError)) progress(error instanceof Error ? error.message : String(error))
    }
  })
}

async function stopSet(
  servers: Servers,
  dataDir: string,
  { release, how }: { readonly release: () => Promise<void>; readonly how: 'failed' | undefined },
): Promise<void> {
  await removeState(dataDir)
  await servers.stop(how)
  await release()
}

/** The addresses and the next commands, for users. */
export function summary({ dataDir, kubeconfig, kubectl, temporalUi, parts }: DevState): string {
  const width = Math.max(...parts.map(({ name }) => name.length))
  const lines = parts.map(
    ({ name, address, process }) =>
      `  ${name.padEnd(width)}  ${address ?? (process === null ? '' : `pid ${process.pid}`)}`,
  )
  return [
    `Pawl is ready. Data: ${dataDir}`,
    ...lines,
    ...(temporalUi === null ? [] : [`  ${'Temporal UI'.padEnd(width)}  ${temporalUi}`]),
    '',
    `export KUBECONFIG=${kubeconfig}`,
    `export PATH=${dirname(kubectl)}:$PATH`,
  ].join('\n')
}

/** Creates the data folder and returns its path (S3). */
export async function prepareFolder({
  dataDir,
  ephemeral,
  config,
}: Pick<DevOptions, 'dataDir' | 'ephemeral' | 'config'>): Promise<string> {
  if (!ephemeral) {
    const dir = dataDir ?? config.dataDir
    await mkdir(dir, { recursive: true, mode: 0o711 })
    return dir
  }
  const dir = dataDir ?? (await mkdtemp(join(tmpdir(), 'pawl-')))
  const entries = await readdir(dir).catch((): string[] => [])
  if (entries.length > 0 && !entries.includes(EPHEMERAL_MARK)) {
    throw new Error(
      `data folder ${dir} is not empty; use an empty or a new folder, because --ephemeral removes it at the end`,
    )
  }
  await mkdir(dir, { recursive: true, mode: 0o711 })
  await writeFile(join(dir, EPHEMERAL_MARK), '')
  return dir
}

async function lockFolder(dataDir: string): Promise<() => Promise<void>> {
  try {
    return await takeLock(join(dataDir, 'lock'), { waitMs: 0 })
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error
    throw new Error(
      `data folder ${dataDir} is in use by process ${error.pid ?? 'unknown'}, expected none; see pawl dev status, or pawl dev stop`,
      { cause: error },
    )
  }
}

/** Links `pawl` next to kubectl, and as `kubectl-pawl`, the name of a kubectl plugin. */
async function linkCommand(dataDir: string): Promise<void> {
  const command = fileURLToPath(new URL('pawl.js', import.meta.url))
  for (const name of ['pawl', 'kubectl-pawl']) {
    const link = join(dataDir, 'bin', name)
    await rm(link, { force: true })
    await symlink(command, link)
  }
}

function describe(servers: Servers, { dataDir, ephemeral, own }: DevOptions & { dataDir: string }): DevState {
  const supervisor = identify(process.pid)
  if (supervisor === undefined) throw new Error(`process ${process.pid} does not find itself`)
  return {
    dataDir,
    supervisor,
    startedAt: new Date().toISOString(),
    ephemeral,
    kubeconfig: servers.kubeconfigPath,
    kubectl: servers.kubectlPath,
    temporalUi: servers.temporalUiUrl ?? null,
    parts: [...servers.parts.map(ours), ...theirs(servers, own ?? {})],
  }
}

function ours({ spec, identity }: Part): PartState {
  return { name: spec.name, process: identity, address: spec.address ?? null, logFile: spec.logFile }
}

function theirs(servers: Servers, own: NonNullable<ServerOptions['own']>): PartState[] {
  const part = (name: string, address: string): PartState => ({
    name: `${name} (yours)`,
    process: null,
    address,
    logFile: null,
  })
  return [
    ...(own.kubeconfig === undefined ? [] : [part('kubernetes', servers.kubernetesUrl)]),
    ...(own.databaseUrl === undefined ? [] : [part('postgresql', withoutUser(own.databaseUrl))]),
    ...(own.temporalAddress === undefined ? [] : [part('temporal', own.temporalAddress)]),
  ]
}

function withoutUser(url: string): string {
  const parsed = new URL(url)
  parsed.username = ''
  parsed.password = ''
  return parsed.href
}
