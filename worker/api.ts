// The process `pawl api`: answers questions about the journal for users without database credentials, according to
// their RBAC permissions. It only reads. Several processes may run.

import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'

import type { Database } from '../activities/journal/database.ts'
import { namespacesOf, locationsOf, locationsOfRuns } from '../activities/journal/read/object-locations.ts'
import { type JournalQueries, queriesOf } from '../activities/journal/read/queries.ts'
import { openReader } from '../activities/journal/read/reader.ts'
import { createKubeClient } from '../activities/kube/client.ts'
import { API_FLAGS, apiSettings } from './api/flags.ts'
import { type ObjectPlaces, createResources, createPermissions } from './api/permissions.ts'
import { authorizedQuestions } from './api/authorized-questions.ts'
import { serveApi } from './api/server.ts'
import { createRateLimiter } from './api/rate-limiter.ts'
import { createUsers } from './api/users.ts'
import { awaitSchema } from './server/await-schema.ts'
import { readConfig } from './server/config.ts'
import { givenFlags } from './server/flags.ts'
import { createReadinessChecks, serveHealth, type ReadinessChecks } from './server/health.ts'
import { type ProcessContext, runProcess } from './server/process.ts'
import { createProcessMetrics } from './server/process-metrics.ts'
import { CERTIFICATE_METRICS, JOURNAL_METRICS } from '../workflows/kit/index.ts'
import { PAWL_VERSION } from './server/version.ts'

// The pool is larger than the concurrency limit per user: a single user cannot use all connections.
const CONNECTIONS = 8
const LOOK_MS = 5000

const config = readConfig()
const settings = apiSettings(givenFlags(API_FLAGS), config)
const now = () => performance.now()

await runProcess('api', config.logLevel, api)

async function api({ log, logLevels, stopping, onClose }: ProcessContext): Promise<void> {
  const { host, port, cluster, permissionsMs: cachedMs, audiences, reviewsPerSecond, statementMs } = settings
  const checks = createReadinessChecks()
  const { metrics, onAnswer, onStatement } = createProcessMetrics({ log, readiness: checks }, [
    CERTIFICATE_METRICS,
    JOURNAL_METRICS,
  ])
  const kube = createKubeClient({ kubeconfigPath: settings.kubeconfigPath, userAgent: 'pawl-api', onAnswer })
  onClose(() => kube.close())
  const db = openReader(settings.databaseUrl, CONNECTIONS, {
    statementMs,
    answerMs: statementMs + 5000,
    onStatement,
  })
  onClose(() => db.destroy())
  checks.report('journal', new Error('the journal has not been checked yet'))
  const health = await serveHealth(checks, settings.healthHost, settings.healthPort, { metrics, logLevels })
  onClose(() => health.close())
  // The schema check only reads.
  if (!(await awaitSchema(db as unknown as Kysely<Database>, { log, checks }, stopping.signal))) return

  const journal = { db, cluster }
  const questions = queriesOf(journal)
  const places: ObjectPlaces = {
    placesOf: async (uids) => await locationsOf(journal, uids),
    placesOfRuns: async (workflowIDs) => await locationsOfRuns(journal, workflowIDs),
    namespacesOf: async (kind, most) => await namespacesOf(journal, kind, most),
  }
  const permissionsOf = createPermissions(kube, { resources: createResources(kube, now), cachedMs, now })
  const server = await serveApi({
    host,
    port,
    pair: await readPair(),
    log,
    about: { version: PAWL_VERSION, cluster },
    users: createUsers(kube, { audiences, cachedMs: cachedMs, reviewsPerSecond, now }),
    rateLimiter: createRateLimiter(settings.rateLimits, now),
    questionsOf: (user) => authorizedQuestions(questions, places, permissionsOf(user)),
  })
  onClose(() => server.close())
  log.info({ cluster, host, port: server.port, healthPort: health.port }, 'api is running')

  let pair = await readPair()
  metrics.measure(() => {
    const value = pair === undefined ? undefined : Date.parse(new X509Certificate(pair.cert).validTo) / 1000
    return Promise.resolve(value === undefined ? [] : [{ name: 'pawl_certificate_expiry_timestamp_seconds', value }])
  })
  while (!stopping.signal.aborted) {
    await look(checks, questions)
    const found = await readPair().catch((error: unknown) => {
      log.warn({ err: error }, 'the certificate cannot be read; the previous certificate stays in use')
    })
    if (found !== undefined && found.cert !== pair?.cert) {
      server.setCertificate(found)
      pair = found
      log.info('using a new certificate')
    }
    await sleep(LOOK_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
  }
  checks.report('process', new Error('the process is shutting down'))
  await sleep(settings.drainMs)
}

async function look(checks: ReadinessChecks, questions: Pick<JournalQueries, 'followedKinds'>): Promise<void> {
  const error: unknown = await questions.followedKinds().then(
    () => undefined,
    () => new Error('no answer'),
  )
  checks.report('journal', error)
}

async function readPair(): Promise<{ readonly cert: string; readonly key: string } | undefined> {
  const { certificateDir } = settings
  if (certificateDir === undefined) return undefined
  const [cert = '', key = ''] = await Promise.all(
    ['tls.crt', 'tls.key'].map(async (name) => await readFile(join(certificateDir, name), 'utf8')),
  )
  return { cert, key }
}
