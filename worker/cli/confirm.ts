// Asks the user before a command changes something.

import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'

import { UsageError } from '../server/usage-error.ts'

/**
 * @param isConfirmed the user gave `--yes`: no question is printed.
 * @returns a function that prints a question and reads the answer from the terminal; only `y` and `yes` confirm. It throws a UsageError without a terminal.
 */
export function confirmWith(isConfirmed: boolean): (question: string) => Promise<boolean> {
  return async (question) => {
    if (isConfirmed) return true
    if (!process.stdin.isTTY)
      throw new UsageError(`--yes is missing: without a terminal, the command cannot ask "${question}"`)
    const terminal = createInterface({ input: process.stdin, output: process.stderr })
    try {
      // Ctrl-C and Ctrl-D close the terminal without an answer.
      const closed = once(terminal, 'close').then(() => 'no')
      const answer = await Promise.race([terminal.question(`${question} [y/N] `), closed])
      return /^y(?:es)?$/i.test(answer.trim())
    } finally {
      terminal.close()
    }
  }
}
