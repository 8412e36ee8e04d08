// The body of an answer, of whatever server: bounded, for nobody knows what it sends.

/**
 * All of it. A body that is too long is left where that is seen, which destroys it, and with it the connection.
 *
 * @throws what `excess` makes when there are more than `most` bytes; what the body throws.
 */
export async function wholeBody(body: AsyncIterable<unknown>, most: number, excess: () => Error): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > most) throw excess()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
