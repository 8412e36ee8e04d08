// The worker's settings, from flags and environment; wrong ones end the process with what was found and what was expected.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { parseDuration } from '../../workflows/kit/index.ts'
import type { Config } from '../server/config.ts'
import { builtIn, controllerFiles } from '../server/registry.ts'
import type { DispatcherOptions } from './dispatcher.ts'
import { onlyControllers } from './only.ts'
import { queueOf } from './runs.ts'

type Flags = Readonly<Record<string, string | undefined>>

/** The flags of the worker: name, what it takes, and what it means. Also its help, and checked against docs/operating.md. */
export const WORKER_FLAGS: Readonly<Record<string, readonly [value: string, text: string]>> = {
  kubeconfig: ['<file>', 'the cluster to act on (default: $KUBECONFIG, else in-cluster or the usual file)'],
  'database-url': ['<url>', 'PostgreSQL of the journal (default: $PAWL_DATABASE_URL)'],
  'temporal-address': ['<host:port>', 'Temporal (default: $PAWL_TEMPORAL_ADDRESS, else $TEMPORAL_ADDRESS)'],
  'temporal-namespace': ['<name>', 'namespace in Temporal (default: $PAWL_TEMPORAL_NAMESPACE, or default)'],
  'task-queue': ['<name>', 'task queue in Temporal (default: pawl)'],
  only: ['<controllers>', 'run only these controllers, such as installation,execution (default: all)'],
  controllers: ['<files>', 'modules of controllers in level mode, separated by commas, as the bridge has them'],
  cluster: ['<name>', 'name of the cluster in the journal, as the bridge has it (default: local)'],
  'content-key': ['<file>', 'key of content hashes, the same as the bridge has (default: $PAWL_CONTENT_KEY)'],
  'workflow-bundle': ['<file>', 'a bundle of the workflows built before (default: one is built at start)'],
  'health-host': ['<address>', 'where /healthz and /readyz are served (default: 127.0.0.1)'],
  'health-port': ['<port>', 'its port (default: a free one, logged)'],
  'dispatch-slots': ['<count>', 'wakes in hand at the same time (default: 20)'],
  'begin-ahead': ['<count>', 'jobs begun whose first pass is still to come; others wait (default: 40)'],
  'wake-lease-ms': ['<ms>', 'how long a wake stays with a worker that fell silent (default: 10000)'],
  'linger-ms': ['<ms>', 'how long a run stays awake for what it waits for, 0 = not at all (default: 300)'],
  'sweep-ms': ['<ms>', 'how often forgotten subjects and lost jobs are looked for (default: 60000)'],
  'pickup-timeout': [
    '<duration>',
    'how long an item waits for a deployer that is not part of Pawl, or none (default: 5m)',
  ],
  'call-stacks': [
    '<yes-or-no>',
    "whether Temporal's UI can show where a run waits; takes time for every step (default: no)",
  ],
  'workflow-task-timeout-ms': ['<ms>', 'after which Temporal gives a silent task to another worker (default: 10000)'],
  'sticky-timeout-ms': ['<ms>', 'how long a task waits for the worker that has the run in memory (default: 4000)'],
}

export interface ReconcilerSettings {
  readonly kubeconfigPath: string | undefined
  readonly databaseUrl: string
  readonly temporalAddress: string
  readonly temporalNamespace: string
  /** The queues that this process serves: one, or with --only one for each controller. */
  readonly taskQueues: readonly string[]
  readonly cluster: string
  /** Absolute paths of modules that export `controllers`. */
  readonly controllerFiles: readonly string[]
  readonly contentKeyPath: string | undefined
  /** A prebuilt bundle of workflows/index.ts; without it one is built at start. */
  readonly workflowBundle: string | undefined
  readonly healthHost: string
  readonly healthPort: number
  readonly sweepMs: number
  /** Undefined: items wait for ever. */
  readonly pickupTimeoutMs: number | undefined
  readonly stickyTimeoutMs: number
  readonly lingerMs: number
  readonly beginAhead: number
  readonly dispatcher: DispatcherOptions
}

/**
 * @param known the names of all controllers; undefined while those of `--controllers` are not loaded.
 * @throws with the name of the flag, what was found and what was expected.
 */
export function reconcilerSettings(
  flags: Flags,
  config: Config,
  known: readonly string[] | undefined = flags['controllers'] === undefined
    ? [...builtIn.controllers.keys()]
    : undefined,
): ReconcilerSettings {
  const cluster = flags['cluster'] ?? 'local'
  const taskQueue = flags['task-queue'] ?? 'pawl'
  const controllers = onlyControllers(flags['only'], known)
  checkCallStacks(flags)
  return {
    kubeconfigPath: flags['kubeconfig'] ?? config.kubeconfig,
    databaseUrl: needed(
      flags['database-url'] ?? config.databaseUrl,
      '--database-url',
      'the URL of a PostgreSQL database',
    ),
    temporalAddress: needed(
      flags['temporal-address'] ?? config.temporalAddress,
      '--temporal-address',
      'host:port of a Temporal service',
    ),
    temporalNamespace: flags['temporal-namespace'] ?? config.temporalNamespace,
    taskQueues: controllers?.map((controller) => queueOf({ taskQueue, controllers }, controller)) ?? [taskQueue],
    cluster,
    controllerFiles: controllerFiles(flags['controllers']),
    contentKeyPath: contentKey(flags, config),
    workflowBundle: flags['workflow-bundle'],
    healthHost: flags['health-host'] ?? '127.0.0.1',
    healthPort: number(flags, 'health-port', 0, 0),
    sweepMs: number(flags, 'sweep-ms', 60_000, 100),
    pickupTimeoutMs: duration(flags, 'pickup-timeout', '5m'),
    // Work waits this long on the queue of a worker that died (spec/engine.md 1.5).
    stickyTimeoutMs: number(flags, 'sticky-timeout-ms', 4000, 100),
    lingerMs: number(flags, 'linger-ms', 300, 0),
    // Enough to keep all slots at work until more are admitted.
    beginAhead: number(flags, 'begin-ahead', 40, 1),
    dispatcher: {
      owner: `${hostname()}/${process.pid}/${randomUUID()}`,
      cluster,
      taskQueue,
      controllers,
      slots: number(flags, 'dispatch-slots', 20, 1),
      leaseMs: number(flags, 'wake-lease-ms', 10_000, 100),
      idleMs: 5000,
      workflowTaskTimeoutMs: number(flags, 'workflow-task-timeout-ms', 10_000, 1000),
    },
  }
}

function needed(value: string | undefined, flag: string, expected: string): string {
  if (value === undefined || value === '') throw new Error(`${flag} is missing; expected ${expected}`)
  return value
}

// Acted upon where the process is started (config.ts).
function checkCallStacks({ 'call-stacks': text = 'no' }: Flags): void {
  if (text !== 'yes' && text !== 'no') throw new Error(`--call-stacks is "${text}"; expected yes or no`)
}

/** Of the kinds of `--controllers` the journal remembers a hash; without a key no change would be seen. */
function contentKey(flags: Flags, { contentKeyPath }: Config): string | undefined {
  const path = flags['content-key'] ?? contentKeyPath
  if (flags['controllers'] !== undefined && path === undefined)
    throw new Error('--content-key is missing beside --controllers; expected the file that pawl migrate up has made')
  return path
}

/** Milliseconds; undefined for `none`. */
function duration(flags: Flags, flag: string, fallback: string): number | undefined {
  const text = flags[flag] ?? fallback
  const found = parseDuration(text)
  if (found === undefined) throw new Error(`--${flag} is "${text}"; expected a duration such as 1m30s, or none`)
  return found === 'none' ? undefined : found
}

function number(flags: Flags, flag: string, fallback: number, least: number): number {
  const text = flags[flag]
  if (text === undefined) return fallback
  const value = Number(text)
  if (!Number.isInteger(value) || value < least)
    throw new Error(`--${flag} is "${text}"; expected a whole number of at least ${least}`)
  return value
}
