// Calls the gRPC disruption listener of an application, directly over HTTP/2: two calls need no library. Source:
// spec/chaos.md 3.8; wire format: gRPC over HTTP2, doc/PROTOCOL-HTTP2.md of gRPC.

import { once } from 'node:events'
import { connect, type IncomingHttpHeaders } from 'node:http2'
import type { ListenerCommand } from '../../../../workflows/chaos/injector/command.ts'
import type { EndpointAlteration } from '../../../../workflows/chaos/injector/invocation.ts'

const SERVICE = '/disruptionlistener.DisruptionListener'
const TIMEOUT_MS = 5000
const OK = 0
/** The application has no listener. */
const UNIMPLEMENTED = 12

/**
 * Disrupts or resets. A reset without a listener is a success: the alterations disappeared with the process.
 *
 * @throws with the gRPC status.
 */
export async function configureListener({ address, alterations }: ListenerCommand): Promise<void> {
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

/** An uncompressed message with its length prefix. */
function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** Groups the alterations by endpoint, in their order. */
export function encodeDisruption(alterations: readonly EndpointAlteration[]): Buffer {
  const endpoints = [...new Set(alterations.map(({ endpoint }) => endpoint))]
  return Buffer.concat(
    endpoints.map((endpoint) => {
      const own = alterations.filter((one) => one.endpoint === endpoint)
      return bytesField(1, Buffer.concat([textField(1, endpoint), ...own.map((one) => bytesField(2, alteration(one)))]))
    }),
  )
}

function alteration({ alteration: what, percent }: EndpointAlteration): Buffer {
  const text = 'error' in what ? textField(1, what.error) : textField(2, what.override)
  return percent === 0 ? text : Buffer.concat([text, Buffer.from([3 << 3]), varint(percent)])
}

function textField(number: number, text: string): Buffer {
  return bytesField(number, Buffer.from(text))
}

function bytesField(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(bytes.length), bytes])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let left = value
  for (; left > 127; left >>>= 7) bytes.push((left & 127) | 128)
  return Buffer.from([...bytes, left])
}
