// Limits the number of concurrent requests to one server.

/**
 * Calls `work` for each element, at most `limit` at a time; returns the results in the order of the elements. The first
 * failure is thrown, and no further call begins.
 */
export async function inParallel<Element, Result>(
  elements: readonly Element[],
  limit: number,
  work: (element: Element) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  let hasFailed = false
  const run = async (): Promise<void> => {
    for (let index = next++; index < elements.length && !hasFailed; index = next++) {
      try {
        results[index] = await work(elements[index] as Element)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, elements.length) }, run))
  return results
}
