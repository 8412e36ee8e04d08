// The metrics that every process serves: of Node.js, of its requests to the API server, and of its SQL statements.

import { Metrics } from '../../activities/run/metrics.ts'
import type { KubeClientOptions } from '../../activities/kube/client.ts'
import type { DatabaseOptions } from '../../activities/journal/database.ts'
import { type MetricTable, PROCESS_METRICS } from '../../workflows/kit/index.ts'
import type { Readiness } from './health.ts'
import type { Logger } from './log.ts'

export interface ProcessMetrics {
  readonly metrics: Metrics
  /** Pass it to `createKubeClient`. Clients of other clusters are not counted, because tenants choose their addresses. */
  readonly onAnswer: NonNullable<KubeClientOptions['onAnswer']>
  /** Pass it to `openDatabase`; it needs JOURNAL_METRICS. */
  readonly onStatement: NonNullable<DatabaseOptions['onStatement']>
}

/** @param tables what the process counts besides PROCESS_METRICS. */
export function createProcessMetrics(
  { log, readiness, now = () => new Date() }: { log: Pick<Logger, 'warn'>; readiness: Readiness; now?: () => Date },
  tables: readonly MetricTable[],
): ProcessMetrics {
  const metrics = new Metrics({ now, failed: (error) => log.warn({ err: error }, 'metrics could not be measured') })
  metrics.declareProcess()
  for (const table of [PROCESS_METRICS, ...tables]) metrics.declare(table)
  metrics.measure(() => {
    const isReady = Object.keys(readiness.failures()).length === 0
    return Promise.resolve([{ name: 'pawl_ready', value: isReady ? 1 : 0 }])
  })
  return {
    metrics,
    onAnswer: ({ method, host, status, seconds }) => {
      metrics.count('rest_client_requests_total', { code: codeOf(status), method, host })
      metrics.observe('pawl_api_request_duration_seconds', seconds, { method })
    },
    onStatement: ({ isOk, seconds }) => {
      metrics.observe('pawl_sql_duration_seconds', seconds, { result: isOk ? 'ok' : 'error' })
    },
  }
}

/** HTTP has status codes from 100 to 599; a server may send others. */
function codeOf(status: number | undefined): string {
  if (status === undefined) return '<error>'
  return status >= 100 && status <= 599 ? String(status) : 'other'
}
