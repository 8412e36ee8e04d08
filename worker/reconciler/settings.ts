// The settings of the worker, from flags and environment. A wrong value ends the process with a message that has the actual and the expected value.

import type { Config } from '../server/config.ts'
import {
  type FlagTable,
  type FlagValues,
  type GivenFlags,
  joinFlagTables,
  requireFlag,
  readFlags,
} from '../server/flags.ts'
import { HEALTH_FLAGS, healthSettings, type HealthSettings } from '../server/health-report.ts'
import { createRegistry, disabledControllers } from '../server/registry.ts'
import { newLeaseOwner, readSharedSettings, type SharedSettings } from '../server/shared-settings.ts'
import { reportTarget } from '../server/report-object.ts'
import { TEMPORAL_FLAGS, type TemporalTarget, temporalTarget } from '../server/temporal.ts'
import { UsageError } from '../server/usage-error.ts'
import { DEFAULT_WINGS_TEXT, lacksDefaultWing, readWingFlags, WING_FLAGS, enabledWings } from '../server/wings.ts'
import type { DispatcherOptions } from './dispatcher.ts'
import { allTaskQueues, partitionShares, parseControllers } from './task-queues.ts'

const OWN_FLAGS = {
  kubeconfig: {
    takes: '<file>',
    reads: 'text',
    text: 'the cluster to act on',
    default: '$KUBECONFIG, else in-cluster or the usual file',
  },
  'database-url': { takes: '<url>', reads: 'text', text: 'PostgreSQL of the journal', default: '$PAWL_DATABASE_URL' },
  'temporal-address': {
    takes: '<host:port>',
    reads: 'text',
    text: 'Temporal',
    default: '$PAWL_TEMPORAL_ADDRESS, else $TEMPORAL_ADDRESS',
  },
  ...TEMPORAL_FLAGS,
  'payload-key': {
    takes: '<file>',
    reads: 'text',
    text: 'keys that encrypt payloads for Temporal',
    default: '$PAWL_PAYLOAD_KEY; without, Temporal stores plain text',
  },
  'task-queue': { takes: '<name>', reads: 'text', text: 'task queue in Temporal', otherwise: 'pawl' },
  wings: {
    takes: '<names>',
    reads: 'text',
    default: DEFAULT_WINGS_TEXT,
    text: 'run the controllers of these wings, such as landscaper,chaos, or none',
  },
  only: {
    takes: '<controllers>',
    reads: 'text',
    default: 'all',
    text: 'run only these controllers, such as installation,execution',
  },
  controllers: {
    takes: '<files>',
    reads: 'text',
    text: 'modules of controllers in level mode, separated by commas, as the bridge has them',
  },
  cluster: {
    takes: '<name>',
    reads: 'text',
    otherwise: 'local',
    text: 'name of the cluster in the journal, as the bridge has it',
  },
  'content-key': {
    takes: '<file>',
    reads: 'text',
    text: 'key of content hashes, the same as the bridge has',
    default: '$PAWL_CONTENT_KEY',
  },
  'workflow-bundle': {
    takes: '<file>',
    reads: 'text',
    text: 'a prebuilt bundle of the workflows',
    default: 'the bundle in the package; with --controllers or in a checkout, built at the start',
  },
  'health-host': {
    takes: '<address>',
    reads: 'text',
    text: 'where /healthz and /readyz are served',
    otherwise: '127.0.0.1',
  },
  'health-port': {
    takes: '<port>',
    reads: 'number',
    least: 0,
    otherwise: 0,
    text: 'its port',
    default: 'a free one, logged',
  },
  'dispatch-slots': {
    takes: '<count>',
    reads: 'number',
    least: 1,
    otherwise: 12,
    text: 'maximum number of wakes that are processed at the same time',
  },
  'cached-runs': {
    // Enough for the active runs; a run of a thousand items takes some MB.
    takes: '<count>',
    reads: 'number',
    least: 2,
    otherwise: 300,
    text: 'number of runs in memory between workflow tasks; other runs are replayed from their histories',
  },
  'wake-lease-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 100,
    otherwise: 10_000,
    text: 'lease of a worker for a wake',
  },
  'sweep-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 100,
    otherwise: 60_000,
    text: 'interval of searches for objects without a wake and for lost jobs',
  },
  'drain-ms': {
    // Below the termination grace period of a pod, which is 30 s.
    takes: '<ms>',
    reads: 'number',
    least: 0,
    otherwise: 20_000,
    text: 'how long activities may continue after SIGTERM before the worker cancels them',
  },
  'call-stacks': {
    takes: '<yes-or-no>',
    reads: 'yes-or-no',
    otherwise: 'no',
    text: "whether Temporal's UI can show where a run waits; takes time for every step",
  },
  'workflow-task-timeout-ms': {
    takes: '<ms>',
    reads: 'number',
    least: 1000,
    otherwise: 10_000,
    text: 'timeout after which Temporal gives a workflow task to another worker',
  },
  'sticky-timeout-ms': {
    // A task waits this long on the sticky queue of a dead worker (spec/engine.md 1.5).
    takes: '<ms>',
    reads: 'number',
    least: 100,
    otherwise: 4000,
    text: 'how long a workflow task waits for the worker that has the run in memory',
  },
  ...HEALTH_FLAGS,
  'critical-problems': {
    takes: '<namespace/name>',
    reads: 'text',
    default: 'none',
    text: 'the object that lists the bugs of workers, such as pawl/critical-problems',
  },
} as const satisfies FlagTable

/** The worker's own flags, then the flags of the wings. */
export const WORKER_FLAGS: FlagTable = joinFlagTables(OWN_FLAGS, WING_FLAGS)

// The version of the workflow code's history format. Runs of an older version stay on the queue of their own workers, and are started again here once no
// worker polls that queue. 2: a run hosts the jobs of its children (docs/adr/0023); runs of version 1 are ended at once (migrations/0006).
const RUNS_VERSION = 2

export interface ReconcilerSettings extends SharedSettings {
  readonly temporal: TemporalTarget
  /** File with the keys that encrypt payloads; undefined: payloads are not encrypted. */
  readonly payloadKeyPath: string | undefined
  /** The task queues that this process polls: one; or one for each controller, if flags select controllers, wings or partitions. */
  readonly taskQueues: readonly string[]
  /** A prebuilt bundle of workflows/index.ts; undefined: the worker builds one at start. */
  readonly workflowBundle: string | undefined
  /** The cache folder of bundles; undefined: no cache. */
  readonly bundleCacheDir: string | undefined
  /** Temporal's UI can show where a run waits. */
  readonly callStacks: boolean
  readonly sweepMs: number
  /** Values of the wings' own flags, by wing. */
  readonly wingFlags: ReadonlyMap<string, FlagValues<FlagTable>>
  readonly stickyTimeoutMs: number
  readonly cachedRuns: number
  readonly drainMs: number
  /** Undefined: the worker does not report its health. */
  readonly health: HealthSettings | undefined
  /** The object that lists bugs; undefined: bugs are not listed. */
  readonly problems: ReturnType<typeof reportTarget>
  readonly dispatcher: DispatcherOptions
}

/** The names and task queues of all controllers; unknown before the modules of `--controllers` are loaded. */
export interface KnownControllers {
  /** Names of all controllers. */
  readonly names: readonly string[]
  /** The task queues that controllers request, by controller. */
  readonly queues: ReadonlyMap<string, string>
}

/** Without modules of users, the built-in names are all names. */
function unloaded(given: GivenFlags, own: Iterable<string>): Partial<KnownControllers> {
  return given['controllers'] === undefined ? { names: [...own] } : {}
}

/** @throws with the name of the flag, the actual value and the expected value. */
export function reconcilerSettings(given: GivenFlags, config: Config, known?: KnownControllers): ReconcilerSettings {
  const flags = readFlags(OWN_FLAGS, given)
  const own = createRegistry([], enabledWings(given['wings']), disabledControllers(given)).controllers
  const { names, queues: named } = known ?? unloaded(given, own.keys())
  const surroundings = readSharedSettings(flags, given, config, 'the file that pawl migrate up creates')
  const { cluster } = flags
  const address = requireFlag(
    'temporal-address',
    flags['temporal-address'] ?? config.temporalAddress,
    'host:port of a Temporal service',
  )
  const payloadKeyPath = flags['payload-key'] ?? config.payloadKeyPath
  if (payloadKeyPath !== undefined && flags['workflow-bundle'] !== undefined)
    throw new UsageError(
      '--workflow-bundle cannot be combined with --payload-key; remove one of them: the encryption of failure messages is part of the bundle',
    )
  const taskQueue = `${flags['task-queue']}-${RUNS_VERSION}`
  const shares = partitionShares(own.values(), given)
  const isPart = lacksDefaultWing(surroundings.wings) || shares.length > 0
  const controllers = parseControllers(flags.only, names) ?? (isPart ? names : undefined)
  if (controllers?.length === 0)
    throw new UsageError('--wings: found none, so the worker has no controller; add --controllers')
  const queues = { taskQueue, controllers, shares, named }
  return {
    ...surroundings,
    temporal: temporalTarget(address, flags, config),
    payloadKeyPath,
    taskQueues: allTaskQueues(queues),
    workflowBundle: flags['workflow-bundle'],
    bundleCacheDir: config.bundleCacheDir,
    callStacks: flags['call-stacks'],
    sweepMs: flags['sweep-ms'],
    wingFlags: readWingFlags(surroundings.wings, given),
    stickyTimeoutMs: flags['sticky-timeout-ms'],
    cachedRuns: flags['cached-runs'],
    drainMs: flags['drain-ms'],
    health: healthSettings(flags, surroundings.wings),
    problems: reportTarget('critical-problems', flags['critical-problems'], surroundings.wings),
    dispatcher: {
      owner: newLeaseOwner(),
      cluster,
      ...queues,
      slots: flags['dispatch-slots'],
      leaseMs: flags['wake-lease-ms'],
      idleMs: 5000,
      // By then Temporal may give the task to another worker.
      wokenSlotMs: flags['sticky-timeout-ms'] / 2,
      workflowTaskTimeoutMs: flags['workflow-task-timeout-ms'],
    },
  }
}
