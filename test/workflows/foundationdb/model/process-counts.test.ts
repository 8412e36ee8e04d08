import { describe, expect, it } from 'vitest'

import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'
import { clusterSettings } from '../../../../workflows/foundationdb/model/cluster-settings.ts'
import { coordinatorCount, processCounts, totalCount } from '../../../../workflows/foundationdb/model/process-counts.ts'

function countsOf(spec: Omit<ClusterSpec, 'version'>) {
  return processCounts(
    clusterSettings({ metadata: { name: 'db', namespace: 'default' }, spec: { version: '7.1.67', ...spec } }),
  )
}

const KUBERNETES_CLUSTERS = 'foundationdb.org/kubernetes-cluster'

describe('the process groups of a cluster', () => {
  // Source: spec/foundationdb.md 1.7.
  it.each<[string, Omit<ClusterSpec, 'version'>, object]>([
    ['by default', {}, { storage: 3, log: 4, stateless: 9 }],
    ['single', { databaseConfiguration: { redundancy_mode: 'single' } }, { storage: 1, log: 3, stateless: 8 }],
    ['triple', { databaseConfiguration: { redundancy_mode: 'triple' } }, { storage: 5, log: 5, stateless: 10 }],
    [
      'three_data_hall',
      { databaseConfiguration: { redundancy_mode: 'three_data_hall' } },
      { storage: 5, log: 6, stateless: 10 },
    ],
    [
      'with an own class for a role',
      { databaseConfiguration: { storage: 4 }, processCounts: { cluster_controller: 1 } },
      { storage: 4, log: 4, stateless: 8, cluster_controller: 1 },
    ],
    ['without class stateless', { processCounts: { stateless: -1 } }, { storage: 3, log: 4 }],
    [
      'with separate proxies',
      { databaseConfiguration: { commit_proxies: 4 }, processCounts: { grv_proxy: 2 } },
      { storage: 3, log: 4, stateless: 10, grv_proxy: 2 },
    ],
    [
      'with a remote region',
      { databaseConfiguration: { usable_regions: 2, logs: 5, remote_logs: 7, log_routers: 12 } },
      { storage: 3, log: 8, stateless: 13 },
    ],
    [
      'with numbers for all classes',
      { processCounts: { storage: 9, log: 8, stateless: 7 } },
      { storage: 9, log: 8, stateless: 7 },
    ],
  ])('%s', (_, spec, expected) => {
    expect(countsOf(spec)).toEqual(expected)
  })

  it('add up to 16 by default, and to 17 with 4 storage processes and a cluster controller', () => {
    expect(totalCount(countsOf({}))).toBe(16)
    expect(
      totalCount(countsOf({ databaseConfiguration: { storage: 4 }, processCounts: { cluster_controller: 1 } })),
    ).toBe(17)
  })

  it('of a data centre that is only a satellite hold its logs', () => {
    const regions = [
      {
        datacenters: [
          { id: 'dc1', priority: 1 },
          { id: 'dc2', satellite: 1 },
        ],
        satellite_logs: 3,
      },
    ]
    expect(countsOf({ dataCenter: 'dc2', databaseConfiguration: { regions } })).toEqual({ log: 4 })
    expect(countsOf({ dataCenter: 'dc1', databaseConfiguration: { regions } })).toMatchObject({ log: 4 })
  })

  it('of a data centre that is also the satellite of another region hold further logs', () => {
    const regions = [
      {
        datacenters: [
          { id: 'dc1', priority: 1 },
          { id: 'dc2', satellite: 1 },
        ],
        satellite_logs: 3,
      },
      { datacenters: [{ id: 'dc2', priority: 0 }] },
    ]
    const spec = { dataCenter: 'dc2', databaseConfiguration: { usable_regions: 2, regions } }
    expect(countsOf(spec)).toMatchObject({ storage: 3, log: 7 })
  })

  it('are shared by Kubernetes clusters; the first ones get the remainder', () => {
    const spec = { databaseConfiguration: { redundancy_mode: 'double' as const, storage: 7 } }
    const storage = [0, 1, 2, 3, 4, -1].map(
      (zoneIndex) => countsOf({ ...spec, faultDomain: { key: KUBERNETES_CLUSTERS, zoneCount: 5, zoneIndex } }).storage,
    )
    expect(storage).toEqual([2, 2, 1, 1, 1, undefined])
    expect(countsOf({ ...spec, faultDomain: { key: KUBERNETES_CLUSTERS } }).storage).toBe(3)
  })
})

describe('the number of coordinators', () => {
  it.each([
    [{}, 3],
    [{ redundancy_mode: 'single' }, 1],
    [{ redundancy_mode: 'triple' }, 5],
    [{ redundancy_mode: 'three_data_hall' }, 9],
    [{ redundancy_mode: 'single', usable_regions: 2 }, 9],
  ] as const)('of %j is %s', (configuration, expected) => {
    expect(coordinatorCount(configuration)).toBe(expected)
  })
})
