// The connection to Temporal at the start of the process: Temporal may still be on its way.

import { NativeConnection } from '@temporalio/worker'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../server/log.ts'
import type { Health } from './health.ts'

const FIRST_DELAY_MS = 200
const LONGEST_DELAY_MS = 5000

/** Tries until Temporal answers; /readyz says so meanwhile. Undefined when the process is told to stop before that. */
export async function connectToTemporal(
  address: string,
  { log, health }: { log: Logger; health: Health },
  signal: AbortSignal,
): Promise<NativeConnection | undefined> {
  for (let delayMs = FIRST_DELAY_MS; !signal.aborted; delayMs = Math.min(LONGEST_DELAY_MS, delayMs * 2)) {
    try {
      const connection = await NativeConnection.connect({ address })
      health.report('temporal', undefined)
      return connection
    } catch (error) {
      health.report('temporal', error)
      log.warn({ temporal: address, err: error, delayMs }, 'no connection to temporal; connecting again')
      await sleep(delayMs, undefined, { signal }).catch(() => undefined)
    }
  }
  return undefined
}
