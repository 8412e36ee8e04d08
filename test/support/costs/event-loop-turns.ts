// Counts the turns of the event loop during an operation. The number depends little on other work of the machine.

export interface Turns<T> {
  readonly result: T
  /** The number of calls of a timer of 1 ms. */
  readonly turns: number
}

export async function countLoopTurns<T>(work: () => Promise<T>): Promise<Turns<T>> {
  let turns = 0
  const others = setInterval(() => turns++, 1)
  try {
    const result = await work()
    return { result, turns }
  } finally {
    clearInterval(others)
  }
}
