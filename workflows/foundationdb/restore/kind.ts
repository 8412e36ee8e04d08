// The kind FoundationDBRestore: restores a backup into a database. Wire format: spec/foundationdb.md 1.6.

import {
  conditionsField,
  defineKind,
  flag,
  int64,
  list,
  type ObjectOf,
  oneOf,
  path,
  record,
  required,
  text,
  type ValueOf,
} from '../../kit/index.ts'
import { blobStoreField, customParametersField } from '../container-schema.ts'
import { GROUP, RESTORE_KIND, VERSION } from '../contract.ts'

const keyText = (description: string) =>
  required(text(description, { maxLength: 10000, pattern: '^[A-Za-z0-9/\\\\-]+$' }))

const specField = record(
  'The desired restore.',
  {
    destinationClusterName: required(
      text('The FoundationDBCluster that gets the data, in the same namespace.', { minLength: 1, maxLength: 253 }),
    ),
    keyRanges: list(
      'The restored keys; default: all.',
      record('A range of keys.', {
        start: keyText('The first key; other characters as \\xHH.'),
        end: keyText('The key after the range; other characters as \\xHH.'),
      }),
      { maxItems: 1000 },
    ),
    blobStoreConfiguration: blobStoreField,
    customParameters: customParametersField,
    encryptionKeyPath: text('The file with the encryption key, in the containers.', { maxLength: 4096 }),
    backupVersion: int64('The version of the database to restore; default: the last restorable one.', { minimum: 0 }),
    backupURL: text('The URL of the backup; instead of blobStoreConfiguration.', { maxLength: 8192 }),
  },
  {
    rules: [
      {
        rule: 'has(self.blobStoreConfiguration) != has(self.backupURL)',
        message: 'expected blobStoreConfiguration or backupURL',
        fieldPath: '.blobStoreConfiguration',
      },
    ],
  },
)

/** `unitialized` is the spelling of fdbrestore. Source: spec/foundationdb.md 1.6; recording 21. */
export const RESTORE_STATES = [
  ...(['uninitialized', 'unitialized', 'queued', 'starting', 'running', 'completed', 'aborted', 'Unknown'] as const),
] as const

const statusField = record('The observed restore.', {
  running: flag('Whether the restore has been started.'),
  state: oneOf('The state that the database reports.', RESTORE_STATES),
  conditions: conditionsField,
})

export type RestoreSpec = ValueOf<typeof specField>
export type RestoreStatus = ValueOf<typeof statusField>

export const restoreKind = defineKind({
  group: GROUP,
  version: VERSION,
  kind: RESTORE_KIND,
  plural: 'foundationdbrestores',
  singular: 'foundationdbrestore',
  shortNames: ['fdbrestore'],
  statusSubresource: true,
  printerColumns: [
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'A FoundationDBRestore restores a backup into a database.',
  schema: { spec: required(specField), status: statusField },
  projection: [path('metadata.creationTimestamp'), path('status.running'), path('status.state')],
  hashed: [path('spec')],
  workerVerbs: [],
})

export type FoundationDBRestore = ObjectOf<typeof restoreKind>
