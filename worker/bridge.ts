// The bridge process: follows every watched kind of one cluster and feeds the journal. Any number may run; one at a time follows a kind.

import type { Kysely } from 'kysely'
import type { Logger } from 'pino'

import { loadOrCreateContentKey } from '../activities/journal/content-key.ts'
import { type Database, openDatabase } from '../activities/journal/database.ts'
import { ensurePartitions } from '../activities/journal/write/partitions.ts'
import { pruneJournal } from '../activities/journal/write/retention.ts'
import { createKubeClient } from '../activities/kube/client.ts'
import { caughtUp, createReflector } from './bridge/reflector.ts'
import { BRIDGE_FLAGS, processSettings } from './bridge/settings.ts'
import { awaitSchema } from './server/await-schema.ts'
import { pause } from './server/backoff.ts'
import { readConfig } from './server/config.ts'
import { givenFlags } from './server/flags.ts'
import { createTroubles, serveHealth } from './server/health.ts'
import { createJournalClock } from './server/clocks.ts'
import { type Frame, runProcess } from './server/process.ts'
import { loadRegistry } from './server/registry.ts'
import { QUICK_DATABASE, tellHealth } from './server/health-report.ts'

const config = readConfig()
const settings = processSettings(givenFlags(BRIDGE_FLAGS), config)
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

async function bridge({ log, stopping, opened }: Frame): Promise<void> {
  const contentKey =
    settings.contentKeyPath === undefined ? undefined : await loadOrCreateContentKey(settings.contentKeyPath)
  if (contentKey === undefined) log.warn('no content key: changes of hashed content are not seen')

  // Every reflector may commit and renew its lease at the same time; the clock needs one more.
  const db = openDatabase(settings.databaseUrl, watchedKinds.length * 2 + 1)
  opened(() => db.destroy())
  // What goes through whole days of events may take its time.
  const unhurried = openDatabase(settings.databaseUrl, 2, { statementMs: 600_000, answerMs: 660_000 })
  opened(() => unhurried.destroy())
  const kube = createKubeClient({ kubeconfigPath: settings.kubeconfigPath, userAgent: 'pawl-bridge' })
  opened(() => kube.close())
  const journal = { route, subjectKinds, modes, lanes, hosts, contentKey, now }
  const shared = {
    cluster,
    namespace,
    owner,
    kube,
    db,
    journal,
    log,
    settings: settings.reflector,
    random: Math.random,
  }
  const reflectors = watchedKinds.map((watched) => createReflector(watched, shared))

  const troubles = createTroubles()
  const readiness = { word: 'behind', wrong: () => ({ ...troubles.wrong(), ...caughtUp(reflectors).wrong() }) }
  const health = await serveHealth(readiness, settings.healthHost, settings.healthPort)
  opened(() => health.close())
  if (!(await awaitSchema(db, { log, troubles }, stopping.signal))) return
  await clock.read(db)
  const telling = async () => {
    if (settings.health === undefined) return
    const quick = openDatabase(settings.databaseUrl, 1, QUICK_DATABASE)
    opened(() => quick.destroy())
    const own = { cluster, owner, role: 'bridge', serves: [...controllers.keys()] } as const
    const deps = { db: quick, kube, log, now, own, wrong: readiness.wrong }
    await tellHealth(deps, settings.health, stopping.signal)
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
  const stops = () => {
    troubles.report('process', new Error('it is about to stop'))
  }
  stopping.signal.addEventListener('abort', stops, { once: true })
  await Promise.all([
    ...reflectors.map((reflector) => reflector.run(stopping.signal)),
    clock.follow(db, log, stopping.signal),
    telling(),
    keepUp({ db: unhurried, log, retentionMs: settings.retentionMs, now }, stopping.signal),
  ])
}

// Once an hour: partitions ahead, old events out. Every bridge does it; the statements exclude each other.

export interface UpkeepDeps {
  readonly db: Kysely<Database>
  readonly log: Logger
  readonly retentionMs: number
  readonly now: () => Date
}

/** Runs until the signal; a failure is logged and tried again an hour later. */
export async function keepUp({ db, log, retentionMs, now }: UpkeepDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const made = await ensurePartitions(db, now())
      const pruned = await pruneJournal(db, retentionMs, now())
      log.debug({ made, pruned }, 'journal kept up')
    } catch (error) {
      log.warn({ error: String(error) }, 'journal could not be kept up')
    }
    await pause(HOUR_MS, signal)
  }
}
