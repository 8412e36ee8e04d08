// The webhook process: validates and mutates objects for API servers, by the rules of the wings. Several may run; all are active.
//
//   W1. The webhook configuration is written after the server listens: with policy Fail, no object could be written meanwhile.
//   W2. New authorities are added to the configuration before certificates that they sign are served (certificates.ts, C2), if there is time.
//   W3. A process with a valid certificate is ready, also after a failed check: with policy Fail, a process that is not ready rejects writes.

import { setTimeout as sleep } from 'node:timers/promises'

import { ADMISSIONS } from '../workflows/admission.gen.ts'
import { WINGS } from '../workflows/wings.gen.ts'
import { Metrics } from '../activities/run/metrics.ts'
import { createKubeClient, type KubeClient } from '../activities/kube/client.ts'
import { readConfig } from './server/config.ts'
import { givenFlags } from './server/flags.ts'
import { createReadinessChecks, serveHealth } from './server/health.ts'
import { type ProcessContext, runProcess } from './server/process.ts'
import { type CertificateStore, folderStore, secretStore, type Served } from './webhook/certificate-store.ts'
import { lifeOf } from './webhook/certificates.ts'
import { bringConfiguration, wantedConfiguration, wantedMutation } from './webhook/configuration.ts'
import { countReviews, reviewMetrics } from './webhook/count-reviews.ts'
import { openFurther } from './webhook/further.ts'
import { servedNames, WEBHOOK_FLAGS, webhookSettings } from './webhook/flags.ts'
import { serveReviews } from './webhook/server.ts'

const config = readConfig()
const settings = webhookSettings(givenFlags(WEBHOOK_FLAGS), config)
const asked = settings.wings.flatMap((wing) => {
  const [names, admissions] = [WINGS[wing]?.admission, ADMISSIONS[wing] ?? []]
  const flags = settings.wingFlags.get(wing) ?? {}
  return names === undefined || admissions.length === 0 ? [] : [{ names, admissions, flags }]
})
// Often enough that all processes have a new certificate long before the old one expires.
const lookMs = Math.min(Math.max(Math.round(settings.certificateMs / 30), 300), 60_000)
// The time for other processes to read the bundle and for API servers to see the configuration in their watch.
const settleMs = Math.min(Math.max(5 * lookMs, 2000), settings.authorityMs / 6)

await runProcess('webhook', config.logLevel, webhook)

async function webhook({ log, stopping, onClose }: ProcessContext): Promise<void> {
  const kube = createKubeClient({ kubeconfigPath: settings.kubeconfigPath, userAgent: 'pawl-webhook' })
  onClose(() => kube.close())
  const store = storeOf(kube)
  const checks = createReadinessChecks()
  checks.report('configuration', new Error('it is not written yet'))
  const metrics = new Metrics({
    now: () => new Date(),
    failed: (error) => log.warn({ err: error }, 'nothing is measured'),
  })
  const wings = asked.map(({ names }) => names)
  metrics.declare(reviewMetrics(wings))
  const health = await serveHealth(checks, settings.healthHost, settings.healthPort, metrics)
  onClose(() => health.close())

  const initial = await first(store, checks, { log, stopping })
  if (initial === undefined) return
  let served: Served = initial
  const { host, port } = settings
  const admissions = asked.flatMap((one) => one.admissions)
  const further = await openFurther(asked, {
    kube,
    limitMs: settings.timeoutSeconds * 800,
    log,
    metrics: { source: metrics, statsd: config.statsd },
    ...(config.nodeName !== undefined && { nodeName: config.nodeName }),
  })
  onClose(() => further.close())
  const answered = countReviews(metrics, wings)
  const server = await serveReviews({ host, port, pair: served.serving, admissions, further, answered, log })
  onClose(() => server.close())

  let failures = 0
  for (let looks = 0; !stopping.signal.aborted; looks++) {
    try {
      const now: Served = looks === 0 ? served : await store(Date.now())
      // Only a valid pair is used; an invalid file leaves the previous certificate in place.
      if (now.serving.certificate !== served.serving.certificate) {
        server.use(now.serving)
        log.info('a new certificate is served')
      }
      served = now
      if (await configure(kube, served)) log.info('the configuration is written')
      checks.report('configuration', undefined)
      failures = 0
    } catch (error) {
      failures += 1
      if (lifeOf(served.serving).to <= Date.now()) checks.report('configuration', error)
      log.warn(
        { err: error, delayMs: delayMs(failures) },
        'certificates or configuration could not be looked at; looking again',
      )
    }
    if (looks === 0)
      log.info({ port: server.port, healthPort: health.port, wings: settings.wings }, 'webhook is running')
    await sleep(delayMs(failures), undefined, { signal: stopping.signal }).catch(() => undefined)
  }
  checks.report('process', new Error('it is about to stop'))
  await sleep(settings.drainMs)
}

/** The delay before the next check. @param failures in a row. */
function delayMs(failures: number): number {
  return failures === 0 ? lookMs : Math.min(lookMs, 1000 * 2 ** (failures - 1))
}

function storeOf(kube: KubeClient): CertificateStore {
  const { certificates, certificateMs, authorityMs, reached } = settings
  if ('dir' in certificates) return folderStore(certificates.dir)
  return secretStore(kube, certificates.secret, { names: servedNames(reached), certificateMs, authorityMs, settleMs })
}

/** The first certificates; the API server may not be ready yet. Undefined if the process is stopped before that. */
async function first(
  store: CertificateStore,
  checks: ReturnType<typeof createReadinessChecks>,
  { log, stopping }: Pick<ProcessContext, 'log' | 'stopping'>,
): Promise<Served | undefined> {
  while (!stopping.signal.aborted) {
    try {
      return await store(Date.now())
    } catch (error) {
      checks.report('configuration', error)
      log.warn({ err: error, delayMs: 1000 }, 'there is no certificate yet; looking again')
    }
    await sleep(1000, undefined, { signal: stopping.signal }).catch(() => undefined)
  }
  return undefined
}

/** @returns whether a configuration was written. */
async function configure(kube: KubeClient, { bundle }: Served): Promise<boolean> {
  let isWritten = false
  for (const { names, admissions } of asked) {
    const by = { ...settings, bundle }
    for (const wanted of [wantedConfiguration(names, admissions, by), wantedMutation(names, admissions, by)])
      if (wanted !== undefined && (await bringConfiguration(kube, wanted))) isWritten = true
  }
  return isWritten
}
