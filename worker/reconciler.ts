// The worker process: dispatches wakes, runs workflows and their activities.

import { Client } from '@temporalio/client'
import type { Info } from '@temporalio/activity'
import { type ActivityInboundCallsInterceptor, Runtime, type Worker, type WorkerOptions } from '@temporalio/worker'
import { createActivities, type Deps, openWing, type OpenWing, ownActivities } from '../activities/index.ts'
import { loadOrCreateContentKey } from '../activities/journal/content-key.ts'
import { openDatabase } from '../activities/journal/database.ts'
import { createGroupedJournal } from '../activities/journal/write/grouped-journal.ts'
import { createKubeClient } from '../activities/kube/client.ts'
import { recordWarning } from '../activities/kube/events.ts'
import { ObjectCache } from '../activities/kube/object-cache.ts'
import { InFlightRuns } from '../activities/run/in-flight-runs.ts'
import { measureRuns } from '../activities/journal/read/gauges.ts'
import { RunMetrics } from '../activities/run/run-metrics.ts'
import { childEnvironment, readConfig } from './server/config.ts'
import { JOURNAL_METRICS, WORKER_METRICS } from '../workflows/kit/index.ts'
import { controllerFiles, createRegistry, loadControllers, disabledControllers, wingOf } from './server/registry.ts'
import { loadOwnActivities } from './server/load-controllers.ts'
import { givenFlags } from './server/flags.ts'
import { createReadinessChecks, serveHealth } from './server/health.ts'
import { type ProcessContext, runProcess } from './server/process.ts'
import { createProcessMetrics } from './server/process-metrics.ts'
import { awaitSchema } from './server/await-schema.ts'
import { clockReader, createClockStepWatcher, createJournalClock } from './server/clocks.ts'
import { HEALTH_DATABASE_LIMITS, reportHealth } from './server/health-report.ts'
import { metricsOf, enabledWings } from './server/wings.ts'
import { buildOf } from './reconciler/temporal/bundle.ts'
import { connectToTemporal, refreshApiKey, probeTemporal } from './reconciler/temporal/connection.ts'
import { Dispatcher, type DispatcherDeps } from './reconciler/dispatcher.ts'
import { handOver, identityOf, runResync } from './reconciler/resync.ts'
import { listenForWakes } from './reconciler/listener.ts'
import { dataConverterOptions } from './reconciler/temporal/payload-codec.ts'
import { countRequests } from './reconciler/temporal/request-metrics.ts'
import { checkResultSize } from './reconciler/temporal/payload-size.ts'
import { createNotificationStarter } from './reconciler/runs.ts'
import { createProblemList, StuckRuns } from './reconciler/stuck-runs.ts'
import { reconcilerSettings, WORKER_FLAGS } from './reconciler/settings.ts'
import { createWorker, installTemporalLogger } from './reconciler/temporal/sdk-worker.ts'
import { useLeanWorkflowThreads } from './reconciler/temporal/thread-arguments.ts'
import { JobEvents } from './reconciler/job-events.ts'
import { WaitingJobs } from './reconciler/waiting-jobs.ts'

const flags = givenFlags(WORKER_FLAGS)
const config = readConfig()
const userControllers = await loadControllers(controllerFiles(flags['controllers']))
const registry = createRegistry(userControllers, enabledWings(flags['wings']), disabledControllers(flags))
const { route, subjectKinds, modes, lanes, hosts, controllers, watchedKinds } = registry
const settings = reconcilerSettings(flags, config, { names: [...controllers.keys()], queues: registry.queues })
const ownModules = await loadOwnActivities(registry.levels.filter(isRunHere))
const payloadOptions = dataConverterOptions(settings.payloadKeyPath)
const clock = createJournalClock()
const now = () => clock.now()
const clockSteps = createClockStepWatcher({ machine: () => Date.now(), database: () => clock.now().getTime() })
// For batched statements: claims, lookups, openings, acknowledgements, starts.
const ASYNC_COMMIT_CONNECTIONS = 5

/** Other processes may lack the packages of these activities. */
function isRunHere({ name }: { readonly name: string }): boolean {
  return settings.dispatcher.controllers?.includes(name) ?? true
}

/** The number of concurrent workflow tasks. More would only compete for the CPU: running passes finish first (spec/engine.md 1.5). */
const CONCURRENT_TASKS = 10
/**
 * Few polls at low load, because each open poll of a stopped process swallows a task until its time-out. Few polls at high load, because a poll occupies a
 * task slot: unanswered polls of one queue (sticky or normal) must not leave the other one a single slot.
 */
const MAX_POLLERS = 3

/** The limit of concurrent passes of each controller that this worker runs. */
function passLimits(): ReadonlyMap<string, number> {
  const limits = new Map(registry.levels.map(({ name, settings: level }) => [name, level?.passes]))
  const own = settings.dispatcher.controllers ?? [...controllers.keys()]
  return new Map(own.map((name) => [name, limits.get(name) ?? CONCURRENT_TASKS]))
}

await runProcess('worker', config.logLevel, async (frame) => {
  installTemporalLogger(frame.logLevels.of('temporal'))
  if (!settings.callStacks) useLeanWorkflowThreads()
  const resources = await openResources(frame)
  if (resources !== undefined) await serve(frame, resources, await createWorkers(frame, resources))
})

type Resources = NonNullable<Awaited<ReturnType<typeof openResources>>>

/** The resources of the worker; undefined if it is stopped before journal and Temporal answer. */
async function openResources({ log, logLevels, stopping, onClose }: ProcessContext) {
  const checks = createReadinessChecks()
  checks.report('workers', new Error('the workers do not poll for tasks yet'))
  const { metrics, onAnswer, onStatement } = createProcessMetrics({ log, readiness: checks, now }, [
    WORKER_METRICS,
    JOURNAL_METRICS,
    ...metricsOf(settings.wings),
  ])
  const health = await serveHealth(checks, settings.healthHost, settings.healthPort, { metrics, logLevels })
  onClose(() => health.close())
  const db = openDatabase(settings.databaseUrl, undefined, { onStatement })
  onClose(() => db.destroy())
  if (!(await awaitSchema(db, { log, checks }, stopping.signal))) return undefined
  await clock.read(db)
  const asyncCommitDb = openDatabase(settings.databaseUrl, ASYNC_COMMIT_CONNECTIONS, {
    asyncCommit: true,
    onStatement,
  })
  onClose(() => asyncCommitDb.destroy())
  const kube = createKubeClient({ kubeconfigPath: settings.kubeconfigPath, userAgent: 'pawl-worker', onAnswer })
  onClose(() => kube.close())
  const contentKey =
    settings.contentKeyPath === undefined ? undefined : await loadOrCreateContentKey(settings.contentKeyPath)
  const connection = await connectToTemporal(settings.temporal, { log, checks }, stopping.signal)
  if (connection === undefined) return undefined
  onClose(() => connection.close())
  const routing = { route, subjectKinds, modes, lanes, hosts, controllers, followed: watchedKinds, contentKey, now }
  // Eager starts need client and worker on one connection (spec/engine.md 1.2).
  const client = new Client({
    connection,
    namespace: settings.temporal.namespace,
    ...payloadOptions,
    interceptors: { workflow: [countRequests(metrics)] },
  })
  const build = await buildOf(
    settings,
    userControllers.map(({ name }) => name),
    Runtime.instance().logger,
  )
  const { cluster, controllers: own, shares } = settings.dispatcher
  const runMetrics = new RunMetrics(metrics, now, passLimits().keys())
  metrics.measure(async () => [
    ...runMetrics.samples(passLimits()),
    ...(await measureRuns({ db, cluster }, [...passLimits().keys()])),
  ])
  const recordProblem = createProblemList({ kube, log, now, place: settings.problems })
  const stuckRuns = new StuckRuns(
    { db, kube, client, log: logLevels.of('runs'), now, registry, recordProblem },
    { cluster, controllers: own, shares, build: build.name },
  )
  const inFlightRuns = new InFlightRuns(now)
  return {
    checks,
    health,
    db,
    asyncCommitDb,
    kube,
    connection,
    client,
    build,
    stuckRuns,
    inFlightRuns,
    routing,
    metrics,
    runMetrics,
  }
}

async function createWorkers(frame: ProcessContext, resources: Resources): Promise<readonly Worker[]> {
  const { connection, inFlightRuns, build, stuckRuns } = resources
  const options: Omit<WorkerOptions, 'taskQueue'> = {
    connection,
    namespace: settings.temporal.namespace,
    ...payloadOptions,
    identity: identityOf(build.name),
    workflowBundle: { code: build.code },
    sinks: stuckRuns.sinks(),
    activities: activitiesOf(frame, resources),
    maxCachedWorkflows: settings.cachedRuns,
    maxConcurrentWorkflowTaskExecutions: CONCURRENT_TASKS + MAX_POLLERS,
    maxConcurrentLocalActivityExecutions: 30,
    interceptors: { activity: [({ info }) => ({ inbound: activityInterceptor(inFlightRuns, info) })] },
    workflowTaskPollerBehavior: { type: 'autoscaling', initial: 2, minimum: 2, maximum: MAX_POLLERS },
    activityTaskPollerBehavior: { type: 'autoscaling', initial: 1, minimum: 1, maximum: 10 },
    stickyQueueScheduleToStartTimeout: settings.stickyTimeoutMs,
    shutdownGraceTime: settings.drainMs,
  }
  return await Promise.all(
    settings.taskQueues.map((taskQueue) =>
      createWorker(
        { ...options, taskQueue },
        {
          onNondeterminism: stuckRuns.onNondeterminism,
          onEndlessCode: stuckRuns.onEndlessCode,
          onEviction: (runID) => frame.log.debug({ runID }, 'a run was evicted from the cache'),
        },
      ),
    ),
  )
}

/** Tracks local activities, which run inside workflow tasks, as in-flight runs, and checks the size of results. */
function activityInterceptor(
  inFlightRuns: InFlightRuns,
  { isLocal, workflowExecution, activityType }: Info,
): ActivityInboundCallsInterceptor {
  const isOfTask = isLocal && workflowExecution !== undefined
  return {
    async execute(input, next) {
      const callEnded = isOfTask ? inFlightRuns.callStarted(workflowExecution.workflowId) : () => undefined
      return checkResultSize(activityType, input.args, await withOutcome(next(input), callEnded))
    },
  }
}

async function withOutcome<T>(call: Promise<T>, ended: (how: 'done' | 'failed') => void): Promise<T> {
  let how: 'done' | 'failed' = 'failed'
  try {
    const result = await call
    how = 'done'
    return result
  } finally {
    ended(how)
  }
}

/** The activities of the engine, of the enabled wings, and of controllers of users. */
function activitiesOf({ logLevels, onClose }: ProcessContext, resources: Resources): object {
  const { db, asyncCommitDb, kube, client, inFlightRuns, routing, checks, metrics } = resources
  const report = (error: unknown) => {
    checks.report('journal', error)
  }
  const journal = createGroupedJournal({ db, asyncCommitDb, report }, settings.cluster, routing)
  onClose(() => journal.flushAll())
  const wings = new Map<string, OpenWing>()
  const of = (controller: string) => wings.get(wingOf(controller) ?? '')
  const deps: Deps = {
    cluster: settings.cluster,
    kube,
    db,
    inFlightRuns,
    ...routing,
    journal,
    objects: new ObjectCache(),
    log: logLevels.of('activities'),
    wingSettings: (controller) => of(controller)?.settings,
    notices: createNotificationStarter(client, settings.dispatcher, (controller) => of(controller)?.notifiers),
    observerOf: (controller) => of(controller)?.observer,
    metrics,
    runMetrics: resources.runMetrics,
    statsd: config.statsd,
    ...(config.nodeName !== undefined && { nodeName: config.nodeName }),
    environment: childEnvironment(),
    clocks: clockReader(clock),
  }
  for (const [name, flags] of settings.wingFlags) {
    const wing = openWing(name, deps, flags)
    if (wing === undefined) continue
    onClose(wing.close)
    wings.set(name, wing)
  }
  const own = registry.levels.map((controller) =>
    ownActivities(controller, ownModules.get(controller.name) ?? {}, {
      deps,
      flags: settings.wingFlags.get(wingOf(controller.name) ?? ''),
      parts: of(controller.name)?.parts,
    }),
  )
  const activities = [...[...wings.values()].map(({ activities }) => activities), ...own]
  const ends = [...wings.values()].flatMap(({ beforeEnd = {} }) => Object.entries(beforeEnd))
  const releases = [...wings.values()].flatMap(({ beforeRelease = {} }) => Object.entries(beforeRelease))
  return createActivities(deps, activities, Object.fromEntries(ends), Object.fromEntries(releases))
}

/** Reports the health of this worker and of the engine, if configured. */
async function reportOwnHealth(
  { log, onClose, stopping }: Pick<ProcessContext, 'log' | 'onClose' | 'stopping'>,
  { kube, checks, connection }: Resources,
): Promise<void> {
  if (settings.health === undefined) return
  const { cluster, owner, controllers: own } = settings.dispatcher
  const db = openDatabase(settings.databaseUrl, 1, HEALTH_DATABASE_LIMITS)
  onClose(() => db.destroy())
  const ownHeartbeat = { cluster, owner, role: 'worker', serves: own ?? [...controllers.keys()] } as const
  const probes = { temporal: async () => await connection.workflowService.getSystemInfo({}) }
  const deps = { db, kube, log, now, own: ownHeartbeat, failures: checks.failures, probes }
  await reportHealth(deps, settings.health, stopping.signal)
}

/** Runs dispatcher, resync and workers until one of them ends or the process is stopped. */
async function serve(
  { log, logLevels, stopping, onClose }: ProcessContext,
  resources: Resources,
  workers: readonly Worker[],
): Promise<void> {
  const { checks, health, db, asyncCommitDb, kube, connection, client, build, stuckRuns } = resources
  const { inFlightRuns, runMetrics } = resources
  const warn: DispatcherDeps['warn'] = async (...warning) => await recordWarning({ kube, log, now }, ...warning)
  const shared = { db, kube, log, now, registry }
  const waitingJobs = new WaitingJobs(shared, settings.dispatcher)
  const onSlowStart: DispatcherDeps['onSlowStart'] = async (...start) => await waitingJobs.reportSlowStart(...start)
  const own = { ...shared, log: logLevels.of('dispatcher'), asyncCommitDb, client, inFlightRuns, runMetrics }
  const dispatcher = new Dispatcher({ ...own, warn, onSlowStart, report: checks.report }, settings.dispatcher)
  const running = [
    dispatcher.run(),
    listenForWakes({ databaseUrl: settings.databaseUrl, onWake: () => dispatcher.notify(), log }, stopping.signal),
    runResync(
      { db, client, log, now, registry, onClockStep: clockSteps.onStep },
      { ...settings.dispatcher, everyMs: settings.sweepMs },
      stopping.signal,
    ),
    stuckRuns.run(stopping.signal),
    waitingJobs.run(stopping.signal, () => dispatcher.wasFull()),
    new JobEvents(shared, settings.dispatcher).run(stopping.signal),
    clock.follow(db, log, stopping.signal),
    clockSteps.follow(log, stopping.signal),
    reportOwnHealth({ log, onClose, stopping }, resources),
    refreshApiKey(connection, settings.temporal, { log }, stopping.signal),
    probeTemporal(connection, { log, report: checks.report }, stopping.signal),
  ]

  function stop(): void {
    // First of all /readyz must fail.
    checks.report('process', new Error('the process is shutting down'))
    dispatcher.stop()
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown()
  }
  stopping.signal.addEventListener('abort', stop, { once: true })

  log.info(
    {
      wings: settings.wings,
      taskQueues: settings.taskQueues,
      build: build.name,
      temporal: settings.temporal.address,
      health: health.address,
    },
    'worker is running',
  )
  try {
    // When one worker fails, the others are stopped, too.
    const runs = workers.map((worker) => worker.run().finally(() => stopping.abort()))
    checks.report('workers', undefined)
    if (stopping.signal.aborted) stop()
    for (const end of await Promise.allSettled(runs)) if (end.status === 'rejected') throw end.reason
  } finally {
    stopping.abort()
    await Promise.all(running)
    await handOver({ db, client, log, now, registry }, settings.dispatcher, build.name).catch((error: unknown) =>
      log.warn({ err: error }, 'objects could not be handed over to other workers'),
    )
  }
}
