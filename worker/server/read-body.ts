// Reads the body of a request, up to a maximum length.

import type { IncomingMessage } from 'node:http'

/** Undefined if the body is longer; the remaining bytes are not read. */
export async function readBody(request: IncomingMessage, mostBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > mostBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
