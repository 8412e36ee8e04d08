// Logs: JSON lines with constant messages and key/value fields; pretty on a terminal.
//
// Messages are constants, so that they can be searched and counted; variable parts are fields. The level of each component of a process can be changed while it
// runs (health.ts).

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

/** The part of a process that writes a line; the field `component`. */
export type LogComponent = 'activities' | 'dispatcher' | 'maintenance' | 'runs' | 'temporal' | 'watch'

/** The name of all lines without a component. */
const PROCESS = 'process'

/** The loggers of a process by component. A component starts with the level of the process. */
export class LogLevels {
  readonly #loggers: Map<string, Logger>

  constructor(log: Logger) {
    this.#loggers = new Map([[PROCESS, log]])
  }

  /** Returns the logger of a component. */
  of(component: LogComponent): Logger {
    const known = this.#loggers.get(component)
    if (known !== undefined) return known
    const log = this.#process.child({ component })
    this.#loggers.set(component, log)
    return log
  }

  /** The level of each component. */
  all(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#loggers].map(([component, { level }]) => [component, level]))
  }

  /** Changes the level of one component, or of all. @returns the problem; undefined if the level is changed. */
  set(level: string | null, component: string | null): string | undefined {
    if (level === null || !LEVELS.includes(level))
      return `level: found ${JSON.stringify(level)}; expected one of ${LEVELS.join(', ')}`
    const changed = component === null ? [...this.#loggers.values()] : [this.#loggers.get(component)]
    for (const log of changed) {
      if (log === undefined)
        return `component: found ${JSON.stringify(component)}; expected one of ${[...this.#loggers.keys()].join(', ')}`
      log.level = level
    }
    return undefined
  }

  get #process(): Logger {
    const log = this.#loggers.get(PROCESS)
    if (log === undefined) throw new Error('the logger of the process is missing')
    return log
  }
}
