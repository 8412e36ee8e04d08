// A watch that the server refuses, or ends with an error, as the error that any request has.

import type { StreamedResponse } from './client.ts'
import { KubeError } from './errors.ts'
import { parseStatus, type StatusAnswer } from './watch-stream.ts'

/** Of an answer with another status than 200; reads the beginning of its body. */
export async function watchRefusal(path: string, { statusCode, headers, body }: StreamedResponse): Promise<KubeError> {
  const status = parseStatus(await beginningOf(body))
  const seconds = Number(headers['retry-after'])
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : status.retryAfterMs
  return watchError(path, { ...status, code: statusCode, retryAfterMs })
}

/** Of a message of the watch. */
export function watchError(path: string, { code, reason, message, retryAfterMs }: StatusAnswer): KubeError {
  return new KubeError(`GET ${path}: ${code} ${reason}: ${message}`, { status: code, reason, retryAfterMs })
}

async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length > 65_536) break
  }
  return Buffer.concat(chunks).toString('utf8')
}
