import { describe, expect, it } from 'vitest'

import type { DatabaseConfiguration } from '../../../../workflows/foundationdb/cluster/schema/database.ts'
import {
  configureString,
  desiredConfiguration,
  isSameConfiguration,
  liveConfiguration,
} from '../../../../workflows/foundationdb/database/configure-string.ts'

const textOf = (spec: DatabaseConfiguration) => configureString(desiredConfiguration(spec))

describe('the argument of configure', () => {
  // Source of the first: spec/foundationdb.md 6.7; recording 24 shows that fdbcli accepts it.
  it.each<[DatabaseConfiguration, string]>([
    [{}, 'double ssd-2 usable_regions=1 logs=3 resolvers=1 log_routers=-1 remote_logs=-1 proxies=3 regions=[]'],
    [
      { redundancy_mode: 'single', storage_engine: 'memory', log_spill: 2, proxies: 5 },
      'single memory-2 usable_regions=1 logs=3 resolvers=1 log_routers=-1 remote_logs=-1 proxies=5 log_spill:=2 regions=[]',
    ],
    [
      { commit_proxies: 4, storage_migration_type: 'gradual', perpetual_storage_wiggle: 1 },
      'double ssd-2 usable_regions=1 logs=3 resolvers=1 log_routers=-1 remote_logs=-1 commit_proxies=4 grv_proxies=1 regions=[] storage_migration_type=gradual perpetual_storage_wiggle=1',
    ],
    [
      {
        redundancy_mode: 'triple',
        storage_engine: 'ssd',
        usable_regions: 2,
        regions: [
          { datacenters: [{ id: 'dc2' }] },
          {
            datacenters: [
              { id: 'dc3', satellite: 1, priority: 1 },
              { id: 'dc1', priority: 1 },
            ],
            satellite_redundancy_mode: 'one_satellite_double',
            satellite_logs: 3,
          },
        ],
      },
      String.raw`triple ssd-2 usable_regions=2 logs=3 resolvers=1 log_routers=3 remote_logs=3 proxies=3 regions=[{\"datacenters\":[{\"id\":\"dc1\",\"priority\":1},{\"id\":\"dc3\",\"priority\":1,\"satellite\":1}],\"satellite_logs\":3,\"satellite_redundancy_mode\":\"one_satellite_double\"},{\"datacenters\":[{\"id\":\"dc2\"}]}]`,
    ],
  ])('for %j', (spec, expected) => {
    expect(textOf(spec)).toBe(expected)
  })

  it('contains no character of a region ID that fdbcli would read as a separator', () => {
    const text = textOf({ regions: [{ datacenters: [{ id: `a;kill "x'\\<b>\n` }] }] })
    expect(text).toContain(String.raw`\"id\":\"a\u003Bkill\u0020\\\"x\'\\\\\u003Cb\u003E\\n\"`)
  })
})

/** As a real database reports the configuration after the first string. Source: recording 24. */
const LIVE = {
  commit_proxies: 2,
  grv_proxies: 1,
  log_routers: -1,
  log_spill: 2,
  logs: 3,
  perpetual_storage_wiggle: 0,
  perpetual_storage_wiggle_engine: 'none',
  perpetual_storage_wiggle_locality: '0',
  proxies: 3,
  redundancy_mode: 'double',
  remote_logs: -1,
  resolvers: 1,
  storage_engine: 'ssd-2',
  storage_migration_type: 'disabled',
  usable_regions: 1,
} as const satisfies DatabaseConfiguration

describe('the live configuration', () => {
  it.each<[DatabaseConfiguration, DatabaseConfiguration, boolean]>([
    [{}, LIVE, true],
    [{ storage_engine: 'ssd', storage: 9 }, LIVE, true],
    [{ commit_proxies: 2, grv_proxies: 1 }, LIVE, true],
    [{ commit_proxies: 3 }, LIVE, false],
    [{ proxies: 4 }, LIVE, false],
    [{ logs: 4 }, LIVE, false],
    [{ redundancy_mode: 'triple' }, LIVE, false],
    [{ storage_engine: 'memory' }, LIVE, false],
    [{ perpetual_storage_wiggle: 1 }, LIVE, false],
    [{ log_spill: 1 }, LIVE, false],
    [{}, { ...LIVE, log_routers: 0, remote_logs: 0 }, true],
  ])('desired %j: %j is the same: %s', (spec, live, expected) => {
    const desired = desiredConfiguration(spec)
    expect(isSameConfiguration(liveConfiguration(live, desired), desired)).toBe(expected)
  })

  it('has its regions in any order', () => {
    const [one, two] = [{ datacenters: [{ id: 'dc1', priority: 1 }] }, { datacenters: [{ id: 'dc2', priority: 0 }] }]
    const desired = desiredConfiguration({ regions: [one, two] })
    expect(isSameConfiguration(liveConfiguration({ ...LIVE, regions: [two, one] }, desired), desired)).toBe(true)
  })
})
