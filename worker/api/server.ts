// The HTTP server of `pawl api`: authenticates the user, limits the rate, and answers questions. Errors are Kubernetes
// Status objects, which every Kubernetes client can read.
//
//   A1. The server reads no body and queries nothing before the user is authenticated.
//   A2. Internal errors are logged; the answer does not contain their texts, which may quote data.
//   A3. Every answer is limited in time and size.

import {
  createServer as createHttp,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'

import type { QueryName, JournalQueries } from '../../activities/journal/read/queries.ts'
import type { Logger } from '../server/log.ts'
import { BadQuestion, inputOf } from './input.ts'
import { Forbidden } from './authorized-questions.ts'
import { RateLimited, type RateLimiter } from './rate-limiter.ts'
import { rateLimitKey, type User, type Users } from './users.ts'
import { type About, ABOUT_PATH, answerText, ASK_PATH, isQuestion, TOKEN_HEADER, WIRE_FORMATS } from './wire.ts'
import { readBody } from '../server/read-body.ts'
import { closableServer } from '../server/closable-server.ts'
import { listen } from '../server/listen.ts'

// Enough for 10,000 uids.
const MAX_BODY_BYTES = 1024 * 1024
const MAX_ANSWER_CHARACTERS = 64 * 1024 * 1024
const REQUEST_MS = 15_000
const MAX_CONNECTIONS = 1000

export interface ApiServer {
  readonly port: number
  readonly setCertificate: (pair: { readonly cert: string; readonly key: string }) => void
  /** Answers running requests, then stops. */
  readonly close: () => Promise<void>
}

export interface ApiServerOptions {
  readonly host: string
  readonly port: number
  /** PEM; undefined serves without TLS. */
  readonly pair: { readonly cert: string; readonly key: string } | undefined
  /** The answer to `about`. */
  readonly about: Pick<About, 'version' | 'cluster'>
  readonly users: Users
  readonly rateLimiter: RateLimiter
  /** The questions that this user may ask. */
  readonly questionsOf: (user: User) => JournalQueries
  readonly log: Logger
}

export async function serveApi({ host, port, pair, ...serving }: ApiServerOptions): Promise<ApiServer> {
  const listener: RequestListener = (request, response) => void respond(request, response, serving)
  const https = pair === undefined ? undefined : createHttps(pair, listener)
  const server: Server = https ?? createHttp(listener)
  server.requestTimeout = REQUEST_MS
  const close = closableServer(server, REQUEST_MS)
  server.headersTimeout = REQUEST_MS
  server.maxConnections = MAX_CONNECTIONS
  await listen(server, { host, port, flags: ['--host', '--port'] })
  const { port: listeningPort } = server.address() as AddressInfo
  return {
    port: listeningPort,
    setCertificate: (certificate) => https?.setSecureContext(certificate),
    close,
  }
}

type RequestOptions = Omit<ApiServerOptions, 'host' | 'port' | 'pair'>

/** An answer with an error status. */
class Failure extends Error {
  readonly code: number
  readonly reason: string

  constructor(code: number, reason: string, message: string) {
    super(message)
    this.code = code
    this.reason = reason
  }
}

async function respond(request: IncomingMessage, response: ServerResponse, serving: RequestOptions): Promise<void> {
  try {
    const text = await answer(request, serving)
    if (text.length > MAX_ANSWER_CHARACTERS)
      throw new Failure(413, 'RequestEntityTooLarge', 'the answer is too long; narrow the query, for example with -n')
    send(response, 200, text)
  } catch (error) {
    const { code, reason, message } = failureOf(error, serving.log)
    const status = { apiVersion: 'v1', kind: 'Status', metadata: {}, status: 'Failure', message, reason, code }
    // An unread body is not read any more.
    if (!request.complete) response.setHeader('connection', 'close')
    if (code === 429 || code === 503) response.setHeader('retry-after', '1')
    send(response, code, JSON.stringify(status))
  }
}

async function answer(
  request: IncomingMessage,
  { about, users, rateLimiter: rateLimiter, questionsOf }: RequestOptions,
): Promise<string> {
  const name = questionName(request)
  const token = tokenIn(request)
  if (token === undefined)
    throw new Failure(
      401,
      'Unauthorized',
      `the token is missing; send a Kubernetes token as bearer token, or in the header ${TOKEN_HEADER}`,
    )
  const user = await users(token)
  if (user === undefined)
    throw new Failure(401, 'Unauthorized', 'the API server rejects the token; it may have expired')
  return await rateLimiter(rateLimitKey(user), async () => {
    if (name === 'about') return aboutText(about, user)
    const input = inputOf(parsed(await bodyOf(request)))
    const questions = questionsOf(user)
    // The arguments match the question: both come from the same entry of WIRE_FORMATS.
    const ask = questions[name] as (...args: readonly unknown[]) => Promise<unknown>
    return answerText(await ask(...WIRE_FORMATS[name].args(input)))
  })
}

function aboutText(about: ApiServerOptions['about'], { username, groups = [] }: User): string {
  return answerText({ ...about, username, groups, at: new Date() } satisfies About)
}

/** @throws Failure for an unknown path or method. */
function questionName({ url = '', method }: IncomingMessage): QueryName | 'about' {
  const path = url.split('?', 1)[0] ?? ''
  const question = path.startsWith(ASK_PATH) ? path.slice(ASK_PATH.length) : ''
  const isAbout = path === ABOUT_PATH
  if (!isAbout && !isQuestion(question))
    throw new Failure(404, 'NotFound', `unknown path; expected ${ASK_PATH}QUESTION or ${ABOUT_PATH}`)
  if (method !== 'POST') throw new Failure(405, 'MethodNotAllowed', 'expected POST')
  return isAbout ? 'about' : (question as QueryName)
}

function tokenIn({ headers }: IncomingMessage): string | undefined {
  const own = headers[TOKEN_HEADER]
  if (typeof own === 'string' && own !== '') return own
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
}

/** @throws Failure if the body is too long. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  const text = await readBody(request, MAX_BODY_BYTES)
  if (text !== undefined) return text
  throw new Failure(413, 'RequestEntityTooLarge', `the query is too long; expected at most ${MAX_BODY_BYTES} bytes`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BadQuestion('the body is not JSON; expected a JSON object')
  }
}

function failureOf(error: unknown, log: Logger): Failure {
  if (error instanceof Failure) return error
  if (error instanceof BadQuestion) return new Failure(400, 'BadRequest', error.message)
  if (error instanceof Forbidden) return new Failure(403, 'Forbidden', error.message)
  if (error instanceof RateLimited) return new Failure(429, 'TooManyRequests', error.message)
  log.warn({ err: error }, 'a query failed')
  return new Failure(503, 'ServiceUnavailable', isStatementTimeout(error) ? STATEMENT_TIMEOUT : UNAVAILABLE)
}

const STATEMENT_TIMEOUT = 'the query exceeded its time limit; narrow the query, for example with -n'
const UNAVAILABLE = 'the journal or the API server does not answer'

/** PostgreSQL cancelled the statement because of statement_timeout. */
function isStatementTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '57014'
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(`${text}\n`)
}
