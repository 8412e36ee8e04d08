// The log of the injector: JSON lines with the disruption and the target.

import type { LogContext } from '../../../workflows/chaos/injector/invocation.ts'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

export type Log = Readonly<Record<Level, (message: string, fields?: Readonly<Record<string, unknown>>) => void>>

/** A log for this level and higher ones; undefined for an unknown level. */
export function createLog(
  print: (text: string) => void,
  level: string,
  context: Partial<LogContext>,
  now: () => number,
): Log | undefined {
  const least = LEVELS.findIndex((one) => one === level.toLowerCase())
  if (least === -1) return undefined
  const say = (at: Level): Log[Level] =>
    LEVELS.indexOf(at) < least
      ? () => undefined
      : (message, fields) =>
          print(
            `${JSON.stringify({ time: new Date(now()).toISOString(), level: at, message, ...context, ...fields })}\n`,
          )
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
