// The address of the DogStatsD agent, from chaos-controller's variables: `STATSD_URL`, or the agent of the node. Pure.
// Source: spec/chaos.md 2.15.

import type { StatsdEnvironment } from '../kit/index.ts'

export interface StatsdAddress {
  /** A name or an address; IPv6 without brackets. */
  readonly host: string
  readonly port: number
}

export const STATSD_PORT = 8125

export const EXPECTED_STATSD = 'HOST:PORT or udp://HOST:PORT (Pawl supports only UDP)'

/** Undefined for an invalid address. The workflow sandbox has no `URL`. */
export function statsdAddress(text: string): StatsdAddress | undefined {
  const [, bracketed, plain, digits] =
    /^(?:udp:\/\/)?(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::(\d{1,5}))?\/?$/i.exec(text.trim()) ?? []
  const host = bracketed ?? plain
  const port = digits === undefined ? STATSD_PORT : Number(digits)
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

/** The address from the environment, or a message about the problem. */
export function statsdAddressIn(
  environment: StatsdEnvironment,
): { readonly address: StatsdAddress } | { readonly problem: string } {
  const { url, agentHost, agentPort = String(STATSD_PORT) } = environment
  if (url === undefined && agentHost === undefined)
    return { problem: 'found neither STATSD_URL nor DD_AGENT_HOST; expected the address of the Datadog agent' }
  const agent = agentHost?.includes(':') === true ? `[${agentHost}]:${agentPort}` : `${agentHost}:${agentPort}`
  const address = statsdAddress(url ?? agent)
  if (address !== undefined) return { address }
  const found = url === undefined ? `DD_AGENT_HOST, DD_DOGSTATSD_PORT: found '${agent}'` : `STATSD_URL: found '${url}'`
  return { problem: `${found}; expected ${EXPECTED_STATSD}` }
}
