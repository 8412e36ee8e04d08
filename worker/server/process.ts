// Runs a process until it results or a signal stops it, and closes its resources.
//
//   P1. SIGTERM and SIGINT abort `stopping`; all parts of the process end by themselves.
//   P2. Resources are closed in reverse order, also after an error; an error while closing one does not keep others open.
//   P3. An error results the process with exit code 1, after all resources are closed.

import { createLogger, LogLevels, type Logger } from './log.ts'
import { UsageError } from './usage-error.ts'

export interface ProcessContext {
  readonly log: Logger
  /** The levels of this process's components; /loglevels of the health port shows and changes them. */
  readonly logLevels: LogLevels
  /** Aborted by SIGTERM and SIGINT (P1), and by any part of the process whose end results the process. */
  readonly stopping: AbortController
  /** Registers a resource to close at the end (P2). */
  readonly onClose: (close: () => Promise<unknown>) => void
}

/**
 * Runs a process; resolves when it has stopped in good order.
 *
 * @param name the process, such as `bridge`; a field of every line of its log.
 * @throws what `run` throws, or else the first error of closing (P3).
 */
export async function runProcess(
  name: string,
  logLevel: string,
  run: (frame: ProcessContext) => Promise<void>,
): Promise<void> {
  const log = createLogger(name, logLevel)
  const logLevels = new LogLevels(log)
  const stopping = new AbortController()
  onSignals(['SIGTERM', 'SIGINT'], () => stopping.abort())
  const closers: (() => Promise<unknown>)[] = []
  const [end] = await Promise.allSettled([
    run({ log, logLevels, stopping, onClose: (close) => void closers.push(close) }),
  ])
  stopping.abort()
  const results: PromiseSettledResult<unknown>[] = [end]
  for (const close of closers.reverse()) results.push(...(await Promise.allSettled([close()])))
  const failed = results.find((each) => each.status === 'rejected')
  if (failed?.reason instanceof UsageError) {
    process.stderr.write(`${name}: ${failed.reason.message}\n`)
    process.exit(2)
  }
  if (failed !== undefined) throw failed.reason
  log.info('the process has stopped')
}

/** Calls the listener for each of these signals. */
export function onSignals(names: readonly NodeJS.Signals[], listener: (name: NodeJS.Signals) => void): void {
  for (const name of names) process.on(name, listener)
}
