// Listens for notifications about new wakes (PostgreSQL LISTEN) on its own connection. Notifications are hints: the dispatcher also polls.
//
// The listener pings the connection, because it sends nothing else and would not notice a dead connection.

import { connectionConfig, closeImmediately, PreparingClient } from '../../activities/journal/connection.ts'
import { WAKE_CHANNEL } from '../../activities/journal/write/wakes.ts'
import { pause } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'

const RECONNECT_MS = 500
const PING_EVERY_MS = 10_000
const ANSWER_TIMEOUT_MS = 10_000

export interface ListenerOptions {
  readonly databaseUrl: string
  readonly onWake: () => void
  readonly log: Logger
  /** Milliseconds between two pings. Default: 10,000. */
  readonly pingEveryMs?: number
  /** A connection without an answer for this time, in milliseconds, is lost. Default: 10,000. */
  readonly answerMs?: number
}

/** Calls `onWake` for every notification, and after every reconnect, until the signal is aborted. */
export async function listenForWakes(options: ListenerOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await listen(options, signal)
    await pause(RECONNECT_MS, signal)
  }
}

/** Returns when the connection is lost or the signal is aborted. */
async function listen(options: ListenerOptions, signal: AbortSignal): Promise<void> {
  const { databaseUrl, onWake, log, pingEveryMs = PING_EVERY_MS, answerMs = ANSWER_TIMEOUT_MS } = options
  const connection = new PreparingClient(connectionConfig(databaseUrl, { answerMs }))
  const lost = new AbortController()
  connection.on('error', (error) => {
    log.warn({ err: error }, 'connection for notifications was lost; connecting again')
    lost.abort()
  })
  connection.on('end', () => lost.abort())
  const stopped = AbortSignal.any([signal, lost.signal])
  try {
    await connection.connect()
    connection.on('notification', onWake)
    await connection.query(`listen ${WAKE_CHANNEL}`)
    // PostgreSQL does not store notifications for a client that is not connected.
    onWake()
    while (await waitUnlessStopped(stopped, pingEveryMs)) await connection.query('select 1')
    await connection.end()
  } catch (error) {
    log.warn({ err: error }, 'no connection for notifications; connecting again')
    await closeImmediately(connection)
  }
}

/** @returns false if the wait was stopped. */
async function waitUnlessStopped(stopped: AbortSignal, afterMs: number): Promise<boolean> {
  await pause(afterMs, stopped)
  return !stopped.aborted
}
