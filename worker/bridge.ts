// The bridge process: watches every kind of one cluster and feeds the journal. Several bridges may run; leader election per kind decides which bridge watches the kind.

import type { Kysely } from 'kysely'
import type { Logger } from 'pino'

import { loadOrCreateContentKey } from '../activities/journal/content-key.ts'
import { type Database, openDatabase } from '../activities/journal/database.ts'
import { ensurePartitions } from '../activities/journal/write/partitions.ts'
import { pruneJournal } from '../activities/journal/write/retention.ts'
import type { Metrics, Sample } from '../activities/run/metrics.ts'
import { createKubeClient } from '../activities/kube/client.ts'
import { measureSize } from '../activities/journal/read/gauges.ts'
import { reflectorReadiness, createReflector, type Reflector } from './bridge/reflector.ts'
import { BRIDGE_FLAGS, bridgeSettings } from './bridge/settings.ts'
import { awaitSchema } from './server/await-schema.ts'
import { pause } from './server/backoff.ts'
import { readConfig } from './server/config.ts'
import { givenFlags } from './server/flags.ts'
import { createReadinessChecks, type ReadinessChecks, serveHealth } from './server/health.ts'
import { createJournalClock } from './server/clocks.ts'
import { type ProcessContext, runProcess } from './server/process.ts'
import { createProcessMetrics } from './server/process-metrics.ts'
import { loadRegistry } from './server/registry.ts'
import { BRIDGE_METRICS, JOURNAL_METRICS } from '../workflows/kit/index.ts'
import { HEALTH_DATABASE_LIMITS, reportHealth } from './server/health-report.ts'

const config = readConfig()
const settings = bridgeSettings(givenFlags(BRIDGE_FLAGS), config)
const { cluster, namespace, owner } = settings
const { route, subjectKinds, modes, lanes, hosts, watchedKinds, controllers } = await loadRegistry(
  settings.controllerFiles,
  settings.wings,
  settings.off,
)
const clock = createJournalClock()
const now = () => clock.now()
const HOUR_MS = 60 * 60 * 1000

await runProcess('bridge', config.logLevel, bridge)

async function bridge({ log, logLevels, stopping, onClose }: ProcessContext): Promise<void> {
  const contentKey =
    settings.contentKeyPath === undefined ? undefined : await loadOrCreateContentKey(settings.contentKeyPath)
  if (contentKey === undefined) log.warn('no content key: changes of hashed content wake no controller')

  const checks = createReadinessChecks()
  const readiness = {
    field: 'behind',
    failures: () => ({ ...checks.failures(), ...reflectorReadiness(reflectors).failures() }),
  }
  const { metrics, onAnswer, onStatement } = createProcessMetrics({ log, readiness, now }, [
    BRIDGE_METRICS,
    JOURNAL_METRICS,
  ])
  // Every reflector may commit and renew its lease at the same time; the clock needs one more connection.
  const db = openDatabase(settings.databaseUrl, watchedKinds.length * 2 + 1, { onStatement })
  onClose(() => db.destroy())
  // Maintenance scans whole days of events, so its statements have long time-outs.
  const maintenanceDb = openDatabase(settings.databaseUrl, 2, { statementMs: 600_000, answerMs: 660_000 })
  onClose(() => maintenanceDb.destroy())
  const kube = createKubeClient({ kubeconfigPath: settings.kubeconfigPath, userAgent: 'pawl-bridge', onAnswer })
  onClose(() => kube.close())
  const journal = { route, subjectKinds, modes, lanes, hosts, contentKey, now }
  const shared = {
    cluster,
    namespace,
    owner,
    kube,
    db,
    journal,
    log: logLevels.of('watch'),
    metrics,
    settings: settings.reflector,
    random: Math.random,
  }
  const reflectors = watchedKinds.map((watched) => createReflector(watched, shared))

  startCounters(metrics, reflectors)
  metrics.measure(async () => [...lagsOf(reflectors), ...(await measureSize({ db }))])
  const health = await serveHealth(readiness, settings.healthHost, settings.healthPort, { metrics, logLevels })
  onClose(() => health.close())
  if (!(await awaitSchema(db, { log, checks }, stopping.signal))) return
  await clock.read(db)
  const reportOwnHealth = async () => {
    if (settings.health === undefined) return
    const healthDb = openDatabase(settings.databaseUrl, 1, HEALTH_DATABASE_LIMITS)
    onClose(() => healthDb.destroy())
    const own = { cluster, owner, role: 'bridge', serves: [...controllers.keys()] } as const
    const deps = { db: healthDb, kube, log, now, own, failures: readiness.failures }
    await reportHealth(deps, settings.health, stopping.signal)
  }
  log.info(
    {
      cluster,
      namespace,
      owner,
      wings: settings.wings,
      kinds: reflectors.map(({ kind }) => kind),
      healthPort: health.port,
    },
    'bridge is running',
  )
  reportStopping(checks, stopping.signal)
  await Promise.all([
    ...reflectors.map((reflector) => reflector.run(stopping.signal)),
    clock.follow(db, log, stopping.signal),
    reportOwnHealth(),
    maintainJournal(
      { db: maintenanceDb, log: logLevels.of('maintenance'), retentionMs: settings.retentionMs, now },
      stopping.signal,
    ),
  ])
}

/** Makes the process not ready as soon as it stops. */
function reportStopping(checks: ReadinessChecks, signal: AbortSignal): void {
  const report = () => {
    checks.report('process', new Error('the process is shutting down'))
  }
  signal.addEventListener('abort', report, { once: true })
}

/** The counters of each kind exist from the start, so that Prometheus sees the first increase. */
function startCounters(metrics: Pick<Metrics, 'count'>, reflectors: readonly Reflector[]): void {
  for (const { kind } of reflectors)
    for (const name of ['pawl_relists_total', 'pawl_watch_interruptions_total']) metrics.count(name, { kind }, 0)
}

function lagsOf(reflectors: readonly Reflector[]): readonly Sample[] {
  return reflectors.map((reflector) => ({
    name: 'pawl_event_lag_seconds',
    labels: { kind: reflector.kind },
    value: reflector.lagMs() / 1000,
  }))
}

// Hourly maintenance of the journal: creates partitions in advance and removes old events. Every bridge runs it; advisory locks prevent concurrent runs.

interface MaintenanceDeps {
  readonly db: Kysely<Database>
  readonly log: Logger
  readonly retentionMs: number
  readonly now: () => Date
}

/** Runs until the signal is aborted; a failure is logged and repeated an hour later. */
async function maintainJournal({ db, log, retentionMs, now }: MaintenanceDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const made = await ensurePartitions(db, now())
      const pruned = await pruneJournal(db, retentionMs, now())
      log.debug({ made, pruned }, 'journal kept up')
    } catch (error) {
      log.warn({ error: String(error) }, 'the maintenance of the journal failed; retrying')
    }
    await pause(HOUR_MS, signal)
  }
}
