// Listens for new wakes on a connection of its own. Only a hint: the dispatcher looks by itself from time to time.
//
// Who only listens would not notice that nobody talks any more, so it asks from time to time.

import { connectionConfig, closeImmediately, PreparingClient } from '../../activities/journal/connection.ts'
import { WAKE_CHANNEL } from '../../activities/journal/write/wakes.ts'
import { pause } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'

const RECONNECT_MS = 500
const ASK_EVERY_MS = 10_000
const ANSWER_MS = 10_000

export interface Listening {
  readonly databaseUrl: string
  readonly onWake: () => void
  readonly log: Logger
  /** Milliseconds between two questions, and how long an answer is waited for (10,000 each). */
  readonly askEveryMs?: number
  readonly answerMs?: number
}

/** Calls `onWake` for every notification, and after every reconnect, until the signal is aborted. */
export async function listenForWakes(listening: Listening, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await listen(listening, signal)
    await pause(RECONNECT_MS, signal)
  }
}

/** Until the connection is lost, or the signal. */
async function listen(listening: Listening, signal: AbortSignal): Promise<void> {
  const { databaseUrl, onWake, log, askEveryMs = ASK_EVERY_MS, answerMs = ANSWER_MS } = listening
  const connection = new PreparingClient(connectionConfig(databaseUrl, { answerMs }))
  const lost = new AbortController()
  connection.on('error', (error) => {
    log.warn({ err: error }, 'connection for notifications was lost; connecting again')
    lost.abort()
  })
  connection.on('end', () => lost.abort())
  const over = AbortSignal.any([signal, lost.signal])
  try {
    await connection.connect()
    connection.on('notification', onWake)
    await connection.query(`listen ${WAKE_CHANNEL}`)
    onWake()
    while (await isStillOpen(over, askEveryMs)) await connection.query('select 1')
    await connection.end()
  } catch (error) {
    log.warn({ err: error }, 'no connection for notifications; connecting again')
    await closeImmediately(connection)
  }
}

async function isStillOpen(over: AbortSignal, afterMs: number): Promise<boolean> {
  await pause(afterMs, over)
  return !over.aborted
}
