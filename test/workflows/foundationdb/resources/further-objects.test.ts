import { describe, expect, it } from 'vitest'

import { backupSettings } from '../../../../workflows/foundationdb/model/backup-settings.ts'
import { backupDeployment } from '../../../../workflows/foundationdb/resources/backup-agents.ts'
import { backupURL } from '../../../../workflows/foundationdb/resources/backup-url.ts'
import { podVersion } from '../../../../workflows/foundationdb/resources/images.ts'
import { headlessService, processGroupService } from '../../../../workflows/foundationdb/resources/services.ts'
import { volumeClaim, volumeClaimHash } from '../../../../workflows/foundationdb/resources/volume-claim.ts'
import { settingsOf } from '../clusters.ts'

const STORAGE = { processGroupID: 'dc1-storage-1', processClass: 'storage' }
const LABELS = {
  'foundationdb.org/fdb-cluster-name': 'db',
  'foundationdb.org/fdb-process-class': 'storage',
  'foundationdb.org/fdb-process-group-id': 'dc1-storage-1',
}

describe('the PersistentVolumeClaim of a process group', () => {
  it('has 128 GB by default', () => {
    const claim = volumeClaim(settingsOf(), STORAGE)
    expect(claim).toMatchObject({
      metadata: {
        name: 'db-storage-1-data',
        labels: LABELS,
        annotations: { 'foundationdb.org/last-applied-spec': volumeClaimHash(settingsOf(), 'storage') },
      },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '128G' } } },
    })
  })

  it('has the template of its class', () => {
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { storageClassName: 'fast', resources: { requests: { storage: '16G' } } },
    }
    const settings = settingsOf({ processes: { general: { volumeClaimTemplate: template } } })
    expect(volumeClaim(settings, STORAGE)).toMatchObject({
      metadata: { labels: { ...LABELS, a: 'b' } },
      spec: { storageClassName: 'fast', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '16G' } } },
    })
    expect(volumeClaimHash(settings, 'storage')).not.toBe(volumeClaimHash(settingsOf(), 'storage'))
  })
})

describe('the Services of a cluster', () => {
  it('are a headless one, and one for each process group', () => {
    const settings = settingsOf({ storageServersPerPod: 2, routing: { podIPFamily: 6 } })
    expect(headlessService(settings)).toMatchObject({
      metadata: { name: 'db' },
      spec: { clusterIP: 'None', selector: { 'foundationdb.org/fdb-cluster-name': 'db' } },
    })
    expect(processGroupService(settings, STORAGE)).toMatchObject({
      metadata: { name: 'db-storage-1', labels: LABELS },
      spec: {
        type: 'ClusterIP',
        publishNotReadyAddresses: true,
        ports: [
          { name: 'tls', port: 4500 },
          { name: 'non-tls', port: 4501 },
          { name: 'tls-2', port: 4502 },
          { name: 'non-tls-2', port: 4503 },
        ],
        selector: {
          'foundationdb.org/fdb-cluster-name': 'db',
          'foundationdb.org/fdb-process-group-id': 'dc1-storage-1',
        },
        ipFamilies: ['IPv6'],
      },
    })
  })
})

describe('the version of the images of new Pods', () => {
  it.each([
    ['7.3.0', undefined, 'split', '7.3.0'],
    ['7.1.68', '7.1.67', 'split', '7.1.67'],
    ['7.1.68', '7.1.67', 'unified', '7.1.68'],
    ['7.3.0', '7.1.67', 'unified', '7.1.67'],
  ] as const)('for %s, running %s, %s images, is %s', (wanted, running, imageType, expected) => {
    expect(podVersion(wanted, running, imageType)).toBe(expected)
  })
})

describe('the URL of a backup', () => {
  it.each([
    [{ accountName: 'account@s3.example.com' }, 'blobstore://account@s3.example.com:443/mine?bucket=fdb-backups'],
    [
      { accountName: 'a@minio', urlParameters: ['secure_connection=0', 'region=x'], bucket: 'mybucket' },
      'blobstore://a@minio:80/mine?bucket=mybucket&secure_connection=0&region=x',
    ],
    [
      { accountName: 'a@minio:9000', backupName: 'b/c', urlParameters: ['sc=0'] },
      'blobstore://a@minio:9000/b/c?bucket=fdb-backups&sc=0',
    ],
  ])('of %j', (store, expected) => {
    expect(backupURL(store, 'mine')).toBe(expected)
  })
})

describe('the agents of a backup', () => {
  const spec = { version: '7.1.67', clusterName: 'db', accountName: 'a@s3' }

  it('are a Deployment', () => {
    const settings = backupSettings('nightly', { ...spec, dataCenter: 'dc1', customParameters: ['knob_a=1'] })
    expect(backupDeployment(settings, 'uid-1')).toMatchObject({
      apiVersion: 'apps/v1',
      metadata: {
        name: 'nightly-backup-agents',
        labels: {
          'foundationdb.org/backup-for': 'uid-1',
          'foundationdb.org/deployment-name': 'nightly-backup-agents',
        },
      },
      spec: {
        replicas: 2,
        selector: { matchLabels: { 'foundationdb.org/deployment-name': 'nightly-backup-agents' } },
        template: {
          metadata: { labels: { 'foundationdb.org/deployment-name': 'nightly-backup-agents' } },
          spec: {
            initContainers: [
              {
                name: 'foundationdb-kubernetes-init',
                args: ['--copy-file', 'fdb.cluster', '--require-not-empty', 'fdb.cluster', '--init-mode'],
              },
            ],
            containers: [
              {
                name: 'foundationdb',
                image: 'foundationdb/foundationdb:7.1.67',
                command: ['backup_agent'],
                args: [
                  ...['--log', '--logdir', '/var/log/fdb-trace-logs', '--locality_zoneid', '$(FDB_ZONE_ID)'],
                  ...['--locality_machineid', '$(FDB_MACHINE_ID)', '--locality_dcid', 'dc1', '--knob_a=1'],
                ],
              },
            ],
            volumes: [
              { name: 'logs' },
              { name: 'dynamic-conf' },
              { configMap: { name: 'db-config', items: [{ key: 'cluster-file', path: 'fdb.cluster' }] } },
            ],
          },
        },
      },
    })
  })

  it('do not exist with agentCount 0', () => {
    expect(backupDeployment(backupSettings('nightly', { ...spec, agentCount: 0 }), 'uid-1')).toBeUndefined()
  })
})
