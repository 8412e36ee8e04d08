// Schema of a FoundationDBCluster's status. Wire format: spec/foundationdb.md 1.2.
//
// The status must be computable from Pods, PersistentVolumeClaims, Services and the database, except: process groups
// without objects, marks for removal and exclusion, times of conditions, connectionString and configured.

import {
  conditionsField,
  flag,
  type Field,
  int64,
  integer,
  list,
  record,
  required,
  text,
  timestamp,
  type ValueOf,
} from '../../../kit/index.ts'
import { CLUSTER_GENERATIONS, type ClusterGeneration } from '../../contract.ts'
import { IMAGE_TYPES } from '../../container-schema.ts'
import { databaseConfigurationField } from './database.ts'

const generationFields = Object.fromEntries(
  CLUSTER_GENERATIONS.map((name) => [name, int64(`The generation that waits for this: ${name}; absent: none.`)]),
) as Readonly<Record<ClusterGeneration, Field<number>>>

const processGroupField = record('A process group: a Pod with its volume, Service and processes.', {
  processGroupID: required(text('The ID: prefix, class and number.')),
  processClass: text('The process class.'),
  addresses: list('The addresses of the Pod; the last is current.', text('An address.')),
  removalTimestamp: timestamp('When the process group was marked for removal.'),
  exclusionTimestamp: timestamp('When the exclusion of its processes was complete.'),
  exclusionSkipped: flag('Whether the process group is removed without an exclusion.'),
  remove: flag('Whether removalTimestamp is present.'),
  excluded: flag('Whether exclusionTimestamp is present.'),
  faultDomain: text('The locality zoneid of its processes.'),
  processGroupConditions: list(
    'The problems of the process group.',
    record('A problem.', {
      type: text('The type, such as MissingProcesses.'),
      timestamp: int64('When the problem was first seen, in Unix seconds.'),
    }),
  ),
})

export type ProcessGroupStatus = ValueOf<typeof processGroupField>

export const statusField = record('The observed database.', {
  generations: record('The generation that the cluster has reached, and the generations that wait for something.', {
    reconciled: int64('The last generation that is complete.'),
    ...generationFields,
  }),
  health: record('The health of the database.', {
    available: flag('Whether the database accepts reads and writes.'),
    healthy: flag('Whether the database reports no problems of its data distribution.'),
    fullReplication: flag('Whether all data has its number of copies.'),
    dataMovementPriority: integer('The highest priority of a data movement.'),
  }),
  requiredAddresses: record('The kinds of addresses on which processes listen.', {
    tls: flag('Addresses with TLS.'),
    nonTLS: flag('Addresses without TLS.'),
  }),
  hasIncorrectConfigMap: flag('Whether the ConfigMap is outdated.'),
  hasIncorrectServiceConfig: flag('Whether a Service is missing or not needed.'),
  needsNewCoordinators: flag('Whether the coordinators must change.'),
  runningVersion: text('The version of most processes.'),
  connectionString: text('The connection string of the database.'),
  configured: flag(
    'Whether the database has been configured; false while it is being created, and never false again after that.',
  ),
  hasListenIPsForAllPods: flag('Whether all Pods have the environment variable FDB_POD_IP.'),
  storageServersPerDisk: list('The numbers of storage processes per Pod that are in use.', integer('A number.')),
  logServersPerDisk: list('The numbers of log processes per Pod that are in use.', integer('A number.')),
  imageTypes: list('The image types in use.', text(`${IMAGE_TYPES.join(' or ')}.`)),
  databaseConfiguration: databaseConfigurationField,
  locks: record('The lock.', { lockDenyList: list('The lock IDs that may not take the lock.', text('A lock ID.')) }),
  desiredProcessGroups: integer('The desired number of process groups.'),
  reconciledProcessGroups: integer('The number of process groups without problems.'),
  processGroups: list('The process groups.', processGroupField),
  conditions: conditionsField,
})

export type ClusterStatus = ValueOf<typeof statusField>
export type ProcessGroupConditionStatus = NonNullable<ProcessGroupStatus['processGroupConditions']>[number]
