// The questions, answered by `pawl api`.

import type { QuestionName, Questions } from '../../../activities/journal/read/questions.ts'
import { answerIn, WIRES } from '../../api/wire.ts'

/** Sends the input of a question, and gives the body of the answer back. */
export type AskApi = (name: QuestionName, input: unknown) => Promise<unknown>

export function questionsOver(ask: AskApi): Questions {
  const names = Object.keys(WIRES) as QuestionName[]
  const entries = names.map((name) => {
    // The arguments are those of this question, as its type says.
    const input = WIRES[name].input as (...args: readonly unknown[]) => unknown
    return [name, async (...args: readonly unknown[]) => answerIn(name, await ask(name, input(...args)))]
  })
  return Object.fromEntries(entries) as Questions
}
