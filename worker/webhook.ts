// The webhook process: API servers call it before they store objects; the wings define the rules. Several processes may
// run, and all are called.
//
//   W1. The configuration is written after the server has started: with failurePolicy Fail, an earlier configuration
//       would block writes.
//   W2. A new authority is in the configuration before a certificate that it signed is served (certificates.ts, C2), if
//       the API server accepts the write in time.
//   W3. A process with a valid certificate is ready even if its last renewal failed: with failurePolicy Fail, an
//       unready webhook would block writes.

import { setTimeout as sleep } from 'node:timers/promises'

import { ADMISSIONS } from '../workflows/admission.gen.ts'
import { WINGS } from '../workflows/wings.gen.ts'
import { createKubeClient, type KubeClient } from '../activities/kube/client.ts'
import { readConfig } from './server/config.ts'
import { givenFlags } from './server/flags.ts'
import { createReadinessChecks, serveHealth } from './server/health.ts'
import { type ProcessContext, runProcess } from './server/process.ts'
import { createProcessMetrics } from './server/process-metrics.ts'
import { CERTIFICATE_METRICS } from '../workflows/kit/index.ts'
import {
  type CertificateStore,
  folderStore,
  secretStore,
  type ServedCertificates,
} from './webhook/certificate-store.ts'
import { validityOf } from './webhook/certificates.ts'
import { applyConfiguration, validatingConfiguration, mutatingConfiguration } from './webhook/configuration.ts'
import { countReviews, reviewMetrics } from './webhook/review-metrics.ts'
import { openAsyncRules } from './webhook/further-rules.ts'
import { certificateNames, WEBHOOK_FLAGS, webhookSettings } from './webhook/flags.ts'
import { serveReviews } from './webhook/server.ts'

const config = readConfig()
const settings = webhookSettings(givenFlags(WEBHOOK_FLAGS), config)
const wingRules = settings.wings.flatMap((wing) => {
  const [names, admissions] = [WINGS[wing]?.admission, ADMISSIONS[wing] ?? []]
  const flags = settings.wingFlags.get(wing) ?? {}
  return names === undefined || admissions.length === 0 ? [] : [{ names, admissions, flags }]
})
// Short enough that all processes serve a new certificate long before the previous one expires.
const intervalMs = Math.min(Math.max(Math.round(settings.certificateLifetimeMs / 30), 300), 60_000)
// In this time the other processes read the Secret and write the bundle, and the API servers see it by their watch.
const settleMs = Math.min(Math.max(5 * intervalMs, 2000), settings.authorityLifetimeMs / 6)

await runProcess('webhook', config.logLevel, webhook)

async function webhook({ log, logLevels, stopping, onClose }: ProcessContext): Promise<void> {
  const checks = createReadinessChecks()
  const wings = wingRules.map(({ names }) => names)
  const { metrics, onAnswer } = createProcessMetrics({ log, readiness: checks }, [
    CERTIFICATE_METRICS,
    reviewMetrics(wings),
  ])
  const kube = createKubeClient({ kubeconfigPath: settings.kubeconfigPath, userAgent: 'pawl-webhook', onAnswer })
  onClose(() => kube.close())
  const store = storeOf(kube)
  checks.report('configuration', new Error('the configuration is not written yet'))
  const health = await serveHealth(checks, settings.healthHost, settings.healthPort, { metrics, logLevels })
  onClose(() => health.close())

  const initial = await firstCertificates(store, checks, { log, stopping })
  if (initial === undefined) return
  let certificates: ServedCertificates = initial
  metrics.measure(() =>
    Promise.resolve([
      { name: 'pawl_certificate_expiry_timestamp_seconds', value: validityOf(certificates.serving).to / 1000 },
    ]),
  )
  const { host, port } = settings
  const admissions = wingRules.flatMap((one) => one.admissions)
  const further = await openAsyncRules(wingRules, {
    kube,
    limitMs: settings.timeoutSeconds * 800,
    log,
    metrics: { source: metrics, statsd: config.statsd },
    ...(config.nodeName !== undefined && { nodeName: config.nodeName }),
  })
  onClose(() => further.close())
  const server = await serveReviews({
    host,
    port,
    pair: certificates.serving,
    admissions,
    further,
    onAnswer: countReviews(metrics, wings),
    log,
  })
  onClose(() => server.close())

  let failures = 0
  for (let attempts = 0; !stopping.signal.aborted; attempts++) {
    try {
      const now: ServedCertificates = attempts === 0 ? certificates : await store(Date.now())
      // An unreadable certificate throws here, and the previous one stays in use.
      if (now.serving.certificate !== certificates.serving.certificate) {
        server.setCertificate(now.serving)
        log.info('using a new certificate')
      }
      certificates = now
      if (await configure(kube, certificates)) log.info('wrote the configuration')
      checks.report('configuration', undefined)
      failures = 0
    } catch (error) {
      failures += 1
      if (validityOf(certificates.serving).to <= Date.now()) checks.report('configuration', error)
      log.warn(
        { err: error, delayMs: delayMs(failures) },
        'certificates or configuration could not be checked; retrying',
      )
    }
    if (attempts === 0)
      log.info({ port: server.port, healthPort: health.port, wings: settings.wings }, 'webhook is running')
    await sleep(delayMs(failures), undefined, { signal: stopping.signal }).catch(() => undefined)
  }
  checks.report('process', new Error('the process is shutting down'))
  await sleep(settings.drainMs)
}

/** Delay until the next check. @param failures in a row. */
function delayMs(failures: number): number {
  return failures === 0 ? intervalMs : Math.min(intervalMs, 1000 * 2 ** (failures - 1))
}

function storeOf(kube: KubeClient): CertificateStore {
  const { certificates, certificateLifetimeMs, authorityLifetimeMs, address: reached } = settings
  if ('dir' in certificates) return folderStore(certificates.dir)
  return secretStore(kube, certificates.secret, {
    names: certificateNames(reached),
    certificateLifetimeMs,
    authorityLifetimeMs,
    settleMs,
  })
}

/**
 * Waits for the first certificates; the API server may not be available yet. Undefined if the process is stopped
 * before.
 */
async function firstCertificates(
  store: CertificateStore,
  checks: ReturnType<typeof createReadinessChecks>,
  { log, stopping }: Pick<ProcessContext, 'log' | 'stopping'>,
): Promise<ServedCertificates | undefined> {
  while (!stopping.signal.aborted) {
    try {
      return await store(Date.now())
    } catch (error) {
      checks.report('configuration', error)
      log.warn({ err: error, delayMs: 1000 }, 'the certificate does not exist yet; retrying')
    }
    await sleep(1000, undefined, { signal: stopping.signal }).catch(() => undefined)
  }
  return undefined
}

/** @returns true if a configuration was written. */
async function configure(kube: KubeClient, { bundle }: ServedCertificates): Promise<boolean> {
  let isWritten = false
  for (const { names, admissions } of wingRules) {
    const by = { ...settings, bundle }
    for (const wanted of [validatingConfiguration(names, admissions, by), mutatingConfiguration(names, admissions, by)])
      if (wanted !== undefined && (await applyConfiguration(kube, wanted))) isWritten = true
  }
  return isWritten
}
