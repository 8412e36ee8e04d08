// Group commit: concurrent calls share one statement or transaction. There is no fixed window: calls that arrive during
// a group form the next one, so a single call does not wait.
//
//   G1. A call's promise settles when the journal has committed, answered or refused its item.
//   G2. When a group fails, its items are tried one by one, so that a refused item does not fail the others.

/**
 * Creates a group commit.
 *
 * @param limit maximum number of items in a group.
 * @param run processes a group; returns one answer per item in order.
 * @returns a function that adds an item and resolves with its answer. @throws the error of `run` for this item alone.
 */
export function createGroupCommit<Item, Answer = void>(
  limit: number,
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  const waiting: { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = []
  let running = false

  async function drain(): Promise<void> {
    running = true
    // Items added in the same tick belong to one group.
    await Promise.resolve()
    while (waiting.length > 0) {
      const group = waiting.splice(0, limit)
      try {
        const answers = await run(group.map(({ item }) => item))
        for (const [index, { resolve }] of group.entries()) resolve(answers[index] as Answer)
      } catch (error) {
        if (group.length === 1) group[0]?.reject(error)
        else await Promise.all(group.map(async ({ item, resolve, reject }) => await alone(item).then(resolve, reject)))
      }
    }
    running = false
  }

  async function alone(item: Item): Promise<Answer> {
    const [answer] = await run([item])
    return answer as Answer
  }

  return async (item) =>
    await new Promise<Answer>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!running) void drain()
    })
}
