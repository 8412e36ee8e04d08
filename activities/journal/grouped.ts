// Group commit: what many activities want to write at the same time goes into one statement or transaction. No fixed windows: what gathered
// while a group was on its way is the next one, so that a lone item waits for nobody.
//
//   G1. An item's promise settles when the journal has committed or refused it.
//   G2. When a group fails, its items are tried one by one, so that one that is refused does not take others with it.

/**
 * @param limit most items of a group.
 * @returns adds an item and resolves with its group's commit. @throws what `run` throws for this item alone.
 */
export function grouped<Item>(
  limit: number,
  run: (items: readonly Item[]) => Promise<void>,
): (item: Item) => Promise<void> {
  const waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = []
  let running = false

  async function drain(): Promise<void> {
    running = true
    // What is added in the same turn of the event loop belongs together.
    await Promise.resolve()
    while (waiting.length > 0) {
      const group = waiting.splice(0, limit)
      try {
        await run(group.map(({ item }) => item))
        for (const { resolve } of group) resolve()
      } catch (error) {
        if (group.length === 1) group[0]?.reject(error)
        else await Promise.all(group.map(({ item, resolve, reject }) => run([item]).then(resolve, reject)))
      }
    }
    running = false
  }

  return (item) =>
    new Promise<void>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!running) void drain()
    })
}
