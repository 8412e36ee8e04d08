// The kind FoundationDBBackup: a backup of a database to a blob store, and its agents. Wire format: spec/foundationdb.md 1.5.

import {
  anyMap,
  conditionsField,
  defineKind,
  type Field,
  flag,
  int64,
  integer,
  type ObjectOf,
  oneOf,
  path,
  record,
  required,
  text,
  timestamp,
  type ValueOf,
} from '../../kit/index.ts'
import {
  blobStoreField,
  containerField,
  customParametersField,
  imageTypeField,
  VERSION_PATTERN,
} from '../container-schema.ts'
import { BACKUP_GENERATIONS, BACKUP_KIND, type BackupGeneration, GROUP, VERSION } from '../contract.ts'

const specField = record(
  'The desired backup.',
  {
    version: required(text('The version of FoundationDB, such as 7.1.26.', { pattern: VERSION_PATTERN })),
    clusterName: required(text('The FoundationDBCluster, in the same namespace.', { minLength: 1, maxLength: 253 })),
    dataCenter: text('The locality dcid of the agents.', { maxLength: 100 }),
    backupState: oneOf('Whether the backup runs; default: Running.', ['Running', 'Stopped', 'Paused']),
    agentCount: integer('The number of agents; default: 2.', { minimum: 0, maximum: 10000 }),
    snapshotPeriodSeconds: integer('The time between snapshots, in seconds; default: 864000.', { minimum: 1 }),
    backupDeploymentMetadata: anyMap('Labels and annotations of the Deployment of the agents.'),
    podTemplateSpec: anyMap('The Pods of the agents: metadata and spec, which the controller completes.'),
    podTemplate: anyMap('Alias of podTemplateSpec.'),
    customParameters: customParametersField,
    allowTagOverride: flag('Deprecated; has no effect.'),
    blobStoreConfiguration: blobStoreField,
    encryptionKeyPath: text('The file with the encryption key, in the containers.', { maxLength: 4096 }),
    mainContainer: containerField('The container of the agent.'),
    sidecarContainer: containerField('The init container.'),
    imageType: imageTypeField,
    backupType: oneOf('The mutation log, or unmanaged: only agents run; default: backup_agent.', [
      ...(['backup_agent', 'partitioned_log', 'unmanaged'] as const),
    ]),
    deletionPolicy: oneOf(
      'On deletion of the object: noop keeps the backup running, stop ends it, cleanup also deletes its data; default: noop.',
      ['noop', 'stop', 'cleanup'],
    ),
    backupMode: oneOf('Whether the backup ends when it can be restored; default: continuous.', [
      ...(['continuous', 'oneTime'] as const),
    ]),
    tag: text('The tag of the backup in the database; default: default.', { minLength: 1, maxLength: 64 }),
    // Names of earlier versions.
    accountName: text('Alias of blobStoreConfiguration.accountName.', { maxLength: 100 }),
    backupName: text('Alias of blobStoreConfiguration.backupName.', { maxLength: 1024 }),
    bucket: text('Alias of blobStoreConfiguration.bucket.', { minLength: 3, maxLength: 63 }),
  },
  {
    rules: [
      {
        rule: 'has(self.blobStoreConfiguration) != has(self.accountName)',
        message: 'expected blobStoreConfiguration, or its alias accountName',
        fieldPath: '.blobStoreConfiguration',
      },
      {
        rule: "(has(self.tag) ? self.tag : 'default') == (has(oldSelf.tag) ? oldSelf.tag : 'default')",
        message: 'expected the tag of the creation; create another FoundationDBBackup',
        fieldPath: '.tag',
      },
    ],
  },
)

const generationFields = Object.fromEntries(
  BACKUP_GENERATIONS.map((name) => [name, int64(`The generation that waits for this: ${name}; absent: none.`)]),
) as Readonly<Record<BackupGeneration, Field<number>>>

const statusField = record('The observed backup.', {
  agentCount: integer('The number of agents that are ready and up to date.'),
  deploymentConfigured: flag('Whether the Deployment is up to date.'),
  backupDetails: record('The backup, as the database reports it.', {
    url: text('The URL of the backup.'),
    running: flag('Whether the backup runs.'),
    paused: flag('Whether all agents are paused.'),
    snapshotTime: integer('The time between snapshots, in seconds.'),
    restorable: flag('Whether the backup can be restored.'),
    lastRestorableVersion: int64('The version of the latest restorable point.'),
    lastRestorableVersionUpdateTime: timestamp('When the controller observed that lastRestorableVersion changed.'),
    tag: text('The tag of the backup.'),
  }),
  generations: record('The generation that the backup has reached, and the generations that wait for something.', {
    reconciled: int64('The last generation that is complete.'),
    ...generationFields,
  }),
  conditions: conditionsField,
})

export type BackupSpec = ValueOf<typeof specField>
export type BackupStatus = ValueOf<typeof statusField>

export const backupKind = defineKind({
  group: GROUP,
  version: VERSION,
  kind: BACKUP_KIND,
  plural: 'foundationdbbackups',
  singular: 'foundationdbbackup',
  shortNames: ['fdbbackup'],
  statusSubresource: true,
  printerColumns: [
    { name: 'Generation', type: 'integer', jsonPath: '.metadata.generation' },
    { name: 'Reconciled', type: 'integer', jsonPath: '.status.generations.reconciled' },
    { name: 'Restorable', type: 'boolean', jsonPath: '.status.backupDetails.restorable' },
    { name: 'Tag', type: 'string', jsonPath: '.status.backupDetails.tag' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'A FoundationDBBackup is a backup of a database to a blob store.',
  schema: { spec: required(specField), status: statusField },
  projection: [path('metadata.creationTimestamp'), path('status.generations')],
  hashed: [path('spec')],
  workerVerbs: [],
})

export type FoundationDBBackup = ObjectOf<typeof backupKind>
