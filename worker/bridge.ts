// The bridge process: follows every watched kind of one cluster and feeds the journal. Any number may run; one at a time follows a kind.

import { parseArgs } from 'node:util'
import { loadOrCreateContentKey } from '../activities/journal/content-key.ts'
import { openDatabase } from '../activities/journal/database.ts'
import { createKubeClient } from '../activities/kube/client.ts'
import { BRIDGE_FLAGS, type Flags, processSettings } from './bridge/flags.ts'
import { serveHealth } from './bridge/health.ts'
import { createReflector } from './bridge/reflector.ts'
import { keepUp } from './bridge/upkeep.ts'
import { readConfig } from './server/config.ts'
import { loadRegistry } from './server/registry.ts'
import { createLogger } from './server/log.ts'

const config = readConfig()
const settings = processSettings(readFlags(), config)
const { cluster, namespace, owner } = settings
const log = createLogger('bridge', config.logLevel)
const { route, subjectKinds, modes, watchedKinds } = await loadRegistry(settings.controllerFiles)
const now = (): Date => new Date()

const contentKey =
  settings.contentKeyPath === undefined ? undefined : await loadOrCreateContentKey(settings.contentKeyPath)
if (contentKey === undefined) log.warn('no content key: changes of hashed content are not seen')

const stopping = new AbortController()
const stop = (): void => stopping.abort()
process.on('SIGTERM', stop)
process.on('SIGINT', stop)

// Every reflector may commit and renew its lease at the same time; the upkeep needs one more.
const db = openDatabase(settings.databaseUrl, watchedKinds.length * 2 + 1)
const kube = createKubeClient({ kubeconfigPath: settings.kubeconfigPath, userAgent: 'pawl-bridge' })
const journal = { route, subjectKinds, modes, contentKey, now }
const shared = { cluster, namespace, owner, kube, db, journal, log, settings: settings.reflector, random: Math.random }
const reflectors = watchedKinds.map((watched) => createReflector(watched, shared))

const health = await serveHealth(reflectors, settings.healthPort, settings.healthHost)
log.info(
  { cluster, namespace, owner, kinds: reflectors.map(({ kind }) => kind), healthPort: health.port },
  'bridge is running',
)
try {
  await Promise.all([
    ...reflectors.map((reflector) => reflector.run(stopping.signal)),
    keepUp({ db, log, retentionMs: settings.retentionMs, now }, stopping.signal),
  ])
} finally {
  await health.close()
  await kube.close()
  await db.destroy()
}
log.info('bridge has stopped')

function readFlags(): Flags {
  const { values } = parseArgs({
    options: Object.fromEntries(Object.keys(BRIDGE_FLAGS).map((name) => [name, { type: 'string' as const }])),
  })
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : undefined]),
  )
}
