// Waits until a deleted object is gone, for `pawl delete --wait`, and prints what the deletion waits for.
//
//   W1. Each line is printed when it becomes true, and once as long as it stays true.
//   W2. Only the last state is a result, so that JSON and YAML are one document.

import type { CommandResult } from './open-object.ts'

/** A state of the deletion. */
export interface DeletionState {
  readonly isGone: boolean
  readonly result: CommandResult
}

interface WaitOptions {
  /** @throws errors of the API server, which end the wait. */
  readonly read: () => Promise<DeletionState>
  readonly print: (lines: readonly string[]) => void
  readonly pause: () => Promise<unknown>
}

/** @returns the state in which the object is gone, without the lines of earlier states. */
export async function waitUntilGone({ read, print, pause }: WaitOptions): Promise<CommandResult> {
  let printed: readonly string[] = []
  for (;;) {
    const { isGone, result } = await read()
    const lines = result.lines.filter((line) => !printed.includes(line))
    if (isGone) return { ...result, lines }
    if (lines.length > 0) print(lines)
    printed = result.lines
    await pause()
  }
}
