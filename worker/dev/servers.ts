// The set of servers that Pawl needs, started together and stopped together. It knows nothing of Pawl's own processes.
//
//   V1. Whatever fails while starting, what was started is stopped again.
//   V2. Parts stop in the reverse order of their start: clients before the servers that they talk to.

import { execFile } from 'node:child_process'
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import type { Config } from '../config.ts'
import { startGuard } from './guard-client.ts'
import type { KubeAccess } from './kube-request.ts'
import { nodeManifests, nodesAreReady, startCluster } from './kubernetes.ts'
import { obtainBinaries, type Binaries, type Progress } from './obtain.ts'
import { PartDiedError, type Part } from './part.ts'
import type { BinaryName } from './pins.ts'
import { choosePorts, type Ports } from './ports.ts'
import { startPostgres } from './postgres.ts'
import { startTemporal } from './temporal.ts'

const run = promisify(execFile)
const NODES_LIMIT_MS = 60_000

export interface ServerOptions {
  readonly config: Config
  readonly dataDir: string
  readonly ephemeral: boolean
  readonly progress: Progress
  readonly ports?: Partial<Ports>
  /** Servers of the user's own, instead of ours. */
  readonly own?: { readonly kubeconfig?: string; readonly databaseUrl?: string; readonly temporalAddress?: string }
  /** True writes an audit log to `<dataDir>/logs/audit.log`. */
  readonly audit?: boolean
}

export interface Servers {
  readonly kubeconfigPath: string
  readonly kubectlPath: string
  /** With the password. */
  readonly databaseUrl: string
  readonly temporalAddress: string
  /** Undefined when Temporal is the user's own. */
  readonly temporalUiUrl: string | undefined
  readonly auditLogPath: string | undefined
  readonly parts: readonly Part[]
  /** Adds a part that is watched and stopped with the others. */
  add(part: Part): void
  /** Resolves when a part ends that nobody stopped. */
  readonly failure: Promise<PartDiedError>
  /** Stops everything; repeatable. An ephemeral data folder is removed. */
  stop(): Promise<void>
}

/** Starts the servers; resolves when all are ready. */
export async function startServers(options: ServerOptions): Promise<Servers> {
  const { dataDir, config, progress } = options
  // Root's PostgreSQL runs as another user, who must be able to pass through (not to list).
  await mkdir(dataDir, { recursive: true })
  await chmod(dataDir, 0o711)
  await mkdir(join(dataDir, 'logs'), { recursive: true, mode: 0o700 })
  await mkdir(join(dataDir, 'bin'), { recursive: true, mode: 0o700 })

  const binaries = await obtainBinaries(neededBinaries(options), { config, progress })
  const group = await startGroup(options)
  try {
    const ports = await choosePorts(join(dataDir, 'ports.json'), options.ports ?? {})
    const kubectlPath = join(dataDir, 'bin', 'kubectl')
    await rm(kubectlPath, { force: true })
    await symlink(binaries.kubectl, kubectlPath)

    const provided = Promise.all([
      provideCluster(options, { binaries, ports, onPart: group.add }),
      provideDatabase(options, { ports, onPart: group.add, onOutside: group.removeAtEnd }),
      provideTemporal(options, { binaries, ports, onPart: group.add }),
    ])
    const [kubeconfigPath, databaseUrl, temporalAddress] = await Promise.race([
      provided,
      group.failure.then((error) => Promise.reject(error)),
    ])
    return {
      kubeconfigPath,
      kubectlPath,
      databaseUrl,
      temporalAddress,
      temporalUiUrl: options.own?.temporalAddress === undefined ? `http://127.0.0.1:${ports.temporalUi}` : undefined,
      auditLogPath: auditLogPath(options),
      ...group,
    }
  } catch (error) {
    // V1
    await group.stop()
    throw error
  }
}

/** The binaries that these options call for. */
export function neededBinaries({ own }: Pick<ServerOptions, 'own'>): readonly BinaryName[] {
  const cluster: readonly BinaryName[] = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok']
  return [
    'kubectl',
    ...(own?.kubeconfig === undefined ? cluster : []),
    ...(own?.temporalAddress === undefined ? ['temporal' as const] : []),
  ]
}

async function startGroup({
  dataDir,
  ephemeral,
}: ServerOptions): Promise<
  Pick<Servers, 'parts' | 'add' | 'failure' | 'stop'> & { removeAtEnd: (dir: string) => void }
> {
  const parts: Part[] = []
  const outside: string[] = []
  const guard = await startGuard()
  let stopping: Promise<void> | undefined
  let report: (error: PartDiedError) => void = () => undefined
  const failure = new Promise<PartDiedError>((resolve) => (report = resolve))

  const add = (part: Part) => {
    parts.push(part)
    guard.watch(part.identity)
    void part.ended.then(async (how) => {
      if (stopping === undefined) report(await PartDiedError.of(part.spec, how))
    })
  }
  const removeAtEnd = (dir: string) => {
    outside.push(dir)
    if (ephemeral) guard.remove(dir)
  }
  if (ephemeral) guard.remove(dataDir)

  const stopAll = async () => {
    // V2
    for (const part of parts.toReversed()) await part.stop()
    if (ephemeral) for (const dir of [...outside, dataDir]) await rm(dir, { recursive: true, force: true })
    guard.release()
  }
  return { parts, add, removeAtEnd, failure, stop: () => (stopping ??= stopAll()) }
}

interface Provision {
  readonly binaries: Binaries
  readonly ports: Ports
  readonly onPart: (part: Part) => void
}

async function provideCluster(options: ServerOptions, { binaries, ports, onPart }: Provision): Promise<string> {
  const { dataDir, own, ephemeral, progress } = options
  const kubeconfigPath = join(dataDir, 'kubeconfig')
  if (own?.kubeconfig !== undefined) {
    // A copy on its own feet: files that the user's kubeconfig refers to by relative path are folded in.
    const flat = await run(binaries.kubectl, [
      'config',
      'view',
      '--raw',
      '--minify',
      '--flatten',
      `--kubeconfig=${own.kubeconfig}`,
    ])
    await writeFile(kubeconfigPath, flat.stdout, { mode: 0o600 })
    return kubeconfigPath
  }
  const access = await startCluster({
    dir: join(dataDir, 'kubernetes'),
    logDir: join(dataDir, 'logs'),
    binaries,
    ports,
    ephemeral,
    kubeconfigPath,
    auditLogPath: auditLogPath(options),
    onPart,
  })
  progress(`kubernetes: ready at ${access.url}`)
  await addNodes(access, { kubectl: binaries.kubectl, kubeconfigPath, dir: join(dataDir, 'kubernetes') })
  return kubeconfigPath
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
      throw new Error(`simulated nodes are not ready after ${NODES_LIMIT_MS / 1000} s, expected kwok to make them so`)
    await sleep(100)
  }
}

async function provideDatabase(
  options: ServerOptions,
  { ports, onPart, onOutside }: Omit<Provision, 'binaries'> & { onOutside: (dir: string) => void },
): Promise<string> {
  const { dataDir, ephemeral, own, progress } = options
  if (own?.databaseUrl !== undefined) return own.databaseUrl
  const place = { dir: join(dataDir, 'postgresql'), logDir: join(dataDir, 'logs') }
  const { part, url, outside } = await startPostgres({ ...place, port: ports.postgres, ephemeral })
  onPart(part)
  outside.forEach(onOutside)
  progress(`postgresql: ready at ${part.spec.address ?? ''}`)
  return url
}

async function provideTemporal(options: ServerOptions, { binaries, ports, onPart }: Provision): Promise<string> {
  const { dataDir, ephemeral, own, progress } = options
  if (own?.temporalAddress !== undefined) return own.temporalAddress
  const place = { dir: join(dataDir, 'temporal'), logDir: join(dataDir, 'logs') }
  onPart(await startTemporal({ binary: binaries.temporal, ...place, ports, ephemeral }))
  progress(`temporal: ready at 127.0.0.1:${ports.temporal}`)
  return `127.0.0.1:${ports.temporal}`
}

function auditLogPath({ audit, own, dataDir }: ServerOptions): string | undefined {
  return audit === true && own?.kubeconfig === undefined ? join(dataDir, 'logs', 'audit.log') : undefined
}
