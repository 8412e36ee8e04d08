// Schema of a FoundationDBCluster's spec. Wire format: spec/foundationdb.md 1.1; aliases for names of earlier versions:
// spec/foundationdb.md 8.3.

import {
  anyMap,
  flag,
  integer,
  list,
  oneOf,
  record,
  required,
  text,
  type ValidationRule,
  type ValueOf,
} from '../../../kit/index.ts'
import { containerField, imageTypeField, VERSION_PATTERN } from '../../container-schema.ts'
import { automationOptionsField, lockOptionsField } from './automation.ts'
import { databaseConfigurationField } from './database.ts'
import {
  buggifyField,
  coordinatorSelectionField,
  faultDomainField,
  labelsField,
  processCountsField,
  processesField,
  processGroupIDs,
  routingField,
} from './processes.ts'

const PREFIX_PATTERN = '^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$'
const prefixText = (description: string) => text(description, { maxLength: 43, pattern: PREFIX_PATTERN })

const database = {
  version: required(text('The version of FoundationDB, such as 7.1.26.', { pattern: VERSION_PATTERN })),
  databaseConfiguration: databaseConfigurationField,
  seedConnectionString: text('The connection string of an existing database that the cluster joins.', {
    maxLength: 10000,
  }),
  partialConnectionString: record('Parts of the connection string of a new database.', {
    databaseName: text('The description; default: the name of the cluster.', {
      maxLength: 100,
      pattern: '^[A-Za-z0-9_]*$',
    }),
    generationID: text('The ID of the coordinator set; default: random.', {
      maxLength: 100,
      pattern: '^[A-Za-z0-9]*$',
    }),
    coordinators: list('The addresses of coordinators.', text('An address.', { maxLength: 300 }), { maxItems: 100 }),
  }),
}

const processes = {
  processes: processesField,
  processCounts: processCountsField,
  processGroupIDPrefix: prefixText(
    'The prefix of IDs of process groups, and the lock ID; different in each Kubernetes cluster of a database.',
  ),
  processGroupsToRemove: processGroupIDs('Process groups to replace.'),
  processGroupsToRemoveWithoutExclusion: processGroupIDs('Process groups to replace without moving their data first.'),
  faultDomain: faultDomainField,
  storageServersPerPod: integer('The number of storage processes in a Pod; default: 1.', { minimum: 0, maximum: 32 }),
  logServersPerPod: integer('The number of log processes in a Pod; default: 1.', { minimum: 0, maximum: 32 }),
  coordinatorSelection: coordinatorSelectionField,
  dataCenter: text('The locality dcid of the processes.', { maxLength: 100 }),
  dataHall: text('The locality data_hall of the processes.', { maxLength: 100 }),
  logGroup: text('The log group of the processes; default: the name of the cluster.', { maxLength: 256 }),
}

const pods = {
  mainContainer: containerField('The container of FoundationDB.'),
  sidecarContainer: containerField('The sidecar, which updates configuration and binaries in the Pod.'),
  imageType: imageTypeField,
  sidecarVariables: list(
    'Further environment variables that the sidecar replaces in files.',
    text('A name.', { maxLength: 200 }),
    {
      maxItems: 100,
    },
  ),
  trustedCAs: list('Certificates of authorities, as PEM.', text('A certificate.', { maxLength: 50000 }), {
    maxItems: 50,
  }),
  routing: routingField,
  useExplicitListenAddress: flag('Whether processes listen on the address of their Pod; default: true.'),
  labels: labelsField,
  configMap: anyMap('Further data and metadata of the ConfigMap.'),
}

const operation = {
  automationOptions: automationOptionsField,
  lockOptions: lockOptionsField,
  minimumUptimeSecondsForBounce: integer('How long processes must run before a restart, in seconds; default: 600.', {
    minimum: 0,
  }),
  replaceInstancesWhenResourcesChange: flag(
    'Whether process groups are replaced when their resource requests grow; default: false.',
  ),
  ignoreUpgradabilityChecks: flag('Whether an upgrade ignores incompatible clients.'),
  maxZonesWithUnavailablePods: integer(
    'The maximum number of zones with unavailable Pods during an update; default: no limit.',
    {
      minimum: 0,
    },
  ),
  skip: flag('Whether the controller ignores the cluster.'),
  buggify: buggifyField,
}

/** Each alias and the field that it sets. Source: spec/foundationdb.md 8.3. */
const aliases = {
  instanceIDPrefix: prefixText('Alias of processGroupIDPrefix.'),
  instancesToRemove: processGroupIDs('Alias of processGroupsToRemove.'),
  instancesToRemoveWithoutExclusion: processGroupIDs('Alias of processGroupsToRemoveWithoutExclusion.'),
  services: record('Alias of routing.', {
    headless: flag('Alias of routing.headlessService.'),
    publicIPSource: oneOf('Alias of routing.publicIPSource.', ['pod', 'service']),
  }),
  updatePodsByReplacement: flag('Alias: true means automationOptions.podUpdateStrategy Replace.'),
}

const ALIASES = [
  ['instanceIDPrefix', 'processGroupIDPrefix'],
  ['instancesToRemove', 'processGroupsToRemove'],
  ['instancesToRemoveWithoutExclusion', 'processGroupsToRemoveWithoutExclusion'],
] as const

const rules: readonly ValidationRule[] = ALIASES.map(([alias, name]) => ({
  rule: `!has(self.${alias}) || !has(self.${name})`,
  message: `expected ${alias} or ${name}, not both`,
  fieldPath: `.${alias}`,
}))

export const specField = record(
  'The desired database.',
  { ...database, ...processes, ...pods, ...operation, ...aliases },
  { rules },
)

export type ClusterSpec = ValueOf<typeof specField>
