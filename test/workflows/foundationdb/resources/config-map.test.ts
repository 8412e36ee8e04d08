import { describe, expect, it } from 'vitest'

import {
  clusterConfigMap,
  configMapHash,
  type ConfigMapInput,
} from '../../../../workflows/foundationdb/resources/config-map.ts'
import { settingsOf } from '../clusters.ts'

function inputOf(change: Partial<ConfigMapInput> = {}): ConfigMapInput {
  return {
    settings: settingsOf(),
    connectionString: 'db:id@10.1.1.1:4501',
    runningVersion: '7.1.67',
    addresses: { tls: false, nonTLS: true },
    hasListenIPs: true,
    variants: [
      { processClass: 'storage', servers: 1 },
      { processClass: 'storage', servers: 2 },
      { processClass: 'log', servers: 1 },
    ],
    ...change,
  }
}

const dataOf = (input: ConfigMapInput) => clusterConfigMap(input)['data'] as Readonly<Record<string, string>>

describe('the ConfigMap of a cluster', () => {
  it('has a configuration for each class and number of processes, and the data of the user', () => {
    const settings = settingsOf({
      trustedCAs: ['A', 'B'],
      configMap: { data: { mine: 'x', 'cluster-file': 'not mine' }, metadata: { labels: { a: 'b' } } },
    })
    const map = clusterConfigMap(inputOf({ settings }))
    expect(map.metadata).toEqual({
      name: 'db-config',
      labels: { a: 'b', 'foundationdb.org/fdb-cluster-name': 'db' },
      annotations: {},
    })
    const data = dataOf(inputOf({ settings }))
    expect(Object.keys(data).sort()).toEqual([
      ...['ca-file', 'cluster-file', 'fdbmonitor-conf-log', 'fdbmonitor-conf-storage'],
      ...['fdbmonitor-conf-storage-density-2', 'mine', 'running-version'],
    ])
    expect(data).toMatchObject({ 'ca-file': 'A\nB', 'cluster-file': 'db:id@10.1.1.1:4501', mine: 'x' })
    expect(data['fdbmonitor-conf-storage-density-2']).toContain('[fdbserver.2]')
  })

  it('has JSON for unified images, which run no server without a database', () => {
    const variants = [{ processClass: 'storage', servers: 1 }]
    const settings = settingsOf({ imageType: 'unified', routing: { podIPFamily: 6 } })
    const input = inputOf({ settings, variants, addresses: { tls: true, nonTLS: true }, hasListenIPs: false })
    const json = JSON.parse(dataOf(input)['fdbmonitor-conf-storage-json'] ?? '') as { arguments: readonly unknown[] }
    expect(json).toMatchObject({ version: '7.1.67' })
    expect(json).not.toHaveProperty('runServers')
    expect(json.arguments[2]).toEqual({
      type: 'Concatenate',
      values: [
        { value: '--public_address=[' },
        { type: 'IPList', source: 'FDB_PUBLIC_IP', ipFamily: 6 },
        { value: ']:' },
        { type: 'ProcessNumber', offset: 4498, multiplier: 2 },
        { value: ':tls' },
        { value: ',[' },
        { type: 'IPList', source: 'FDB_PUBLIC_IP', ipFamily: 6 },
        { value: ']:' },
        { type: 'ProcessNumber', offset: 4499, multiplier: 2 },
      ],
    })
    expect(json.arguments).toContainEqual({ value: '--class=storage' })
    expect(json.arguments).toContainEqual({
      type: 'Concatenate',
      values: [{ value: '--datadir=/var/fdb/data/' }, { type: 'ProcessNumber' }],
    })
    expect(JSON.parse(dataOf({ ...input, connectionString: '' })['fdbmonitor-conf-storage-json'] ?? '')).toMatchObject({
      runServers: false,
    })
  })

  it('changes the hash of a Pod only by keys that the Pod uses', () => {
    const [settings, variant] = [settingsOf(), { processClass: 'storage', servers: 1 }]
    const data = dataOf(inputOf())
    const before = configMapHash(data, settings, variant)
    expect(configMapHash({ ...data, mine: 'y', 'fdbmonitor-conf-log': '' }, settings, variant)).toBe(before)
    for (const key of ['cluster-file', 'running-version', 'fdbmonitor-conf-storage', 'ca-file'])
      expect(configMapHash({ ...data, [key]: 'other' }, settings, variant)).not.toBe(before)
  })
})
