// Checks Temporal for `pawl doctor`. Loaded only when needed, because Temporal's client takes long to load.

import { Connection } from '@temporalio/client'

import { missingAttributes } from '../../migrate.ts'
import { connectionOptions, type TemporalTarget } from '../../server/temporal.ts'
import { formatDuration } from '../query/format.ts'
import type { Finding } from './findings.ts'

const MOST_MS = 10_000

export async function temporalFindings(target: TemporalTarget): Promise<readonly Finding[]> {
  const { address, namespace } = target
  try {
    const connection = await Connection.connect({ ...connectionOptions(target), connectTimeout: MOST_MS })
    try {
      return await connection.withDeadline(Date.now() + MOST_MS, async () => await look(connection, target))
    } finally {
      await connection.close()
    }
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error)
    const text = `${address}, namespace ${namespace}: ${what}; check --temporal-address, --temporal-namespace and the credentials`
    return [{ part: 'temporal', verdict: 'bad', text }]
  }
}

async function look(connection: Connection, { address, namespace }: TemporalTarget): Promise<readonly Finding[]> {
  const { serverVersion } = await connection.workflowService.getSystemInfo({})
  const { config } = await connection.workflowService.describeNamespace({ namespace })
  const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0)
  const missing = await missingAttributes(connection, namespace)
  return [
    {
      part: 'temporal',
      verdict: 'ok',
      text: `${serverVersion} at ${address} answers; namespace ${namespace} keeps ended runs for ${formatDuration(seconds * 1000)}`,
    },
    missing.length === 0
      ? { part: 'attributes', verdict: 'ok', text: 'all search attributes exist' }
      : {
          part: 'attributes',
          verdict: 'bad',
          text: `search attributes ${missing.join(', ')} are missing; run pawl migrate up with --temporal-address`,
        },
  ]
}
