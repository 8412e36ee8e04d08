// Sends one HTTP request of a notifier. Errors contain only the host and a code: URLs, headers and responses may
// contain secrets, and errors become part of histories and logs.

import { request } from 'undici'

import { ActivityError } from '../../../workflows/kit/index.ts'

/** Source: spec/chaos.md 2.15. */
const REQUEST_MS = 30_000
const MAX_RESPONSE_BYTES = 100_000
/** The longest Retry-After that is respected. */
const MAX_RETRY_AFTER_MS = 300_000

export interface NotifierRequest {
  /** The notifier, for messages: `http`. */
  readonly notifier: string
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly signal: AbortSignal
}

/**
 * @returns the body of a 2xx response. @throws ActivityError `NotifierUnreachable`, `NotifierRefused` (retryable,
 * because proxies may refuse temporarily).
 */
export async function sendRequest({ notifier, method, url, headers, body, signal }: NotifierRequest): Promise<string> {
  const place = `${notifier} at ${new URL(url).host}`
  try {
    const answer = await request(url, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
    })
    const text = await readBody(answer.body)
    if (answer.statusCode >= 200 && answer.statusCode < 300) return text
    throw refusal(place, answer.statusCode, answer.headers['retry-after'])
  } catch (error) {
    if (error instanceof ActivityError || signal.aborted) throw error
    throw new ActivityError('NotifierUnreachable', `${place} does not answer: ${codeOf(error)}`, { retryable: true })
  }
}

function refusal(place: string, status: number, retryAfter: string | string[] | undefined): ActivityError {
  const seconds = Number(retryAfter)
  const waitMs = retryAfter !== undefined && seconds > 0 ? Math.min(seconds * 1000, MAX_RETRY_AFTER_MS) : undefined
  return new ActivityError('NotifierRefused', `${place} answers ${status}; expected 2xx`, {
    retryable: true,
    ...(waitMs !== undefined && { retryMs: waitMs }),
  })
}

async function readBody(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  // Reads to the end, so that the connection is reusable; the rest of an overlong response is dropped.
  for await (const part of body) {
    bytes += part.length
    if (bytes <= MAX_RESPONSE_BYTES) parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** `ECONNREFUSED`, `UND_ERR_HEADERS_TIMEOUT`, `TimeoutError`: never a message, which may quote the request. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const { code } = error as Error & { readonly code?: unknown }
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code) ? code : error.name
}
