// The questions, answered by `pawl api`.

import type { QueryName, JournalQueries } from '../../../activities/journal/read/queries.ts'
import { answerIn, WIRES } from '../../api/wire.ts'

/** Sends the input of a question, and gives the body of the answer back. */
export type AskApi = (name: QueryName, input: unknown) => Promise<unknown>

export function questionsOver(ask: AskApi): JournalQueries {
  const names = Object.keys(WIRES) as QueryName[]
  const entries = names.map((name) => {
    // The arguments are those of this question, as its type says.
    const input = WIRES[name].input as (...args: readonly unknown[]) => unknown
    return [name, async (...args: readonly unknown[]) => answerIn(name, await ask(name, input(...args)))]
  })
  return Object.fromEntries(entries) as JournalQueries
}
