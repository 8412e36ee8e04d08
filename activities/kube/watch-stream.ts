// Parses one watch connection: bytes to messages, and errors of refused watches. It does not know the journal.
//
//   P1. A line that is not JSON, or not a watch event, ends the stream with an error, because the following lines
//       cannot be trusted.
//   P2. The next chunk is read only when the caller has processed the earlier messages (back-pressure).
//   P3. Silence ends the stream with `WatchSilent`; time in which the caller is busy does not count.

import { readJson } from '../../workflows/kit/index.ts'
import type { EventType } from '../journal/write/incoming-events.ts'
import type { KubeObject, StreamedResponse } from './client.ts'
import { KubeError } from './errors.ts'

export type WatchMessage =
  | {
      readonly type: 'event'
      readonly eventType: EventType
      readonly object: KubeObject
      readonly resourceVersion: number
    }
  | { readonly type: 'bookmark'; readonly resourceVersion: number }
  | { readonly type: 'error'; readonly status: StatusAnswer }

/** The relevant fields of a Kubernetes Status. */
export interface StatusAnswer {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly retryAfterMs: number | undefined
}

export class WatchSilent extends Error {
  constructor(ms: number) {
    super(`watch: the server sent nothing for ${ms} ms; expected at least a bookmark`)
    this.name = 'WatchSilent'
  }
}

export class InvalidWatchMessage extends Error {
  constructor(line: string) {
    // The message never contains the line, which may contain a Secret.
    super(`watch: found a line of ${line.length} characters; expected a watch event`)
    this.name = 'WatchGarbled'
  }
}

// etcd refuses objects over 1.5 MiB; JSON may double their size.
const LONGEST_LINE_BYTES = 16 * 1024 * 1024

/** Reads the messages of a body (P1-P3). Calls `abort` on silence, so that the connection is closed. */
export async function* readMessages(
  body: AsyncIterable<Uint8Array>,
  watchdogMs: number,
  abort: () => void,
): AsyncGenerator<WatchMessage> {
  for await (const line of readLines(endOnSilence(body, watchdogMs, abort))) yield parseMessage(line)
}

async function* endOnSilence(
  body: AsyncIterable<Uint8Array>,
  ms: number,
  abort: () => void,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await withinTime(chunks.next(), ms, abort)
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // Not awaited: a silent body would never answer.
    void chunks.return?.().catch(() => undefined)
  }
}

async function withinTime<T>(promise: Promise<T>, ms: number, abort: () => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new WatchSilent(ms))
      abort()
    }, ms)
  })
  try {
    return await Promise.race([promise, silence])
  } finally {
    clearTimeout(timer)
  }
}

/** Reads the lines of a body; an incomplete last line is dropped. */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      const line = Buffer.concat([...parts, chunk.subarray(from, end)]).toString('utf8')
      parts = []
      length = 0
      from = end + 1
      if (line.trim() !== '') yield line
    }
    parts.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > LONGEST_LINE_BYTES)
      throw new Error(`watch: found a line of over ${length} bytes; expected at most ${LONGEST_LINE_BYTES}`)
  }
}

const LINE_FEED = 10

interface RawMessage {
  readonly type?: string
  readonly object?: KubeObject & Partial<RawStatus>
}

interface RawStatus {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly details: { readonly retryAfterSeconds?: number; readonly causes?: readonly { readonly reason?: string }[] }
}

export function parseMessage(line: string): WatchMessage {
  const { type, object } = parseJson(line)
  if (typeof object !== 'object') throw new InvalidWatchMessage(line)
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type: 'event', eventType: type, object, resourceVersion: versionOf(object, line) }
    case 'BOOKMARK':
      return { type: 'bookmark', resourceVersion: versionOf(object, line) }
    case 'ERROR':
      return { type: 'error', status: statusAnswer(object) }
    default:
      throw new InvalidWatchMessage(line)
  }
}

/** Reads a Status; the cause `ResourceVersionTooLarge` becomes the reason, because it requires a new list. */
function statusAnswer(status: Partial<RawStatus>): StatusAnswer {
  const tooLarge = status.details?.causes?.some(({ reason }) => reason === TOO_LARGE) === true
  const seconds = status.details?.retryAfterSeconds
  return {
    code: status.code ?? 0,
    reason: tooLarge ? TOO_LARGE : (status.reason ?? 'Unknown'),
    message: status.message ?? '',
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
  }
}

const TOO_LARGE = 'ResourceVersionTooLarge'

/** The Status in the body of a refused request; proxies may answer with any text. */
export function parseStatus(text: string): StatusAnswer {
  try {
    const status: unknown = readJson(text)
    if (typeof status === 'object' && status !== null) return statusAnswer(status)
  } catch {
    // Without a Status the HTTP status code is enough.
  }
  return statusAnswer({})
}

/** Whether the watch cannot resume at its version, so that a new list is needed. */
export function needsList({ code, reason }: Pick<StatusAnswer, 'code' | 'reason'>): boolean {
  // Too large: the server's data is older than the known version; the cluster was restored or recreated.
  return code === 410 || reason === 'Expired' || reason === 'Gone' || reason === TOO_LARGE
}

function parseJson(line: string): RawMessage {
  try {
    const message: unknown = readJson(line)
    if (typeof message === 'object' && message !== null) return message
  } catch {
    // Reported below.
  }
  throw new InvalidWatchMessage(line)
}

function versionOf(object: KubeObject, line: string): number {
  const metadata = object.metadata as KubeObject['metadata'] | undefined
  const version = Number(metadata?.resourceVersion)
  if (!Number.isSafeInteger(version) || version <= 0) throw new InvalidWatchMessage(line)
  return version
}

/** The error of a watch with another status than 200; reads the beginning of its body. */
export async function refusedWatch(path: string, { statusCode, headers, body }: StreamedResponse): Promise<KubeError> {
  const status = parseStatus(await beginningOf(body))
  const seconds = Number(headers['retry-after'])
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : status.retryAfterMs
  return watchError(path, { ...status, code: statusCode, retryAfterMs })
}

/** The error of an ERROR message of the watch. */
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
