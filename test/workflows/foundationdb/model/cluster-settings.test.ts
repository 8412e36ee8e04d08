import { describe, expect, it } from 'vitest'

import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'
import { clusterSettings } from '../../../../workflows/foundationdb/model/cluster-settings.ts'

function settingsOf(spec: Omit<ClusterSpec, 'version'>) {
  return clusterSettings({ metadata: { name: 'db', namespace: 'default' }, spec: { version: '7.1.67', ...spec } })
}

describe('the settings of a cluster', () => {
  it('have the defaults of the seed', () => {
    const { automation, ...settings } = settingsOf({})
    expect(settings).toMatchObject({
      prefix: '',
      imageType: 'split',
      storageServersPerPod: 1,
      useExplicitListenAddress: true,
      logGroup: 'db',
      minimumUptimeSeconds: 600,
      routing: {
        headlessService: false,
        publicIPSource: 'pod',
        useDNSInClusterFile: false,
        dnsDomain: 'cluster.local',
      },
      faultDomain: { key: 'kubernetes.io/hostname', valueFrom: 'spec.nodeName', zoneIndex: 0 },
      lock: { isUsed: false, durationSeconds: 600, denyList: [] },
      matchLabels: { 'foundationdb.org/fdb-cluster-name': 'db' },
    })
    expect(automation).toMatchObject({
      configureDatabase: true,
      killProcesses: true,
      deletionMode: 'Zone',
      replacements: { enabled: false, failureDetectionTimeSeconds: 7200, conditions: ['MissingProcesses'] },
      exclusionPolicy: 'strict',
    })
  })

  it.each<[Omit<ClusterSpec, 'version'>, object]>([
    [{ instanceIDPrefix: 'dc1' }, { prefix: 'dc1', lock: { lockID: 'dc1' } }],
    [{ instancesToRemove: ['storage-1'] }, { processGroupsToRemove: ['storage-1'] }],
    [{ instancesToRemoveWithoutExclusion: ['log-1'] }, { processGroupsToRemoveWithoutExclusion: ['log-1'] }],
    [
      { services: { headless: true, publicIPSource: 'service' } },
      { routing: { headlessService: true, publicIPSource: 'service' } },
    ],
    [
      { routing: { useDNSInClusterFile: true, headlessService: false, defineDNSLocalityFields: false } },
      { routing: { useDNSInClusterFile: true, headlessService: true, defineDNSLocalityFields: true } },
    ],
    [
      { routing: { defineDNSLocalityFields: true } },
      { routing: { useDNSInClusterFile: false, headlessService: true, defineDNSLocalityFields: true } },
    ],
    [{ automationOptions: { deletePods: false } }, { automation: { deletionMode: 'None' } }],
    [{ automationOptions: { deletePods: false, deletionMode: 'All' } }, { automation: { deletionMode: 'All' } }],
    [{ updatePodsByReplacement: true }, { automation: { podUpdateStrategy: 'Replace' } }],
  ])('are read from %j', (spec, expected) => {
    expect(settingsOf(spec)).toMatchObject(expected)
  })

  it.each<[Omit<ClusterSpec, 'version'>, boolean]>([
    [{ faultDomain: { zoneCount: 2 } }, true],
    [{ databaseConfiguration: { regions: [{}, {}] } }, true],
    [{ databaseConfiguration: { redundancy_mode: 'three_data_hall' } }, true],
    [{ databaseConfiguration: { regions: [{}] } }, false],
    [{ lockOptions: { disableLocks: false } }, true],
    [{ lockOptions: { disableLocks: true }, faultDomain: { zoneCount: 2 } }, false],
  ])('with %j use a lock: %s', (spec, isUsed) => {
    expect(settingsOf(spec).lock.isUsed).toBe(isUsed)
  })
})
