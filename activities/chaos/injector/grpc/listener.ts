// Calls the listener that an application has for disruptions of its gRPC services. Over HTTP/2 as it is: two calls need no library.
// Source: spec/chaos.md 3.8; the form of calls: gRPC over HTTP2, doc/PROTOCOL-HTTP2.md of gRPC.

import { once } from 'node:events'
import { connect, type IncomingHttpHeaders } from 'node:http2'

import type { ListenerCommand } from '../../../../workflows/chaos/injector/command.ts'
import { encodeDisruption } from './message.ts'

const SERVICE = '/disruptionlistener.DisruptionListener'
const TIMEOUT_MS = 5000
const OK = 0
/** The application has no listener. */
const UNIMPLEMENTED = 12

/**
 * Disrupts, or resets. To reset what does not listen any more is success: it has lost what it was told with its process.
 *
 * @throws with the status that was answered.
 */
export async function tellListener({ address, alterations }: ListenerCommand): Promise<void> {
  const isReset = alterations === undefined
  const call = isReset ? 'ResetDisruptions' : 'Disrupt'
  try {
    const { status, message } = await callListener(address, call, encodeDisruption(alterations ?? []))
    if (status === OK || (isReset && status === UNIMPLEMENTED)) return
    throw new Error(`${call} at ${address}: gRPC status ${status}${message === '' ? '' : `: ${message}`}`)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (!(isReset && code === 'ECONNREFUSED')) throw error
  }
}

async function callListener(address: string, call: string, message: Buffer) {
  const session = connect(`http://${address}`)
  const failed = new Promise<never>((_, reject) => {
    session.once('error', reject)
    session.setTimeout(TIMEOUT_MS, () => reject(new Error(`${call} at ${address}: no answer in ${TIMEOUT_MS} ms`)))
  })
  try {
    return await Promise.race([failed, exchange()])
  } finally {
    session.destroy()
  }

  async function exchange() {
    const stream = session.request({
      ':method': 'POST',
      ':path': `${SERVICE}/${call}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    let headers: IncomingHttpHeaders = {}
    for (const event of ['response', 'trailers'] as const)
      stream.on(event, (more: IncomingHttpHeaders) => (headers = { ...headers, ...more }))
    stream.resume()
    stream.end(framed(message))
    await once(stream, 'close')
    const status = headers['grpc-status']
    if (status === undefined)
      throw new Error(`${call} at ${address}: no gRPC status, HTTP status ${String(headers[':status'])}`)
    return { status: Number(status), message: decodeURIComponent(String(headers['grpc-message'] ?? '')) }
  }
}

/** Not compressed, with its length before it. */
function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}
