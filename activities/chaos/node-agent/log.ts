// What the agent says: one line of JSON each, a constant message and what varies as fields.

export type Level = 'info' | 'warn' | 'error'
export type Log = Readonly<Record<Level, (message: string, fields?: Readonly<Record<string, unknown>>) => void>>

export function createLog(print: (text: string) => void, now: () => number): Log {
  const say =
    (level: Level): Log[Level] =>
    (message, fields) =>
      print(`${JSON.stringify({ time: new Date(now()).toISOString(), level, message, ...fields })}\n`)
  return { info: say('info'), warn: say('warn'), error: say('error') }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
