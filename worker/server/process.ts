// The frame of a process: it runs until it ends by itself or is told to stop, and closes what it has opened.
//
//   P1. A signal asks once: whoever works sees `stopping` and ends in its own time.
//   P2. What was opened is closed in the opposite order, also after an error; one that cannot be closed keeps no other open.
//   P3. An error ends the process with exit code 1, after all is closed.

import { createLogger, type Logger } from './log.ts'

export interface Frame {
  readonly log: Logger
  /** Aborted by SIGTERM and SIGINT (P1), and by a part of the process whose end is the end of all. */
  readonly stopping: AbortController
  /** Has it closed at the end (P2). */
  readonly opened: (close: () => Promise<unknown>) => void
}

/**
 * Runs a process; resolves when it has stopped in good order.
 *
 * @param name the process, such as `bridge`; a field of every line of its log.
 * @throws what `run` throws, or else the first error of closing (P3).
 */
export async function runProcess(name: string, logLevel: string, run: (frame: Frame) => Promise<void>): Promise<void> {
  const log = createLogger(name, logLevel)
  const stopping = new AbortController()
  onSignals(['SIGTERM', 'SIGINT'], () => stopping.abort())
  const closers: (() => Promise<unknown>)[] = []
  const [end] = await Promise.allSettled([run({ log, stopping, opened: (close) => void closers.push(close) })])
  stopping.abort()
  const ends: PromiseSettledResult<unknown>[] = [end]
  for (const close of closers.reverse()) ends.push(...(await Promise.allSettled([close()])))
  for (const each of ends) if (each.status === 'rejected') throw each.reason
  log.info(`${name} has stopped`)
}

/** Calls `told` with each of the signals that comes. */
export function onSignals(names: readonly NodeJS.Signals[], told: (name: NodeJS.Signals) => void): void {
  for (const name of names) process.on(name, told)
}
