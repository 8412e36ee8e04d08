// A proxy that adds TLS and API keys to a gRPC server, like a hosted Temporal service.

import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect,
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'

const UNAUTHENTICATED = '16'

export class KeyedProxy {
  readonly #server: Http2SecureServer
  readonly #onward: ClientHttp2Session
  readonly #key: string
  /** The methods of calls without the key. */
  readonly refusals: string[] = []
  calls = 0

  private constructor(server: Http2SecureServer, onward: ClientHttp2Session, key: string) {
    this.#server = server
    this.#onward = onward
    this.#key = key
    server.on('session', (session) => session.on('error', () => undefined))
    server.on('stream', (stream, headers) => {
      this.#serve(stream, headers)
    })
  }

  /** @param address `host:port` of the server behind. */
  static async before(address: string, key: string, options: SecureServerOptions): Promise<KeyedProxy> {
    const onward = connect(`http://${address}`)
    // Each call reports its own error.
    onward.on('error', () => undefined)
    await once(onward, 'connect')
    const proxy = new KeyedProxy(createSecureServer(options), onward, key)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Does not wait for open connections. */
  stop(): void {
    this.#server.close()
    this.#onward.destroy()
  }

  #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', () => undefined)
    if (headers.authorization !== `Bearer ${this.#key}`) {
      this.refusals.push(String(headers[':path']))
      const answer = { 'grpc-status': UNAUTHENTICATED, 'grpc-message': 'no such key' }
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...answer }, { endStream: true })
      return
    }
    this.calls += 1
    const sent = Object.entries(headers).filter(([name]) => name !== ':authority' && name !== ':scheme')
    const onward = this.#onward.request(Object.fromEntries(sent))
    onward.on('error', () => stream.close(constants.NGHTTP2_CANCEL))
    stream.on('close', () => onward.close(constants.NGHTTP2_CANCEL))
    let trailers: IncomingHttpHeaders = {}
    onward.on('trailers', (received: IncomingHttpHeaders) => (trailers = received))
    onward.on('response', (answer, flags) => {
      // The client may have gone.
      if (stream.destroyed) return
      const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      stream.respond(answer, { endStream, waitForTrailers: !endStream })
      stream.on('wantTrailers', () => {
        stream.sendTrailers(trailers)
      })
      if (!endStream) onward.pipe(stream)
    })
    stream.pipe(onward)
  }
}
