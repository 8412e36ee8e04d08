// How free the event loop is while something goes on, in turns and not in time: a busy machine changes little.

export interface Turns<T> {
  readonly result: T
  /** How often the loop came round to something else meanwhile; once in a millisecond is asked for. */
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
