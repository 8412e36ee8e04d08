// The worker process: dispatches wakes, runs workflows and their activities. Flags beat the environment (config.ts).

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
import { Metrics } from '../activities/run/metrics.ts'
import { readConfig } from './server/config.ts'
import { controllerFiles, createRegistry, loadControllers, switchedOff, wingOf } from './server/registry.ts'
import { loadOwnActivities } from './server/load-controllers.ts'
import { givenFlags } from './server/flags.ts'
import { createTroubles, serveHealth } from './server/health.ts'
import { type Frame, runProcess } from './server/process.ts'
import { awaitSchema } from './server/await-schema.ts'
import { clockReader, createClockSteps, createJournalClock } from './server/clocks.ts'
import { QUICK_DATABASE, tellHealth } from './server/health-report.ts'
import { metricsOf, wingsOn } from './server/wings.ts'
import { buildOf } from './reconciler/temporal/bundle.ts'
import { connectToTemporal, followApiKey, watchTemporal } from './reconciler/temporal/connection.ts'
import { Dispatcher, type DispatcherDeps } from './reconciler/dispatcher.ts'
import { handOver, identityOf, runSweeper } from './reconciler/resync.ts'
import { listenForWakes } from './reconciler/listener.ts'
import { payloadConverter } from './reconciler/temporal/payload-codec.ts'
import { sizedResult } from './reconciler/temporal/payload-size.ts'
import { createNotices } from './reconciler/runs.ts'
import { createProblemList, StuckRuns } from './reconciler/stuck-runs.ts'
import { reconcilerSettings, WORKER_FLAGS } from './reconciler/settings.ts'
import { createTellingWorker, logTemporal } from './reconciler/temporal/sdk-worker.ts'
import { JobEvents } from './reconciler/job-events.ts'
import { WaitingJobs } from './reconciler/waiting-jobs.ts'

const given = givenFlags(WORKER_FLAGS)
const config = readConfig()
const added = await loadControllers(controllerFiles(given['controllers']))
const registry = createRegistry(added, wingsOn(given['wings']), switchedOff(given))
const { route, subjectKinds, modes, lanes, hosts, controllers, watchedKinds } = registry
const settings = reconcilerSettings(given, config, { names: [...controllers.keys()], queues: registry.queues })
const ownModules = await loadOwnActivities(registry.levels.filter(isRunHere))
const sealing = payloadConverter(settings.payloadKeyPath)
const clock = createJournalClock()
const now = () => clock.now()
const clockSteps = createClockSteps({ machine: () => Date.now(), database: () => clock.now().getTime() })
// Statements of groups: claims, lookups, openings, acknowledgements, beginnings.
const LAX_CONNECTIONS = 5

/** Others may lack here what their activities need. */
function isRunHere({ name }: { readonly name: string }): boolean {
  return settings.dispatcher.controllers?.includes(name) ?? true
}

/** So many workflow tasks at once; more only wait for each other: a run in hand is finished rather than another one begun (spec/engine.md 1.5). */
const AT_ONCE = 10
/**
 * Few while little comes: each poll that a stopped process holds open swallows a task until its time-out. And few while much comes: a poll holds the place of
 * a task, so those of one kind (for cached runs, or for new ones) that nothing answers would leave the other kind one place.
 */
const MOST_POLLS = 3

await runProcess('worker', config.logLevel, async (frame) => {
  logTemporal(frame.log)
  const parts = await openParts(frame)
  if (parts !== undefined) await serve(frame, parts, await createWorkers(frame, parts))
})

type Parts = NonNullable<Awaited<ReturnType<typeof openParts>>>

/** What the worker works with; undefined when it is told to stop before journal and Temporal answer. */
async function openParts({ log, stopping, opened }: Frame) {
  const troubles = createTroubles()
  troubles.report('workers', new Error('they do not ask for tasks yet'))
  const metrics = new Metrics({ now, failed: (error) => log.warn({ err: error }, 'metrics could not be measured') })
  for (const declared of metricsOf(settings.wings)) metrics.declare(declared)
  const health = await serveHealth(troubles, settings.healthHost, settings.healthPort, metrics)
  opened(() => health.close())
  const db = openDatabase(settings.databaseUrl)
  opened(() => db.destroy())
  if (!(await awaitSchema(db, { log, troubles }, stopping.signal))) return undefined
  await clock.read(db)
  const lax = openDatabase(settings.databaseUrl, LAX_CONNECTIONS, { asyncCommit: true })
  opened(() => lax.destroy())
  const kube = createKubeClient({ kubeconfigPath: settings.kubeconfigPath, userAgent: 'pawl-worker' })
  opened(() => kube.close())
  const contentKey =
    settings.contentKeyPath === undefined ? undefined : await loadOrCreateContentKey(settings.contentKeyPath)
  const connection = await connectToTemporal(settings.temporal, { log, troubles }, stopping.signal)
  if (connection === undefined) return undefined
  opened(() => connection.close())
  const routing = { route, subjectKinds, modes, lanes, hosts, controllers, followed: watchedKinds, contentKey, now }
  // Eager starts need client and worker on one connection (spec/engine.md 1.2).
  const client = new Client({ connection, namespace: settings.temporal.namespace, ...sealing })
  const build = await buildOf(
    settings,
    added.map(({ name }) => name),
    Runtime.instance().logger,
  )
  const { cluster, controllers: own, shares } = settings.dispatcher
  const recordProblem = createProblemList({ kube, log, now, place: settings.problems })
  const stuckRuns = new StuckRuns(
    { db, kube, client, log, now, registry, recordProblem },
    { cluster, controllers: own, shares, build: build.name },
  )
  const inFlightRuns = new InFlightRuns(now)
  return { troubles, health, db, lax, kube, connection, client, build, stuckRuns, inFlightRuns, routing, metrics }
}

async function createWorkers(frame: Frame, parts: Parts): Promise<readonly Worker[]> {
  const { connection, inFlightRuns, build, stuckRuns } = parts
  const options: Omit<WorkerOptions, 'taskQueue'> = {
    connection,
    namespace: settings.temporal.namespace,
    ...sealing,
    identity: identityOf(build.name),
    workflowBundle: { code: build.code },
    sinks: stuckRuns.sinks(),
    activities: activitiesOf(frame, parts),
    maxCachedWorkflows: settings.cachedRuns,
    maxConcurrentWorkflowTaskExecutions: AT_ONCE + MOST_POLLS,
    maxConcurrentLocalActivityExecutions: 30,
    interceptors: { activity: [({ info }) => ({ inbound: actsBy(inFlightRuns, info) })] },
    workflowTaskPollerBehavior: { type: 'autoscaling', initial: 2, minimum: 2, maximum: MOST_POLLS },
    activityTaskPollerBehavior: { type: 'autoscaling', initial: 1, minimum: 1, maximum: 10 },
    stickyQueueScheduleToStartTimeout: settings.stickyTimeoutMs,
    shutdownGraceTime: settings.drainMs,
  }
  return await Promise.all(
    settings.taskQueues.map((taskQueue) =>
      createTellingWorker({ ...options, taskQueue }, stuckRuns.doesNotFit, (runID) =>
        frame.log.debug({ runID }, 'a run has made room for others'),
      ),
    ),
  )
}

/** Local activities run inside workflow tasks, so their runs are at work. What they return is measured. */
function actsBy(
  inFlightRuns: InFlightRuns,
  { isLocal, workflowExecution, activityType }: Info,
): ActivityInboundCallsInterceptor {
  const isOfTask = isLocal && workflowExecution !== undefined
  return {
    async execute(input, next) {
      const acted = isOfTask ? inFlightRuns.callStarted(workflowExecution.workflowId) : () => undefined
      return sizedResult(activityType, input.args, await told(next(input), acted))
    },
  }
}

async function told<T>(call: Promise<T>, tell: (how: 'done' | 'failed') => void): Promise<T> {
  let how: 'done' | 'failed' = 'failed'
  try {
    const result = await call
    how = 'done'
    return result
  } finally {
    tell(how)
  }
}

/** The engine's activities, those of the wings that are on, and the controllers' own. */
function activitiesOf({ log, opened }: Frame, parts: Parts): object {
  const { db, lax, kube, client, inFlightRuns, routing, troubles, metrics } = parts
  const report = (error: unknown) => {
    troubles.report('journal', error)
  }
  const journal = createGroupedJournal({ db, asyncCommitDb: lax, report }, settings.cluster, routing)
  opened(() => journal.flushAll())
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
    log,
    wingSettings: (controller) => of(controller)?.settings,
    notices: createNotices(client, settings.dispatcher, (controller) => of(controller)?.notifiers),
    observerOf: (controller) => of(controller)?.observer,
    metrics,
    statsd: config.statsd,
    ...(config.nodeName !== undefined && { nodeName: config.nodeName }),
    clocks: clockReader(clock),
  }
  for (const [name, flags] of settings.wingFlags) {
    const wing = openWing(name, deps, flags)
    if (wing === undefined) continue
    opened(wing.close)
    wings.set(name, wing)
  }
  const own = registry.levels.map((controller) =>
    ownActivities(controller, ownModules.get(controller.name) ?? {}, {
      deps,
      flags: settings.wingFlags.get(wingOf(controller.name) ?? ''),
      parts: of(controller.name)?.parts,
    }),
  )
  const made = [...[...wings.values()].map(({ activities }) => activities), ...own]
  const ends = [...wings.values()].flatMap(({ beforeEnd = {} }) => Object.entries(beforeEnd))
  const releases = [...wings.values()].flatMap(({ beforeRelease = {} }) => Object.entries(beforeRelease))
  return createActivities(deps, made, Object.fromEntries(ends), Object.fromEntries(releases))
}

/** Says that this worker lives, and how the engine is, where that is told. */
async function tellOwnHealth(
  { log, opened, stopping }: Pick<Frame, 'log' | 'opened' | 'stopping'>,
  { kube, troubles, connection }: Parts,
): Promise<void> {
  if (settings.health === undefined) return
  const { cluster, owner, controllers: own } = settings.dispatcher
  const db = openDatabase(settings.databaseUrl, 1, QUICK_DATABASE)
  opened(() => db.destroy())
  const said = { cluster, owner, role: 'worker', serves: own ?? [...controllers.keys()] } as const
  const probes = { temporal: async () => await connection.workflowService.getSystemInfo({}) }
  const deps = { db, kube, log, now, own: said, wrong: troubles.wrong, probes }
  await tellHealth(deps, settings.health, stopping.signal)
}

/** Runs dispatcher, sweeper and workers until one of them ends or the process is told to stop. */
async function serve({ log, stopping, opened }: Frame, parts: Parts, workers: readonly Worker[]): Promise<void> {
  const { troubles, health, db, lax, kube, connection, client, build, stuckRuns, inFlightRuns } = parts
  const warn: DispatcherDeps['warn'] = async (...told) => await recordWarning({ kube, log, now }, ...told)
  const waiting = new WaitingJobs({ db, kube, log, now, registry }, settings.dispatcher)
  const late: DispatcherDeps['late'] = async (...told) => await waiting.late(...told)
  const dispatcher = new Dispatcher(
    { db, lax, client, log, now, inFlightRuns, registry, warn, late, report: troubles.report },
    settings.dispatcher,
  )
  const running = [
    dispatcher.run(),
    listenForWakes({ databaseUrl: settings.databaseUrl, onWake: () => dispatcher.nudge(), log }, stopping.signal),
    runSweeper(
      { db, client, log, now, registry, onClockSet: clockSteps.onSet },
      { ...settings.dispatcher, everyMs: settings.sweepMs },
      stopping.signal,
    ),
    stuckRuns.run(stopping.signal),
    waiting.run(stopping.signal, () => dispatcher.wasFull()),
    new JobEvents({ db, kube, log, now, registry }, settings.dispatcher).run(stopping.signal),
    clock.follow(db, log, stopping.signal),
    clockSteps.follow(log, stopping.signal),
    tellOwnHealth({ log, opened, stopping }, parts),
    followApiKey(connection, settings.temporal, { log }, stopping.signal),
    watchTemporal(connection, { log, report: troubles.report }, stopping.signal),
  ]

  function stop(): void {
    // First of all nobody is to count on this worker any more.
    troubles.report('process', new Error('it is about to stop'))
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
    // When one fails, the others are stopped too.
    const runs = workers.map((worker) => worker.run().finally(() => stopping.abort()))
    troubles.report('workers', undefined)
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
