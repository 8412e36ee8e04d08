// Pawl's own part of a development set: tables, CRDs, then the bridge and the worker as child processes.

import { execFile } from 'node:child_process'
import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { migrate } from '../migrate.ts'
import type { Progress } from './obtain.ts'
import { startPart, type Part, type PartSpec } from './part.ts'
import { isRunning } from './process-identity.ts'
import type { Servers } from './servers.ts'

const run = promisify(execFile)
const CRDS = fileURLToPath(new URL('../../deploy/crds/', import.meta.url))
/** A wrong flag or a missing table ends a process within this time; a process without an address counts as up after it. */
const SETTLE_MS = 1500

export interface PawlOptions {
  readonly servers: Servers
  readonly dataDir: string
  readonly temporalNamespace: string
  readonly progress: Progress
}

/** Migrates, installs the CRDs and starts bridge and worker; each part is handed to `servers.add` as soon as it runs. */
export async function startPawl(options: PawlOptions): Promise<void> {
  const { servers, temporalNamespace, progress } = options
  const temporal = { address: servers.temporalAddress, namespace: temporalNamespace }
  const [added] = await Promise.all([migrate({ databaseUrl: servers.databaseUrl, temporal }), installCrds(servers)])
  progress(`journal: ${added.length === 0 ? 'up to date' : `added ${added.join(', ')}`}`)

  await Promise.all([startProcess('bridge', 'bridge.ts', options), startProcess('worker', 'reconciler.ts', options)])
}

async function installCrds({ kubectlPath, kubeconfigPath }: Servers): Promise<void> {
  const files = await readdir(CRDS).catch(() => [])
  if (!files.some((file) => file.endsWith('.yaml'))) return
  const kubectl = (...args: readonly string[]) => run(kubectlPath, [`--kubeconfig=${kubeconfigPath}`, ...args])
  await kubectl('apply', '--server-side', '--force-conflicts', '-f', CRDS)
  await kubectl('wait', '--for=condition=Established', '--timeout=60s', '-f', CRDS)
}

async function startProcess(
  name: string,
  file: string,
  { servers, dataDir, temporalNamespace, progress }: PawlOptions,
): Promise<void> {
  const entry = fileURLToPath(new URL(`../${file}`, import.meta.url))
  const there = await access(entry).then(
    () => true,
    () => false,
  )
  if (!there) {
    progress(`${name}: worker/${file} is not there, left out`)
    return
  }
  const { databaseUrl, password } = withoutPassword(servers.databaseUrl)
  const temporal = name === 'worker' ? ['--temporal-address', servers.temporalAddress] : []
  const spec: PartSpec = {
    name,
    command: process.execPath,
    args: [entry, '--kubeconfig', servers.kubeconfigPath, '--database-url', databaseUrl, ...temporal],
    logFile: join(dataDir, 'logs', `${name}.log`),
    // The password goes by the environment: arguments can be read by every user of the machine.
    env: {
      PAWL_CONTENT_KEY: join(dataDir, 'content.key'),
      PAWL_TEMPORAL_NAMESPACE: temporalNamespace,
      ...(password === '' ? {} : { PGPASSWORD: password }),
    },
  }
  await settled(await startPart(spec, servers.add))
  progress(`${name}: running`)
}

async function settled({ identity, spec }: Part): Promise<void> {
  const deadline = Date.now() + SETTLE_MS
  while (Date.now() < deadline) {
    if (!isRunning(identity))
      throw new Error(`${spec.name} ended at once:\n${(await readFile(spec.logFile, 'utf8')).slice(-2000)}`)
    await sleep(100)
  }
}

function withoutPassword(url: string): { databaseUrl: string; password: string } {
  const parsed = new URL(url)
  const password = decodeURIComponent(parsed.password)
  parsed.password = ''
  return { databaseUrl: parsed.href, password }
}
