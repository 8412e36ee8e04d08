// Logs: JSON lines with constant messages and key/value fields; pretty on a terminal.
//
// Messages are constants, so that they can be searched and counted; variable parts are fields.

import { createRequire } from 'node:module'
import { pino, type Logger } from 'pino'
import type pinoPretty from 'pino-pretty'

export type { Logger } from 'pino'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/**
 * Makes the logger of a process; it writes to stderr.
 *
 * @param name the process, such as `bridge`; a field of every line.
 * @throws if the level is not one of pino's.
 */
export function createLogger(name: string, level: string): Logger {
  if (!LEVELS.includes(level)) throw new Error(`log level: found '${level}'; expected one of ${LEVELS.join(', ')}`)
  const options = { name, level, base: { name } }
  if (process.stderr.isTTY) {
    // Loaded only for a terminal: most processes have none.
    const pretty = createRequire(import.meta.url)('pino-pretty') as typeof pinoPretty
    return pino(
      options,
      pretty({ colorize: true, destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' }),
    )
  }
  return pino(options, pino.destination({ fd: 2, sync: true }))
}
