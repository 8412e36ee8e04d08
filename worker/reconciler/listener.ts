// Listens for new wakes on a connection of its own. Only a hint: the dispatcher looks by itself from time to time.

import pg from 'pg'
import { WAKE_CHANNEL } from '../../activities/journal/write/wakes.ts'
import { pause } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'

const RECONNECT_MS = 500

/** Calls `onWake` for every notification, and after every reconnect, until the signal is aborted. */
export async function listenForWakes(
  databaseUrl: string,
  onWake: () => void,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const connection = new pg.Client({ connectionString: databaseUrl })
    const ended = new Promise<void>((resolve) => {
      connection.on('error', (error) => {
        log.warn({ err: error }, 'connection for notifications was lost; connecting again')
        resolve()
      })
      connection.on('end', resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    try {
      await connection.connect()
      connection.on('notification', onWake)
      await connection.query(`listen ${WAKE_CHANNEL}`)
      onWake()
      await ended
    } catch (error) {
      log.warn({ err: error }, 'no connection for notifications; connecting again')
    }
    await connection.end().catch(() => undefined)
    await pause(RECONNECT_MS, signal)
  }
}
