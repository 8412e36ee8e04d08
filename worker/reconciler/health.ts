// /healthz: the process answers. /readyz: journal and Temporal answered when last asked.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Health {
  readonly address: string
  /** What the last contact with a part came to; undefined = fine. */
  report(part: string, error: unknown): void
  close(): Promise<void>
}

/** Serves both paths; port 0 takes a free one. */
export async function startHealth(host: string, port: number): Promise<Health> {
  const troubles = new Map<string, string>()
  const server = createServer((request, response) => {
    const isReady = request.url !== '/readyz' || troubles.size === 0
    response.writeHead(isReady ? 200 : 503, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ ok: isReady, troubles: Object.fromEntries(troubles) }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    report(part, error) {
      if (error === undefined) troubles.delete(part)
      else troubles.set(part, error instanceof Error ? error.message : 'no answer')
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
