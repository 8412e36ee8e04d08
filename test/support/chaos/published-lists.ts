// The lists that clouds publish of their addresses, served by the test itself in their shapes.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export const AWS = {
  syncToken: '1',
  prefixes: [
    { ip_prefix: '3.5.140.0/22', region: 'ap-northeast-2', service: 'S3', network_border_group: 'ap-northeast-2' },
    { ip_prefix: '3.5.140.0/22', region: 'ap-northeast-2', service: 'EC2', network_border_group: 'ap-northeast-2' },
    { ip_prefix: '52.219.0.0/20', region: 'eu-central-1', service: 'S3', network_border_group: 'eu-central-1' },
    { ip_prefix: '52.219.0.0/20', region: 'GLOBAL', service: 'S3', network_border_group: 'GLOBAL' },
  ],
  ipv6_prefixes: [{ ipv6_prefix: '2a05:d07a::/32', service: 'S3' }],
}
export const GCP = {
  prefixes: [{ ipv4Prefix: '8.8.4.0/24' }, { ipv6Prefix: '2001:4860::/32' }, { ipv4Prefix: '34.0.0.0/15' }],
}
export const DATADOG = {
  version: 1,
  modified: '2026-01-01-00-00-00',
  agents: { prefixes_ipv4: ['3.233.144.0/20'], prefixes_ipv6: ['2600:1f18::/33'] },
  synthetics: { prefixes_ipv4: ['3.18.172.189/32', '3.18.188.104/32'], prefixes_ipv6: [] },
}

export class PublishedLists {
  /** The number of requests by path. */
  readonly asked = new Map<string, number>()
  /** Answers that replace a list. */
  readonly instead = new Map<string, number | string>()
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<PublishedLists> {
    const lists: Readonly<Record<string, object>> = { '/aws': AWS, '/gcp': GCP, '/datadog': DATADOG }
    const server = createServer((request, response) => {
      const path = request.url ?? ''
      published.asked.set(path, (published.asked.get(path) ?? 0) + 1)
      const instead = published.instead.get(path)
      response.statusCode = typeof instead === 'number' ? instead : 200
      response.end(typeof instead === 'string' ? instead : JSON.stringify(lists[path] ?? {}))
    })
    const published = new PublishedLists(server)
    await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening))
    return published
  }

  /** @param cloud such as `aws`. */
  url(cloud: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${cloud}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((closed) => this.#server.close(closed))
  }
}
