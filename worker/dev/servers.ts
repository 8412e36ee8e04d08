// Starts and stops the servers that Pawl needs: Kubernetes, PostgreSQL and Temporal, without Pawl's own processes.

import { execFile } from 'node:child_process'
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import type { Config } from '../server/config.ts'
import { startGroup, type Group, type Restarts } from './group.ts'
import { type KubeAccess, nodeManifests, nodesAreReady, startCluster } from './kubernetes.ts'
import { obtainBinaries, type Binaries, type Progress } from './obtain.ts'
import type { BinaryName } from './pins.ts'
import { choosePorts, type Ports } from './ports.ts'
import { startPostgres } from './postgres.ts'
import { startTemporalOnPostgres } from './temporal-postgres.ts'
import { startTemporal } from './temporal.ts'

const run = promisify(execFile)
/** The file that marks a folder which `pawl dev --ephemeral` may remove. */
export const EPHEMERAL_MARK = '.pawl-ephemeral'
const LOGS = 'logs'
const NODES_LIMIT_MS = 60_000

export type TemporalStore = 'sqlite' | 'postgres'

export interface ServerOptions {
  readonly config: Config
  readonly dataDir: string
  readonly ephemeral: boolean
  readonly progress: Progress
  readonly ports?: Partial<Ports>
  /** The user's own servers. */
  readonly own?: { readonly kubeconfig?: string; readonly databaseUrl?: string; readonly temporalAddress?: string }
  /** Temporal's storage: SQLite is the development server (default); PostgreSQL is the real server without UI. */
  readonly temporalStore?: TemporalStore
  /** True to write an audit log to `<dataDir>/logs/audit.log` and to count PostgreSQL statements. */
  readonly audit?: boolean
  /** See `ClusterOptions`. */
  readonly clusterProxy?: string
  /** Restarts servers that end by themselves; default: their end is a failure. */
  readonly restarts?: Restarts
  /** Aborts the start. */
  readonly signal?: AbortSignal
}

export interface Servers extends Group {
  /** Address of kube-apiserver. */
  readonly kubernetesUrl: string
  readonly kubeconfigPath: string
  readonly kubectlPath: string
  /** With the password. */
  readonly databaseUrl: string
  readonly temporalAddress: string
  /** Undefined for the user's own Temporal, and for Temporal on PostgreSQL. */
  readonly temporalUiUrl: string | undefined
  readonly auditLogPath: string | undefined
  readonly ports: Ports
}

/** Starts the servers; resolves when all are ready. A failure or an abort stops the started servers. */
export async function startServers(options: ServerOptions): Promise<Servers> {
  const { dataDir, config, progress, ephemeral, signal } = options
  const binaries = await obtainBinaries(neededBinaries(options), { config, progress })
  signal?.throwIfAborted()
  await makeFolders(dataDir)
  const group = await startGroup(options.restarts)
  if (ephemeral) group.removeAtEnd(dataDir, [LOGS, EPHEMERAL_MARK])

  const provided = provideAll(options, binaries, group)
  try {
    return { ...(await Promise.race([provided, failed(group.failure), aborted(signal)])), ...group }
  } catch (error) {
    await group.stop(signal?.aborted === true ? undefined : 'failed')
    // Servers that are just starting are added to the stopped group and stopped.
    await provided.catch(() => undefined)
    throw error
  }
}

/** Rejects when a server ends. */
export async function failed(failure: Promise<Error>): Promise<never> {
  throw await failure
}

/** Rejects when the signal aborts; never settles without one. */
export function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => reject(new Error('stopped while starting', { cause: signal?.reason }))
    if (signal?.aborted === true) stop()
    signal?.addEventListener('abort', stop, { once: true })
  })
}

async function makeFolders(dataDir: string): Promise<void> {
  // If root runs pawl, PostgreSQL runs as another user, who must be able to enter the folder but not list it.
  await mkdir(dataDir, { recursive: true })
  await chmod(dataDir, 0o711)
  await mkdir(join(dataDir, 'logs'), { recursive: true, mode: 0o700 })
  await mkdir(join(dataDir, 'bin'), { recursive: true, mode: 0o700 })
}

async function provideAll(
  options: ServerOptions,
  binaries: Binaries,
  group: Group,
): Promise<Omit<Servers, keyof Group>> {
  const { dataDir, own } = options
  const ports = await choosePorts(join(dataDir, 'ports.json'), options.ports ?? {})
  const kubectlPath = join(dataDir, 'bin', 'kubectl')
  await rm(kubectlPath, { force: true })
  await symlink(binaries.kubectl, kubectlPath)

  const kubeconfigPath = join(dataDir, 'kubeconfig')
  const database = provideDatabase(options, { ports, group })
  const [kubernetesUrl, databaseUrl, temporalAddress] = await Promise.all([
    provideCluster(options, { binaries, ports, group }),
    database,
    provideTemporal(options, { binaries, ports, group, database }),
  ])
  const hasUi = own?.temporalAddress === undefined && options.temporalStore !== 'postgres'
  const temporalUiUrl = hasUi ? `http://127.0.0.1:${ports.temporalUi}` : undefined
  return {
    kubernetesUrl,
    kubeconfigPath,
    kubectlPath,
    databaseUrl,
    temporalAddress,
    temporalUiUrl,
    auditLogPath: auditLogPath(options),
    ports,
  }
}

/** The binaries that these options need. */
export function neededBinaries({
  own,
  temporalStore,
}: Pick<ServerOptions, 'own' | 'temporalStore'>): readonly BinaryName[] {
  const cluster: readonly BinaryName[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok']
  return [
    'kubectl',
    ...(own?.kubeconfig === undefined ? cluster : []),
    ...(own?.temporalAddress === undefined ? temporalBinaries(temporalStore) : []),
  ]
}

function temporalBinaries(store: TemporalStore = 'sqlite'): readonly BinaryName[] {
  return store === 'sqlite' ? ['temporal'] : ['temporal-server', 'temporal-sql-tool']
}

interface Provision {
  readonly binaries: Binaries
  readonly ports: Ports
  readonly group: Group
}

async function provideCluster(options: ServerOptions, { binaries, ports, group }: Provision): Promise<string> {
  const { dataDir, own, ephemeral, progress } = options
  const kubeconfigPath = join(dataDir, 'kubeconfig')
  if (own?.kubeconfig !== undefined) {
    // A self-contained copy: files that the user's kubeconfig references by relative path are embedded.
    const flat = await run(binaries.kubectl, [
      'config',
      'view',
      '--raw',
      '--minify',
      '--flatten',
      `--kubeconfig=${own.kubeconfig}`,
    ])
    await writeFile(kubeconfigPath, flat.stdout, { mode: 0o600 })
    const server = ['config', 'view', `--kubeconfig=${kubeconfigPath}`, '-o', 'jsonpath={.clusters[0].cluster.server}']
    return (await run(binaries.kubectl, server)).stdout
  }
  const access = await startCluster({
    dir: join(dataDir, 'kubernetes'),
    logDir: join(dataDir, 'logs'),
    binaries,
    ports,
    ephemeral,
    kubeconfigPath,
    auditLogPath: auditLogPath(options),
    clusterProxy: options.clusterProxy,
    onPart: group.add,
  })
  progress(`kubernetes: ready at ${access.url}`)
  await addNodes(access, { kubectl: binaries.kubectl, kubeconfigPath, dir: join(dataDir, 'kubernetes') })
  return access.url
}

async function addNodes(
  access: KubeAccess,
  files: { kubectl: string; kubeconfigPath: string; dir: string },
): Promise<void> {
  const manifests = join(files.dir, 'nodes.yaml')
  await writeFile(manifests, nodeManifests())
  await run(files.kubectl, [
    `--kubeconfig=${files.kubeconfigPath}`,
    'apply',
    '--server-side',
    '--force-conflicts',
    '-f',
    manifests,
  ])
  const deadline = Date.now() + NODES_LIMIT_MS
  while (!(await nodesAreReady(access).catch(() => false))) {
    if (Date.now() > deadline)
      throw new Error(`simulated nodes are not ready after ${NODES_LIMIT_MS / 1000} s; expected kwok to make them so`)
    await sleep(100)
  }
}

async function provideDatabase(options: ServerOptions, { ports, group }: Omit<Provision, 'binaries'>): Promise<string> {
  const { dataDir, ephemeral, audit = false, own, progress } = options
  if (own?.databaseUrl !== undefined) return own.databaseUrl
  const place = { dir: join(dataDir, 'postgresql'), logDir: join(dataDir, 'logs') }
  const onOutside = (dir: string) => ephemeral && group.removeAtEnd(dir)
  const { url, address } = await startPostgres({
    ...place,
    port: ports.postgres,
    ephemeral,
    counting: audit,
    onPart: group.add,
    onOutside,
  })
  progress(`postgresql: ready at ${address}`)
  return url
}

async function provideTemporal(
  options: ServerOptions,
  { binaries, ports, group, database }: Provision & { readonly database: Promise<string> },
): Promise<string> {
  const { dataDir, ephemeral, own, temporalStore, progress } = options
  if (own?.temporalAddress !== undefined) return own.temporalAddress
  const place = { dir: join(dataDir, 'temporal'), logDir: join(dataDir, 'logs') }
  const address = `127.0.0.1:${ports.temporal}`
  if (temporalStore === 'postgres') {
    await startTemporalOnPostgres({ binaries, ...place, ports, databaseUrl: await database }, group.add)
    progress(`temporal: ready at ${address}, on PostgreSQL and without UI`)
  } else {
    await startTemporal({ binary: binaries.temporal, ...place, ports, ephemeral }, group.add)
    progress(`temporal: ready at ${address}`)
  }
  return address
}

function auditLogPath({ audit, own, dataDir }: ServerOptions): string | undefined {
  return audit === true && own?.kubeconfig === undefined ? join(dataDir, 'logs', 'audit.log') : undefined
}
