// The HTTPS server that API servers call. The certificate can change while the server runs; open connections stay open.

import { readJson, writeJson } from '../../workflows/kit/index.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'

import type { Admission } from '../../workflows/kit/index.ts'
import type { Logger } from '../server/log.ts'
import type { Pair } from './certificates.ts'
import { MUTATE_PATH, VALIDATE_METADATA_PATH, VALIDATE_PATH } from './configuration.ts'
import type { OpenFurtherRules } from './further-rules.ts'
import { answerMutation, answerReview } from './review.ts'
import { readBody } from '../server/read-body.ts'
import { closableServer } from '../server/closable-server.ts'
import { listen } from '../server/listen.ts'

// Two objects, the new and the old one; the API server accepts bodies of up to 3 MiB.
const MAX_BODY_BYTES = 8 * 1024 * 1024
// Longer than the API server's maximum timeout of 30 s.
const REQUEST_MS = 35_000

export interface ReviewServer {
  readonly port: number
  readonly setCertificate: (pair: Pair) => void
  /** Answers running requests, then stops. */
  readonly close: () => Promise<void>
}

export interface ReviewServerOptions {
  readonly host: string
  readonly port: number
  readonly pair: Pair
  readonly admissions: readonly Admission[]
  readonly further: Omit<OpenFurtherRules, 'close'>
  /** Called for each validation with its request and its answer. */
  readonly onAnswer?: (review: unknown, answer: object, asks: 'spec' | 'metadata') => void
  readonly log: Logger
}

export async function serveReviews({ host, port, pair, log, ...rules }: ReviewServerOptions): Promise<ReviewServer> {
  const server = createServer({ cert: pair.certificate, key: pair.key }, (request, response) => {
    answer(request, rules).then(
      ({ status, body }) => send(response, status, body),
      (error: unknown) => {
        // Without the object, which may contain secrets.
        log.error({ err: error }, 'a review failed')
        send(response, 500, { error: 'the review failed; see the log of the webhook' })
      },
    )
  })
  server.requestTimeout = REQUEST_MS
  const close = closableServer(server, REQUEST_MS)
  await listen(server, { host, port, flags: ['--host', '--port'] })
  const { port: listeningPort } = server.address() as AddressInfo
  return {
    port: listeningPort,
    setCertificate: ({ certificate, key }) => server.setSecureContext({ cert: certificate, key }),
    close,
  }
}

const PATHS: ReadonlySet<string> = new Set([VALIDATE_PATH, VALIDATE_METADATA_PATH, MUTATE_PATH])

interface Answer {
  readonly status: number
  readonly body: object
}

async function answer(
  request: IncomingMessage,
  { admissions, further, onAnswer }: Pick<ReviewServerOptions, 'admissions' | 'further' | 'onAnswer'>,
): Promise<Answer> {
  const path = request.url?.split('?')[0]
  if (path === undefined || !PATHS.has(path)) return { status: 404, body: { error: 'not found' } }
  if (request.method !== 'POST') return { status: 405, body: { error: 'expected POST' } }
  const text = await readBody(request, MAX_BODY_BYTES)
  if (text === undefined) return { status: 413, body: { error: `expected at most ${MAX_BODY_BYTES} bytes` } }
  const body = parsed(text)
  const review =
    path === MUTATE_PATH
      ? answerMutation(body, admissions, further.mutate)
      : await answerReview(body, admissions, further.validate)
  if (review !== undefined && path !== MUTATE_PATH)
    onAnswer?.(body, review, path === VALIDATE_METADATA_PATH ? 'metadata' : 'spec')
  return review === undefined
    ? { status: 400, body: { error: 'expected an AdmissionReview of admission.k8s.io/v1' } }
    : { status: 200, body: review }
}

function parsed(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(writeJson(body))
}
