import { describe, expect, it } from 'vitest'

import { problemText } from '../../../../../workflows/kit/index.ts'
import { backupProblems } from '../../../../../workflows/foundationdb/backup/rules/spec.ts'

function problemsOf(spec: object, name = 'nightly'): readonly string[] {
  const object = { metadata: { name }, spec: { version: '7.1.67', clusterName: 'db', ...spec } }
  return backupProblems(object).map(problemText)
}

const store = (blobStoreConfiguration: object) => ({ blobStoreConfiguration })

describe('a FoundationDBBackup', () => {
  it.each<[object]>([
    [store({ accountName: 'account@object-store.example' })],
    [
      store({
        accountName: 'minio@minio-service:9000',
        bucket: 'fdb-backups',
        urlParameters: ['secure_connection=0', 'region=eu-1'],
      }),
    ],
    [
      {
        accountName: 'a@[::1]:80',
        backupName: 'prod/db.1',
        customParameters: ['knob_http_verbose_level=1'],
        tag: 'tag-1',
      },
    ],
    [store({ accountName: 'host.example' })],
  ])('with %j is valid', (spec) => {
    expect(problemsOf(spec)).toEqual([])
  })

  it.each<[object, string, string?]>([
    [{}, 'metadata.name: found "' + 'a'.repeat(50) + '"; expected at most 49 characters', 'a'.repeat(50)],
    [
      store({ accountName: 'key:secret@host' }),
      'spec.blobStoreConfiguration.accountName: found "key:secret@host"; expected account@host or account@host:port without a secret',
    ],
    [store({ accountName: '-d@host' }), 'accountName'],
    [store({ accountName: 'a@host/x?y' }), 'accountName'],
    [store({ accountName: 'a@h', backupName: '../other' }), 'spec.blobStoreConfiguration.backupName'],
    [store({ accountName: 'a@h', backupName: 'x?bucket=other' }), 'backupName'],
    [store({ accountName: 'a@h', bucket: 'a&header=x' }), 'spec.blobStoreConfiguration.bucket'],
    [
      store({ accountName: 'a@h', urlParameters: ['bucket=other'] }),
      'urlParameters[0]: found "bucket=other"; expected name=value',
    ],
    [store({ accountName: 'a@h', urlParameters: ['a=b&c=d'] }), 'urlParameters[0]'],
    [{ accountName: 'a b' }, 'spec.accountName'],
    [{ clusterName: '../db' }, 'spec.clusterName: found "../db"; expected a DNS name'],
    [{ tag: '-t' }, 'spec.tag: found "-t"'],
    [
      { encryptionKeyPath: '/keys/../etc/passwd' },
      'spec.encryptionKeyPath: found "/keys/../etc/passwd"; expected an absolute path without ".."',
    ],
    [{ encryptionKeyPath: 'keys' }, 'spec.encryptionKeyPath'],
    [{ customParameters: ['cluster_file=/x'] }, 'spec.customParameters[0]: found "cluster_file=/x"; expected a knob'],
    [{ podTemplateSpec: { spec: { hostNetwork: true } } }, 'spec.podTemplateSpec.spec.hostNetwork'],
    [{ podTemplate: { metadata: { namespace: 'x' } } }, 'spec.podTemplate.metadata.namespace'],
    [{ backupDeploymentMetadata: { namespace: 'x' } }, 'spec.backupDeploymentMetadata.namespace'],
    [{ dataCenter: '--x' }, 'spec.dataCenter'],
    [{ version: '5.0.0' }, 'spec.version'],
  ])('with %j is rejected: %s', (spec, expected, name) => {
    expect(problemsOf(spec, name).join('\n')).toContain(expected)
  })
})
