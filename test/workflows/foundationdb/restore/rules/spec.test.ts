import { describe, expect, it } from 'vitest'

import { problemText } from '../../../../../workflows/kit/index.ts'
import { restoreProblems } from '../../../../../workflows/foundationdb/restore/rules/spec.ts'

const problemsOf = (spec: object): readonly string[] =>
  restoreProblems({ metadata: { name: 'restore' }, spec: { destinationClusterName: 'db', ...spec } }).map(problemText)

describe('a FoundationDBRestore', () => {
  it.each<[object]>([
    [{ blobStoreConfiguration: { accountName: 'account@s3.example' } }],
    [{ backupURL: 'blobstore://account@s3.example:443/sample?bucket=fdb-backups&secure_connection=0' }],
    [{ backupURL: 'blobstore://s3.example/sample' }],
    [
      {
        keyRanges: [
          { start: '/', end: '0' },
          { start: String.raw`\x00`, end: String.raw`\xff` },
        ],
      },
    ],
  ])('with %j is valid', (spec) => {
    expect(problemsOf(spec)).toEqual([])
  })

  it.each<[object, string]>([
    [
      { backupURL: 'file:///etc' },
      'spec.backupURL: found "file://…/etc"; expected a URL such as blobstore://account@host:443/name',
    ],
    [{ backupURL: 'blobstore://key:secret@host/name' }, 'found "blobstore://…/name"'],
    [{ backupURL: 'blobstore://host/a b' }, 'spec.backupURL'],
    [{ backupURL: 'blobstore://host/a?bucket=x&y' }, 'spec.backupURL'],
    [{ backupURL: '--x' }, 'spec.backupURL'],
    [{ keyRanges: [{ start: '-a', end: 'b' }] }, 'spec.keyRanges[0].start: found "-a"'],
    [{ keyRanges: [{ start: 'a', end: 'b;c' }] }, 'spec.keyRanges[0].end'],
    [{ destinationClusterName: 'a/b' }, 'spec.destinationClusterName'],
    [{ customParameters: ['dest_cluster_file=/x'] }, 'spec.customParameters[0]'],
    [{ encryptionKeyPath: '/a/./b' }, 'spec.encryptionKeyPath'],
  ])('with %j is rejected: %s', (spec, expected) => {
    expect(problemsOf(spec).join('\n')).toContain(expected)
  })
})
