// The connection to Temporal at the start of the process: Temporal may still be on its way.

import { NativeConnection } from '@temporalio/worker'

import { createBackoff, persist } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'
import type { Troubles } from '../server/troubles.ts'

const DELAYS = { first: 200, longest: 5000 }

/** Tries until Temporal answers; /readyz says so meanwhile. Undefined when the process is told to stop before that. */
export async function connectToTemporal(
  address: string,
  { log, troubles }: { log: Logger; troubles: Troubles },
  signal: AbortSignal,
): Promise<NativeConnection | undefined> {
  const connect = async () => await NativeConnection.connect({ address })
  const failed = (error: unknown, delayMs: number) => {
    troubles.report('temporal', error)
    log.warn({ temporal: address, err: error, delayMs }, 'no connection to temporal; connecting again')
  }
  const connection = await persist(connect, failed, { backoff: createBackoff(DELAYS, Math.random), signal })
  if (connection !== undefined) troubles.report('temporal', undefined)
  return connection
}
