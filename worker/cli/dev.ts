// The commands `pawl dev`, `pawl dev status` and `pawl dev stop`. The modules that start servers are loaded only when
// needed.

import { Command } from 'commander'
import { resolve } from 'node:path'

import { modulePath, readConfig } from '../server/config.ts'
import { onSignals } from '../server/process.ts'
import { UsageError } from '../server/usage-error.ts'
import { DEFAULT_WINGS_TEXT, DEV_WING_FLAGS, readWingFlags, enabledWings } from '../server/wings.ts'
import type { DevOptions } from '../dev.ts'
import type { GivenFlags } from '../server/flags.ts'
import { startDetached, stopDetached } from '../dev/detach.ts'
import type { Progress } from '../dev/obtain.ts'
import type { Ports } from '../dev/ports.ts'
import { formatStatus, readStatus } from '../dev/state.ts'
import type { TemporalStore } from '../dev/servers.ts'
import { checkControllers } from './process.ts'
import { DATA_DIR_OPTION, devFolder } from './dev-folder.ts'
import { suggestedCommand } from './suggestion.ts'
import { optionsOf, withFlags, foldFlags } from './options.ts'
import { joined, parseOneOf, parsePort } from './usage.ts'

const CLI = modulePath('cli.ts')

interface DevFlags {
  readonly dataDir?: string
  readonly ephemeral?: true
  readonly detach?: true
  readonly auditLog?: true
  readonly kubeconfig?: string
  readonly databaseUrl?: string
  readonly temporalAddress?: string
  readonly temporalStore: TemporalStore
  readonly wings?: string
  readonly controllers?: string
  readonly watch?: true
  readonly kubernetesPort?: number
  readonly etcdPort?: number
  readonly postgresPort?: number
  readonly temporalPort?: number
  readonly temporalUiPort?: number
}

const STORE_OPTION = [
  '--temporal-store <store>',
  'state of the Temporal that is started: sqlite (development server) or postgres (a real one, without UI)',
  parseOneOf<TemporalStore>(['sqlite', 'postgres']),
  'sqlite',
] as const

const PORTS = ['kubernetes', 'etcd', 'postgres', 'temporal', 'temporal-ui'].map((part) => `${part}-port`)
const SELDOM = [...PORTS, 'audit-log', ...Object.keys(DEV_WING_FLAGS)]

export function devCommand(): Command {
  return foldFlags(withFlags(devItself(), DEV_WING_FLAGS), SELDOM)
    .addHelpText('after', '\nExamples:\n  pawl dev\n  pawl dev --detach --controllers shop.ts')
    .action((flags: DevFlags, command: Command) => dev(flags, optionsOf(command)))
    .addCommand(fetchCommand())
    .addCommand(statusCommand())
    .addCommand(stopCommand())
}

function devItself(): Command {
  return new Command('dev')
    .description('start Kubernetes, PostgreSQL, Temporal and Pawl on this machine; Ctrl-C stops all')
    .option('--data-dir <dir>', 'the folder of all data (default: dev in the cache folder)')
    .option('--ephemeral', 'delete the data at the end; after a failure the logs stay')
    .option('--detach', 'run in the background; stop with: pawl dev stop')
    .option('--kubeconfig <file>', 'use this cluster instead of starting one')
    .option('--database-url <url>', 'use this PostgreSQL instead of starting one')
    .option('--temporal-address <host:port>', 'use this Temporal instead of starting one')
    .option(...STORE_OPTION)
    .option(
      '--wings <names>',
      `serve these wings, such as landscaper,chaos, or none (default: ${DEFAULT_WINGS_TEXT})`,
      joined,
    )
    .option('--controllers <files>', 'modules of controllers in level mode to run as well, separated by commas', joined)
    .option('--watch', 'restart bridge, worker, webhook and api when the code of the controllers changes')
    .option('--kubernetes-port <port>', 'port of kube-apiserver (default: a free one, kept)', parsePort)
    .option('--etcd-port <port>', 'port of etcd (default: a free one, kept)', parsePort)
    .option('--postgres-port <port>', 'port of PostgreSQL (default: a free one, kept)', parsePort)
    .option('--temporal-port <port>', 'port of Temporal (default: a free one, kept)', parsePort)
    .option('--temporal-ui-port <port>', "port of Temporal's UI (default: a free one, kept)", parsePort)
    .option('--audit-log', 'log every request to kube-apiserver to logs/audit.log')
}

function fetchCommand(): Command {
  return new Command('fetch')
    .description('obtain the missing server binaries, and start nothing')
    .option(...STORE_OPTION)
    .addHelpText('after', '\nExamples:\n  pawl dev fetch')
    .action(async (_flags: unknown, command: Command) => {
      const { temporalStore } = command.optsWithGlobals<DevFlags>()
      const { neededBinaries } = await import('../dev/servers.ts')
      const { obtainBinaries } = await import('../dev/obtain.ts')
      const progress = (line: string) => process.stdout.write(`${line}\n`)
      const found = await obtainBinaries(neededBinaries({ temporalStore }), { config: readConfig(), progress })
      for (const [name, path] of Object.entries(found)) progress(`${name}: ${path}`)
    })
}

function statusCommand(): Command {
  return new Command('status')
    .description('show the servers; exit code 0 only if all are up')
    .option(...DATA_DIR_OPTION)
    .option('-o, --output <format>', 'text or json', parseOneOf(['text', 'json']), 'text')
    .addHelpText('after', '\nExamples:\n  pawl dev status\n  pawl dev status -o json')
    .action(async (_flags: unknown, command: Command) => {
      const flags = command.optsWithGlobals<{ dataDir?: string; output: 'text' | 'json' }>()
      const status = await readStatus(await folder(flags.dataDir))
      process.stdout.write(flags.output === 'json' ? `${JSON.stringify(status, null, 2)}\n` : formatStatus(status))
      process.exitCode = status.up ? 0 : 1
    })
}

function stopCommand(): Command {
  return new Command('stop')
    .description('stop the servers of pawl dev')
    .option(...DATA_DIR_OPTION)
    .addHelpText('after', '\nExamples:\n  pawl dev stop')
    .action(async (_flags: unknown, command: Command) => {
      const dataDir = await folder(command.optsWithGlobals<{ dataDir?: string }>().dataDir)
      const stopped = await stopDetached(dataDir)
      process.stdout.write(stopped ? `stopped pawl dev for ${dataDir}\n` : `no pawl dev runs for ${dataDir}\n`)
    })
}

async function dev(flags: DevFlags, given: GivenFlags): Promise<void> {
  await checkControllers(flags.controllers, flags.wings, { acts: true })
  checkWatch(flags)
  const wingFlags = Object.fromEntries(Object.keys(DEV_WING_FLAGS).map((name) => [name, given[name]]))
  readWingFlags(enabledWings(flags.wings), wingFlags)
  const { checkSetUp } = await import('../dev/pawl-parts.ts')
  await checkSetUp(enabledWings(flags.wings), wingFlags)
  const abort = new AbortController()
  const options: DevOptions = {
    config: readConfig(),
    dataDir: flags.dataDir === undefined ? undefined : resolve(flags.dataDir),
    ephemeral: flags.ephemeral ?? false,
    ports: portsOf(flags),
    own: ownOf(flags),
    audit: flags.auditLog ?? false,
    temporalStore: storeOf(flags),
    wings: flags.wings,
    wingFlags,
    controllers: flags.controllers,
    watch: flags.watch ?? false,
    progress: (line) => process.stdout.write(`${line}\n`),
    signal: abort.signal,
  }
  if (flags.detach === true) await detach(options)
  else await foreground(options, abort)
}

/** Checks combinations of flags. Restarts are reported in the terminal, so --watch needs the foreground. */
function checkWatch({ watch, detach: isDetached, controllers, wings }: DevFlags): void {
  if (wings?.trim() === 'none' && controllers === undefined)
    throw new UsageError('--wings none runs no controller; add --controllers')
  if (watch !== true) return
  if (isDetached === true) throw new UsageError('--watch and --detach exclude each other; remove one of them')
  if (controllers === undefined) throw new UsageError('--watch needs --controllers; add it')
}

async function detach(options: DevOptions): Promise<void> {
  const { prepareFolder, summary } = await import('../dev.ts')
  const dataDir = await prepareFolder(options)
  if ((await readStatus(dataDir)).up)
    throw new Error(`pawl dev runs already for ${dataDir}; stop it with: ${suggestedCommand(stopOf(dataDir))}`)
  const command = [
    CLI,
    ...process.argv.slice(2).filter((argument) => argument !== '--detach'),
    ...(options.dataDir === undefined ? ['--data-dir', dataDir] : []),
  ]
  const state = await startDetached(dataDir, command, untilReady(options.progress))
  process.stdout.write(`${summary(state)}\n\nstop it with: ${suggestedCommand(stopOf(dataDir))}\n`)
}

function stopOf(dataDir: string): string {
  return `dev stop --data-dir ${dataDir}`
}

async function foreground(options: DevOptions, abort: AbortController): Promise<void> {
  const { startDev, summary } = await import('../dev.ts')
  const interrupted = new Promise<'interrupted'>((done) => {
    onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (name) => {
      abort.abort(name)
      done('interrupted')
    })
  })
  const started = await startDev(options)
  process.stdout.write(`${summary(started.state)}\n\nCtrl-C stops all\n`)
  const end = await Promise.race([interrupted, started.servers.failure])
  process.stdout.write('stopping\n')
  await started.stop(end === 'interrupted' ? undefined : 'failed')
  if (end !== 'interrupted') throw end
}

function portsOf(flags: DevFlags): Partial<Ports> {
  const ports = {
    kubernetes: flags.kubernetesPort,
    etcd: flags.etcdPort,
    postgres: flags.postgresPort,
    temporal: flags.temporalPort,
    temporalUi: flags.temporalUiPort,
  }
  return Object.fromEntries(Object.entries(ports).filter(([, port]) => port !== undefined))
}

function ownOf({ kubeconfig, databaseUrl, temporalAddress }: DevFlags): NonNullable<DevOptions['own']> {
  return {
    ...(kubeconfig === undefined ? {} : { kubeconfig: resolve(kubeconfig) }),
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
    ...(temporalAddress === undefined ? {} : { temporalAddress }),
  }
}

/**
 * A Temporal server on PostgreSQL needs our own PostgreSQL, has no UI, and cannot be combined with the user's own
 * servers.
 */
function storeOf({ temporalStore, databaseUrl, temporalAddress, temporalUiPort }: DevFlags): TemporalStore {
  const others = {
    '--database-url': databaseUrl,
    '--temporal-address': temporalAddress,
    '--temporal-ui-port': temporalUiPort,
  }
  const given = Object.entries(others).find(([, value]) => value !== undefined)
  if (temporalStore === 'postgres' && given !== undefined)
    throw new UsageError(`--temporal-store postgres and ${given[0]} exclude each other; remove one of them`)
  return temporalStore
}

async function folder(dataDir: string | undefined): Promise<string> {
  return await devFolder(dataDir === undefined ? {} : { dataDir }, readConfig())
}

/** The background process prints the addresses too; this process shows them once. */
function untilReady(progress: Progress): Progress {
  let ready = false
  return (line) => {
    ready ||= line.startsWith('Pawl is ready')
    if (!ready) progress(line)
  }
}
