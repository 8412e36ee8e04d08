// The client of the sidecar's HTTP API in a Pod. Source: spec/foundationdb.md 4.15.

import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'

export const SIDECAR_PORT = 8080

const GET_MS = 5000
const POST_MS = 10_000
/** Tries after the first one. */
const RETRIES = 2

export interface SidecarAddress {
  /** An IP address, IPv6 without brackets. */
  readonly host: string
  /** Present: the sidecar requires TLS. */
  readonly tls?: TlsFiles
}

/** Certificates in PEM. */
export interface TlsFiles {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** Answers by the API. All methods throw when the sidecar does not answer. */
export interface SidecarClient {
  /** SHA-256 in hex; undefined: the file does not exist. */
  hashOf(file: string): Promise<string | undefined>
  isPresent(file: string): Promise<boolean>
  copyFiles(): Promise<void>
  copyMonitorConfiguration(): Promise<void>
  copyBinaries(): Promise<void>
}

export function sidecarClient(address: SidecarAddress, signal: AbortSignal): SidecarClient {
  const get = (path: string) => retried(() => send(address, { method: 'GET', path, timeoutMs: GET_MS, signal }), signal)
  const post = async (path: string) => {
    const call = { method: 'POST', path, timeoutMs: POST_MS, signal }
    const { status } = await retried(() => send(address, call), signal)
    if (status !== 200) throw new Error(`sidecar ${address.host}: POST ${path}: found status ${status}; expected 200`)
  }
  const find = async (path: string) => {
    const answer = await get(path)
    if (answer.status === 404) return undefined
    if (answer.status === 200) return answer.body.trim()
    throw new Error(`sidecar ${address.host}: GET ${path}: found status ${answer.status}; expected 200 or 404`)
  }
  return {
    hashOf: (file) => find(`/check_hash/${file}`),
    isPresent: async (file) => (await find(`/is_present/${file}`)) !== undefined,
    copyFiles: () => post('/copy_files'),
    copyMonitorConfiguration: () => post('/copy_monitor_conf'),
    copyBinaries: () => post('/copy_binaries'),
  }
}

async function retried<Answer>(call: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  for (let left = RETRIES; ; left--) {
    try {
      return await call()
    } catch (error) {
      if (left === 0 || signal.aborted) throw error
    }
  }
}

interface Call {
  readonly method: string
  readonly path: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

const MOST_BODY_BYTES = 65_536

async function send(
  { host, tls }: SidecarAddress,
  { method, path, timeoutMs, signal }: Call,
): Promise<{ readonly status: number; readonly body: string }> {
  const request = tls === undefined ? httpRequest : httpsRequest
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  // The certificate names no Pod address; the authority proves that the Pod belongs to the database.
  const options = {
    host,
    port: SIDECAR_PORT,
    method,
    path,
    signal: limited,
    ...tls,
    checkServerIdentity: () => undefined,
  }
  return await new Promise((resolve, reject) => {
    const sent = request(options, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk
        if (body.length > MOST_BODY_BYTES) sent.destroy(new Error(`sidecar ${host}: ${path}: the answer is too long`))
      })
      answer.once('end', () => {
        resolve({ status: answer.statusCode ?? 0, body })
      })
      answer.once('error', reject)
    })
    sent.once('error', reject)
    sent.end()
  })
}
