// Binds a module of activities to parts, for the calls of a pass in tests.

import type { ActivityContext } from '../../../workflows/kit/index.ts'

type Call = (input: never) => Promise<unknown>

export function boundCalls(activities: Readonly<Record<string, unknown>>, parts: unknown): Record<string, Call> {
  const context: ActivityContext = {
    subject: { kind: 'FoundationDBBackup', uid: 'uid', namespace: 'default', name: 'sample' },
    callID: 'call',
    attempt: 1,
    parts,
    signal: new AbortController().signal,
    heartbeat: () => undefined,
    progress: undefined,
    log: console,
  }
  return Object.fromEntries(
    Object.entries(activities).map(([name, run]) => {
      const call = run as (input: never, context: ActivityContext) => Promise<unknown>
      return [name, (input: never) => call(input, context)]
    }),
  )
}
