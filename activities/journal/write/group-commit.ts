// Group commit: what many activities ask of the journal at the same time goes into one statement or transaction. No fixed windows: what
// gathered while a group was on its way is the next one, so that a lone item waits for nobody.
//
//   G1. An item's promise settles when the journal has committed, answered or refused it.
//   G2. When a group fails, its items are tried one by one, so that one that is refused does not take others with it.

/**
 * @param limit most items of a group.
 * @param run answers a group, one answer per item in its order.
 * @returns adds an item and resolves with its answer. @throws what `run` throws for this item alone.
 */
export function createGroupCommit<Item, Answer = void>(
  limit: number,
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  const waiting: { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = []
  let running = false

  async function drain(): Promise<void> {
    running = true
    // What is added in the same turn of the event loop belongs together.
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
