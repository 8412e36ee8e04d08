import { describe, expect, it } from 'vitest'

import { statsdAddress, statsdAddressIn } from '../../../workflows/chaos/statsd-address.ts'

describe('the StatsD address', () => {
  it.each([
    ['agent:8126', { host: 'agent', port: 8126 }],
    ['udp://10.0.0.1:8125', { host: '10.0.0.1', port: 8125 }],
    ['statsd.example.com', { host: 'statsd.example.com', port: 8125 }],
    ['[fd00::1]:9125', { host: 'fd00::1', port: 9125 }],
  ])('is read: %s', (text, address) => {
    expect(statsdAddress(text)).toEqual(address)
  })

  it.each([
    '',
    'unix:///var/run/datadog/dsd.socket',
    'http://agent:8125',
    'agent:0',
    'agent:70000',
    'a b:1',
    'fd00::1',
  ])('is not: %s', (text) => {
    expect(statsdAddress(text)).toBeUndefined()
  })

  it('comes from STATSD_URL or else from the agent of the node, or its problem is reported', () => {
    const agent = { agentHost: '10.1.2.3' }
    expect(statsdAddressIn({ url: 'a:1', ...agent })).toEqual({ address: { host: 'a', port: 1 } })
    expect(statsdAddressIn(agent)).toEqual({ address: { host: '10.1.2.3', port: 8125 } })
    expect(statsdAddressIn({ agentHost: 'fd00::1', agentPort: '9125' })).toEqual({
      address: { host: 'fd00::1', port: 9125 },
    })
    expect(statsdAddressIn({})).toEqual({
      problem: 'found neither STATSD_URL nor DD_AGENT_HOST; expected the address of the Datadog agent',
    })
    expect(statsdAddressIn({ url: 'unix:///a' })).toEqual({
      problem: "STATSD_URL: found 'unix:///a'; expected HOST:PORT or udp://HOST:PORT (Pawl supports only UDP)",
    })
    expect(statsdAddressIn({ agentHost: 'a', agentPort: 'x' })).toMatchObject({
      problem: expect.stringContaining("DD_DOGSTATSD_PORT: found 'a:x'") as string,
    })
  })
})
