// Vitest globalSetup: starts one set of real servers for all env, workflow and e2e test files of a run, without Pawl's
// processes.
//
// Vitest calls it for each project that lists this file: the first setup starts the servers, the last teardown stops
// them. Tests read the addresses with `inject("servers")`.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import type { TestProject } from 'vitest/node'

import { readConfig } from '../../../worker/server/config.ts'
import { installCrds } from '../../../worker/dev/pawl-parts.ts'
import { startServers, type Servers } from '../../../worker/dev/servers.ts'
import { bundleCacheFolder } from '../../../worker/cli/replay/load.ts'
import { bundleWorkflows } from '../../../worker/reconciler/temporal/bundle.ts'
import { serveClusterProxy } from '../cluster/cluster-network.ts'
import { prepareRegistryBinaries } from '../registries/registry-binaries.ts'
import { checkRights } from '../rights/rights-audit.ts'
import { type Accounts, shippedAccounts } from '../rights/accounts.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    servers: TestServers
  }
}

export interface TestServers {
  readonly kubeconfigPath: string
  readonly kubectlPath: string
  /** Kubeconfigs of bridge and worker, with only the shipped roles. */
  readonly accounts: Accounts
  /** URL of PostgreSQL for the administrator: each test file creates its own database. */
  readonly databaseUrl: string
  readonly temporalAddress: string
  /** One JSON line per request to kube-apiserver (level Metadata). */
  readonly auditLogPath: string
  /** The workflows, bundled once for all workers of a run; empty outside of e2e tests. */
  readonly workflowBundle: string
  /** The Temporal binary, for tests that start their own server. */
  readonly temporalBinary: string
}

interface Started {
  readonly servers: Servers
  readonly accounts: Accounts
  /** Stops the servers and the network of the cluster. */
  readonly stop: () => Promise<void>
}

interface Shared {
  users: number
  servers: Promise<Started> | undefined
  bundle: Promise<string> | undefined
}

// Each project loads its own instance of this module in the same process, so the shared state is in a global.
const KEY = Symbol.for('pawl.test.servers')
const globals = globalThis as unknown as Record<symbol, Shared | undefined>
const shared: Shared = (globals[KEY] ??= { users: 0, servers: undefined, bundle: undefined })

export async function setup(project: TestProject): Promise<void> {
  shared.users += 1
  // Not concurrently: a build slows running servers down.
  shared.servers ??= prepareRegistryBinaries().then(start)
  if (project.name === 'e2e') shared.bundle ??= bundle()
  const [started, workflowBundle] = await Promise.all([shared.servers, shared.bundle ?? ''])
  project.provide('servers', addresses(started, workflowBundle))
}

export async function teardown(): Promise<void> {
  shared.users -= 1
  if (shared.users > 0) return
  const started = await shared.servers
  shared.servers = undefined
  const bundlePath = await shared.bundle
  shared.bundle = undefined
  if (bundlePath !== undefined) await rm(dirname(bundlePath), { recursive: true })
  if (started === undefined) return
  // Before the stop, which removes the audit log. An error sets vitest's exit code to 1.
  try {
    await checkRights(started.servers.auditLogPath ?? '', process.env['PAWL_WHOLE_SUITE'] !== undefined)
  } finally {
    await started.stop()
  }
}

/** Starts the servers for programs that run without vitest. `close` stops them. */
export async function openServers(): Promise<{ readonly servers: TestServers; readonly close: () => Promise<void> }> {
  const [started, workflowBundle] = await Promise.all([start(), bundle()])
  const close = async () => {
    await started.stop()
    await rm(dirname(workflowBundle), { recursive: true })
  }
  return { servers: addresses(started, workflowBundle), close }
}

function addresses({ servers, accounts }: Started, workflowBundle: string): TestServers {
  return {
    accounts,
    kubeconfigPath: servers.kubeconfigPath,
    kubectlPath: servers.kubectlPath,
    databaseUrl: servers.databaseUrl,
    temporalAddress: servers.temporalAddress,
    auditLogPath: servers.auditLogPath ?? '',
    workflowBundle,
    temporalBinary: servers.parts.find(({ spec }) => spec.name === 'temporal')?.spec.command ?? '',
  }
}

async function start(): Promise<Started> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pawl-test-'))
  const progress = (line: string) => process.stderr.write(`servers: ${line}\n`)
  const clusterProxy = join(dataDir, 'cluster.sock')
  const stopNetwork = await serveClusterProxy(clusterProxy)
  const options = { config: readConfig(), dataDir, ephemeral: true, audit: true, clusterProxy, progress }
  const servers = await startServers(options).catch(async (error: unknown) => {
    await stopNetwork()
    throw error
  })
  await installCrds(servers)
  void servers.failure.then((error) => process.stderr.write(`servers: ${error.message}\n`))
  const stop = async () => {
    await servers.stop()
    await stopNetwork()
  }
  return { servers, accounts: await shippedAccounts(servers), stop }
}

async function bundle(): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'pawl-bundle-')), 'workflows.js')
  const silent = () => undefined
  const logger = { log: silent, trace: silent, debug: silent, info: silent, warn: silent, error: silent }
  await writeFile(path, (await bundleWorkflows(logger, { cacheDir: bundleCacheFolder() })).code)
  return path
}
