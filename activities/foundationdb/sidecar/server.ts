// The HTTP API of the sidecar (spec/foundationdb.md 4.15).
//
// H1. Answers have status 200 with a text, 404 for an unknown path or a missing file, 401 for a client certificate that
//     the rules do not permit, 400 for a request that the sidecar cannot serve, and 500 with the problem otherwise.
// H2. `GET /ready` needs no client certificate.

import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import { TLSSocket } from 'node:tls'
import { copyBinaries, copyFiles, copyLibraries, copyMonitorConf, hashOf, isPresent } from './output-files.ts'
import { matchesRules } from './peer-rules.ts'
import type { SidecarSettings, SidecarTls } from './settings.ts'

export interface SidecarHooks {
  /** Called after the answer to `POST /restart`. */
  readonly restart: () => void
  readonly log: (text: string) => void
}

interface Answer {
  readonly code: number
  readonly text: string
}

const OK: Answer = { code: 200, text: 'OK\n' }
const NOT_FOUND: Answer = { code: 404, text: 'Path not found\n' }
const UNAUTHORIZED: Answer = { code: 401, text: 'Client certificate was not approved\n' }
const NO_TLS: Answer = { code: 400, text: 'Server is not using TLS\n' }

const COPIES: Readonly<Record<string, (settings: SidecarSettings) => Promise<void>>> = {
  '/copy_files': copyFiles,
  '/copy_binaries': copyBinaries,
  '/copy_libraries': copyLibraries,
  '/copy_monitor_conf': copyMonitorConf,
}

/** Creates the server; the caller makes it listen. */
export function createSidecarServer(settings: SidecarSettings, hooks: SidecarHooks): Server | TlsServer {
  const { tls } = settings
  const listener: RequestListener = (request, response) => {
    void answerTo(request, settings, server)
      .catch((error: unknown): Answer => {
        hooks.log(`${request.method ?? ''} ${request.url ?? ''}: ${String(error)}`)
        return { code: 500, text: `${error instanceof Error ? error.message : String(error)}\n` }
      })
      .then((answer) =>
        send(response, answer, () => request.url === '/restart' && answer.code === 200 && hooks.restart()),
      )
  }
  // A missing certificate is no error of the connection, because of H2.
  const server: Server | TlsServer =
    tls === undefined
      ? createServer(listener)
      : createTlsServer({ ...readCertificates(tls), requestCert: true, rejectUnauthorized: false }, listener)
  return server
}

async function answerTo(
  request: IncomingMessage,
  settings: SidecarSettings,
  server: Server | TlsServer,
): Promise<Answer> {
  const path = decodeURIComponent(request.url ?? '')
  if (path === '/ready' && request.method === 'GET') return OK
  if (!isApproved(request, settings.tls)) return UNAUTHORIZED
  return request.method === 'POST' ? await post(path, settings, server) : await get(path, settings)
}

async function get(path: string, settings: SidecarSettings): Promise<Answer> {
  if (path === '/substitutions') return { code: 200, text: `${JSON.stringify(settings.substitutions)}\n` }
  const [, verb, name] = /^\/(check_hash|is_present)\/(.+)$/.exec(path) ?? []
  if (name === undefined) return NOT_FOUND
  if (verb === 'is_present') return (await isPresent(settings, name)) ? OK : NOT_FOUND
  const text = await hashOf(settings, name)
  return text === undefined ? NOT_FOUND : { code: 200, text }
}

async function post(path: string, settings: SidecarSettings, server: Server | TlsServer): Promise<Answer> {
  const copy = COPIES[path]
  if (copy !== undefined) await copy(settings)
  else if (path === '/refresh_certs') {
    if (settings.tls === undefined || !('setSecureContext' in server)) return NO_TLS
    server.setSecureContext(readCertificates(settings.tls))
  } else if (path !== '/restart') return NOT_FOUND
  return OK
}

function isApproved(request: IncomingMessage, tls: SidecarTls | undefined): boolean {
  if (tls === undefined) return true
  const { socket } = request
  return socket instanceof TLSSocket && socket.authorized && matchesRules(socket.getPeerCertificate(), tls.verifyPeers)
}

function readCertificates({ certificateFile, keyFile, caFile }: SidecarTls): { cert: Buffer; key: Buffer; ca: Buffer } {
  return { cert: readFileSync(certificateFile), key: readFileSync(keyFile), ca: readFileSync(caFile) }
}

function send(response: ServerResponse, { code, text }: Answer, sent: () => void): void {
  response.writeHead(code, { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(text) })
  response.end(text, sent)
}
