// Starts Pawl's processes for `pawl dev`: runs the migrations, installs the CRDs and the set-up manifests of the wings,
// and starts bridge, worker, webhook, api and the node agent as child processes.
//
// A wing has the controllers of one API group; `--wings` enables it. A part (part.ts) is a child process of `pawl dev`.
// The API server and Temporal may be parts, too, or the user's own servers.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { PODS } from '../../activities/pods.gen.ts'
import type { DevPlace } from '../../activities/pods.ts'
import { childEnvironment, type Config, processArgs } from '../server/config.ts'
import { type GivenFlags, readFlags } from '../server/flags.ts'
import { TEMPORAL_FLAGS, type TemporalTarget, temporalTarget } from '../server/temporal.ts'
import { DEFAULT_SECRET } from '../server/webhook-secret.ts'
import { devWingFlags, enabledWings } from '../server/wings.ts'
import { migrate } from '../migrate.ts'
import type { Progress } from './obtain.ts'
import { type PartDiedError, startPart } from './part.ts'
import { machineOf } from './release.ts'
import type { Servers } from './servers.ts'

const run = promisify(execFile)
const CRDS = fileURLToPath(new URL('../../deploy/crds/', import.meta.url))
const SETUP = fileURLToPath(new URL('../../deploy/setup/', import.meta.url))

export interface PawlOptions {
  readonly servers: Servers
  readonly config: Config
  readonly dataDir: string
  readonly temporalNamespace: string
  /** Connection to the user's own Temporal; undefined for the Temporal that `pawl dev` started, which has no TLS. */
  readonly ownTemporal?: Config | undefined
  /** Names of the enabled wings, as in the flag. */
  readonly wings?: string | undefined
  /** Given flags of wings. */
  readonly wingFlags?: GivenFlags | undefined
  /** Variables of all processes, by the enabled wings. */
  readonly wingEnv?: Readonly<Record<string, string>> | undefined
  /** The modules of the user's level-triggered controllers, as in the flag `--controllers`. */
  readonly controllers?: string | undefined
  readonly progress: Progress
  /**
   * Called if one of the processes ends by itself; without it, `pawl dev` then ends. Only `pawl dev --watch` sets it.
   * The processes then restart at each change of the code, so they also get less time to stop (CHANGED_STOP_MS).
   */
  readonly onEnd?: ((error: PartDiedError) => void) | undefined
}

export interface PawlParts {
  /**
   * Restarts bridge, worker, webhook and api with the current code; the node agent continues to run.
   *
   * @throws PartDiedError if a process ends before it is ready, or is not ready within 90 s.
   */
  readonly restart: () => Promise<void>
}

/**
 * Runs the migrations, applies CRDs and set-up manifests, starts all processes and waits until they are ready. The
 * processes belong to the group of `servers`, which stops them.
 */
export async function startPawl(given: PawlOptions): Promise<PawlParts> {
  const options = { ...given, ...(await prepareWings(given)) }
  const { servers, temporalNamespace, wings, wingFlags, controllers, progress } = options
  const { kubernetesUrl, databaseUrl, temporalAddress, ports } = servers
  const temporal = { ...temporalAt(options, temporalAddress), namespace: temporalNamespace }
  const [added] = await Promise.all([migrate({ databaseUrl, temporal }), installCrds(servers, enabledWings(wings))])
  await setUpWings(servers, enabledWings(wings), wingFlags)
  progress(`journal: ${added.length === 0 ? 'up to date' : `added ${added.join(', ')}`}`)

  // Flags: of bridge and worker; of the worker; of the wings, per process; of bridge and worker for the journal.
  const ofBoth = [
    ...(wings === undefined ? [] : ['--wings', wings]),
    ...(controllers === undefined ? [] : ['--controllers', controllers]),
  ]
  const ofWorker = ['--temporal-address', temporalAddress, '--temporal-namespace', temporalNamespace, ...ofBoth]
  const ofWings = devWingFlags(enabledWings(wings), { url: kubernetesUrl, isOurs: isServerOurs(servers) }, wingFlags)
  const ofJournal = journalFlags(options)
  const processes: readonly PawlProcess[] = [
    {
      name: 'bridge',
      file: 'bridge.ts',
      healthPort: ports.bridgeHealth,
      args: [...ofJournal, ...ofBoth, ...ofWings.bridge],
    },
    {
      name: 'worker',
      file: 'reconciler.ts',
      healthPort: ports.workerHealth,
      args: [...ofJournal, ...ofWorker, ...ofWings.worker],
    },
    {
      name: 'api',
      file: 'api.ts',
      healthPort: ports.apiHealth,
      args: apiFlags(options),
      // Shown to users as the address of the api.
      address: `http://127.0.0.1:${ports.api}`,
    },
    // The user's own API server may not reach this machine, so it gets no webhook.
    ...(isServerOurs(servers)
      ? [
          {
            name: 'webhook',
            file: 'webhook.ts',
            healthPort: ports.webhookHealth,
            args: [...webhookFlags(options), ...ofWings.webhook],
          },
        ]
      : []),
  ]
  // Calls `start` for all processes in parallel and waits for all of them.
  const each = async (start: (one: PawlProcess) => Promise<void>) => {
    const starts = await Promise.allSettled(processes.map(start))
    const failed = starts.find((one) => one.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }
  await each((one) => startProcess(one, options))
  await startNodeAgent(options)
  return {
    restart: () =>
      each(async (one) => {
        const running = servers.parts.filter(({ spec }) => spec.name === one.name)
        await Promise.all(running.map((part) => servers.drop(part)))
        await startProcess(one, options)
      }),
  }
}

/**
 * Flags of processes that use the journal. They do not contain the password, because every user of the machine can read
 * arguments.
 */
function journalFlags({ servers, dataDir }: PawlOptions): readonly string[] {
  const { databaseUrl } = withoutPassword(servers.databaseUrl)
  return ['--database-url', databaseUrl, '--content-key', join(dataDir, 'content.key')]
}

/** True if `pawl dev` started the API server; false for the user's own API server. */
function isServerOurs({ parts }: Servers): boolean {
  return parts.some(({ spec }) => spec.name === 'kube-apiserver')
}

/** Listens on the loopback address; users need a token of the cluster. */
function apiFlags({ servers }: PawlOptions): readonly string[] {
  const { databaseUrl } = withoutPassword(servers.databaseUrl)
  return ['--database-url', databaseUrl, '--host', '127.0.0.1', '--port', String(servers.ports.api), '--drain-ms', '0']
}

/** failurePolicy Ignore: objects can be written while the webhook is stopped. */
function webhookFlags({ servers: { ports }, wings }: PawlOptions): readonly string[] {
  return [
    ...['--host', '127.0.0.1', '--port', String(ports.webhook), '--url', `https://127.0.0.1:${ports.webhook}`],
    ...['--certificate-secret', `kube-system/${DEFAULT_SECRET}`, '--failure-policy', 'Ignore', '--drain-ms', '0'],
    ...(wings === undefined ? [] : ['--wings', wings]),
  ]
}

function temporalAt({ ownTemporal }: PawlOptions, address: string): Omit<TemporalTarget, 'namespace'> {
  return ownTemporal === undefined ? { address } : temporalTarget(address, readFlags(TEMPORAL_FLAGS, {}), ownTemporal)
}

/** The user's settings for another Temporal do not apply to the Temporal that `pawl dev` started, which has no TLS. */
const WITHOUT_TLS = Object.fromEntries(
  [
    ...['TEMPORAL_TLS', 'TEMPORAL_TLS_SERVER_CA_CERT_PATH', 'TEMPORAL_TLS_SERVER_NAME', 'TEMPORAL_API_KEY'],
    ...['TEMPORAL_TLS_CLIENT_CERT_PATH', 'TEMPORAL_TLS_CLIENT_KEY_PATH', 'PAWL_TEMPORAL_API_KEY_FILE'],
  ].map((name) => [name, '']),
)

/** Where `kubectl apply` applies manifests. */
type Applied = Pick<Servers, 'kubectlPath' | 'kubeconfigPath'>

/**
 * Applies the manifests in `deploy/setup/<wing>/`: the objects that a wing needs in addition to its CRDs, such as
 * namespaces and service accounts with their roles.
 *
 * @param flags the flags of wings that the user set.
 */
export async function setUpWings(
  servers: Applied,
  wings: readonly string[] = enabledWings(undefined),
  flags: GivenFlags = {},
): Promise<void> {
  const manifests = await Promise.all(wings.map(async (wing) => await setUpOf(wing, flags)))
  const all = manifests.flat().join('\n---\n')
  if (all !== '') await apply(servers, ['-f', '-'], all)
}

/** Checks the configuration of the wings before a server starts. @throws an Error with the problem. */
export async function checkSetUp(wings: readonly string[], flags: GivenFlags): Promise<void> {
  for (const wing of wings) await setUpOf(wing, flags)
}

/** The manifests of a wing, adapted by the declaration of its pods. */
async function setUpOf(wing: string, flags: GivenFlags): Promise<readonly string[]> {
  const folder = join(SETUP, wing)
  if (!existsSync(folder)) return []
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml')).sort()
  const texts = await Promise.all(files.map(async (file) => await readFile(join(folder, file), 'utf8')))
  const adapt = PODS[wing]?.inDev?.setUp
  return adapt === undefined ? texts : await Promise.all(texts.map(async (text) => await adapt(text, flags)))
}

async function apply({ kubectlPath, kubeconfigPath }: Applied, files: readonly string[], input = ''): Promise<void> {
  const args = [`--kubeconfig=${kubeconfigPath}`, 'apply', '--server-side', '--force-conflicts', ...files]
  const applied = run(kubectlPath, args)
  applied.child.stdin?.end(input)
  await applied
}

/** Applies the generated CRDs of the wings and waits until the API server serves them. */
export async function installCrds(servers: Applied, wings: readonly string[] = enabledWings(undefined)): Promise<void> {
  const folders = wings.map((wing) => join(CRDS, wing)).filter((folder) => existsSync(folder))
  if (folders.length === 0) return
  // The arguments of kubectl that name all folders.
  const each = folders.flatMap((folder) => ['-f', folder])
  await apply(servers, each)
  const { kubectlPath, kubeconfigPath } = servers
  const kubectl = (...args: readonly string[]) => run(kubectlPath, [`--kubeconfig=${kubeconfigPath}`, ...args])
  await waitUntilEstablished(async () => {
    await kubectl('wait', '--for=condition=Established', '--timeout=60s', ...each)
  })
  // The API server initializes a new kind at its first request and answers 429 meanwhile; kubectl retries.
  const { stdout } = await kubectl('get', ...each, '-o', 'name')
  const names = stdout.split('\n').flatMap((line) => line.split('/')[1] ?? [])
  await kubectl('get', names.join(','), '-A')
}

const ESTABLISHED_MS = 60_000
const RETRY_MS = 100

/** `kubectl wait` fails for a CRD to which the API server has not added the first condition yet. */
async function waitUntilEstablished(wait: () => Promise<void>): Promise<void> {
  for (const end = Date.now() + ESTABLISHED_MS; ;) {
    try {
      await wait()
      return
    } catch (error) {
      if (!String(error).includes('.status.conditions accessor error') || Date.now() > end) throw error
    }
    await sleep(RETRY_MS)
  }
}

// A restart after a code change does not wait for running activities, for which a worker allows 30 s. They are retried
// after their heartbeat timeout.
const CHANGED_STOP_MS = 2000

/** Half of a start without caches goes into compiling the sources, and much of the rest into bundling the workflows. */
function cachesOf({ config, dataDir }: Pick<PawlOptions, 'config' | 'dataDir'>) {
  return {
    NODE_COMPILE_CACHE: childEnvironment()['NODE_COMPILE_CACHE'] ?? join(dataDir, 'compile-cache'),
    PAWL_BUNDLE_CACHE: config.bundleCacheDir ?? join(dataDir, 'bundle-cache'),
  }
}

interface PawlProcess {
  readonly name: string
  readonly file: string
  readonly healthPort: number
  readonly args: readonly string[]
  /** The address shown to users; default: the health address. */
  readonly address?: string
}

async function startProcess(
  { name, file, healthPort, args, ...shown }: PawlProcess,
  options: PawlOptions,
): Promise<void> {
  const { servers, dataDir, progress } = options
  const { password } = withoutPassword(servers.databaseUrl)
  const shared = ['--kubeconfig', servers.kubeconfigPath, '--health-port', String(healthPort)]
  const health = `http://127.0.0.1:${healthPort}`
  const spec = {
    name,
    command: process.execPath,
    args: processArgs(file, [...shared, ...args]),
    logFile: join(dataDir, 'logs', `${name}.log`),
    address: shown.address ?? health,
    // Every user of the machine can read arguments, so the password is passed in the environment.
    env: {
      ...options.wingEnv,
      ...(options.ownTemporal === undefined && WITHOUT_TLS),
      ...(password !== '' && { PGPASSWORD: password }),
      ...cachesOf(options),
    },
    ...(options.onEnd !== undefined && { stopLimitMs: CHANGED_STOP_MS }),
    isReady: async () => (await fetch(`${health}/readyz`)).ok,
  }
  await startPart(spec, (part) => servers.add(part, options.onEnd))
  progress(`${name}: ready; metrics at ${health}/metrics`)
}

/** Prepares the machine for the pods of the enabled wings. */
async function prepareWings(
  options: PawlOptions,
): Promise<{ readonly wingFlags: GivenFlags; readonly wingEnv: Readonly<Record<string, string>> }> {
  const { progress, wings, wingFlags = {} } = options
  let flags: GivenFlags = Object.fromEntries(Object.entries(wingFlags).filter(([, value]) => value !== undefined))
  let env: Readonly<Record<string, string>> = {}
  const place = devPlace(options)
  for (const wing of enabledWings(wings)) {
    const prepared = await PODS[wing]?.inDev?.prepare?.(place)
    if (prepared === undefined) continue
    flags = { ...prepared.flags, ...flags }
    env = { ...env, ...prepared.env }
    progress(`${wing}: ${prepared.note}`)
  }
  const isUnset = ([name]: readonly [string, string]) => place.env[name] === undefined
  return { wingFlags: flags, wingEnv: Object.fromEntries(Object.entries(env).filter(isUnset)) }
}

function devPlace({ servers, dataDir, config, progress, wingFlags = {} }: PawlOptions): DevPlace {
  return {
    kubeconfigPath: servers.kubeconfigPath,
    folder: join(dataDir, NODE_AGENT),
    isServerOurs: isServerOurs(servers),
    flags: wingFlags,
    env: childEnvironment(),
    ...machineOf({ config, progress }),
  }
}

const NODE_AGENT = 'node-agent'

/** Starts the node agent for the enabled wings that declare pods; without such a wing, it starts nothing. */
async function startNodeAgent(options: PawlOptions): Promise<void> {
  const { servers, dataDir, progress, wings } = options
  const declared = enabledWings(wings).filter((wing) => PODS[wing] !== undefined)
  if (declared.length === 0) return
  const name = NODE_AGENT
  const place = devPlace(options)
  const { folder } = place
  const given = await Promise.all(declared.map(async (wing) => (await PODS[wing]?.inDev?.flags(place)) ?? {}))
  const args = [
    ...[name, '--nodes', 'all', '--kubeconfig', servers.kubeconfigPath, '--state', folder, '--at-end', 'stop'],
    ...['--wings', declared.join(','), '--provide-volumes', place.isServerOurs ? 'yes' : 'no'],
    ...Object.entries(Object.assign({}, ...given) as Readonly<Record<string, string>>).flatMap(([flag, value]) => [
      `--${flag}`,
      value,
    ]),
  ]
  const spec = {
    name,
    command: process.execPath,
    args: processArgs('program.ts', args),
    logFile: join(dataDir, 'logs', `${name}.log`),
    env: { ...options.wingEnv, ...cachesOf(options) },
    // The agent's lock.
    isReady: async () => await access(join(folder, 'agent.json')).then(() => true),
  }
  await startPart(spec, (part) => servers.add(part, options.onEnd))
  progress(`${name}: ready`)
}

function withoutPassword(url: string): { databaseUrl: string; password: string } {
  const parsed = new URL(url)
  const password = decodeURIComponent(parsed.password)
  parsed.password = ''
  return { databaseUrl: parsed.href, password }
}
