// `spec.automationOptions` and `spec.lockOptions`. Wire format: spec/foundationdb.md 1.1; defaults: model/cluster-settings.ts.

import { flag, integer, intOrString, list, oneOf, record, text } from '../../../kit/index.ts'
import { PROCESS_GROUP_CONDITIONS } from '../../contract.ts'

export const DELETION_MODES = ['All', 'Zone', 'ProcessGroup', 'None'] as const
export type DeletionMode = (typeof DELETION_MODES)[number]

export const POD_UPDATE_STRATEGIES = ['ReplaceTransactionSystem', 'Replace', 'Delete'] as const
export type PodUpdateStrategy = (typeof POD_UPDATE_STRATEGIES)[number]

const seconds = (description: string, byDefault: string) =>
  integer(`${description}, in seconds; default: ${byDefault}.`, { minimum: 0 })

/** Fields of the Go operator that change nothing here. */
const IGNORED = 'Ignored; accepted for manifests of the Go operator.'

const replacementsField = record('When failed process groups are replaced.', {
  enabled: flag('Whether failed process groups are replaced; default: false.'),
  faultDomainBasedReplacements: flag('Whether maxConcurrentReplacements counts fault domains; default: false.'),
  failureDetectionTimeSeconds: seconds('How long a process group fails before its replacement', '7200'),
  taintReplacementTimeSeconds: seconds('How long a Node has a taint before its process groups are replaced', '1800'),
  maxConcurrentReplacements: integer('The most replacements at a time; default: 1.', { minimum: 0 }),
  taintReplacementOptions: list(
    'Taints of Nodes whose process groups are replaced.',
    record('A taint.', {
      key: text('The key of the taint, or * for all others.', { maxLength: 256 }),
      durationInSeconds: integer('How long the Node has the taint, in seconds; negative: never.'),
    }),
    { maxItems: 32 },
  ),
  maxFaultDomainsWithTaintedProcessGroups: intOrString(
    'The number or the percentage of fault domains with tainted Nodes up to which process groups are replaced; default: 10%.',
    { minimum: 0, maxLength: 16, pattern: '^[0-9]{1,9}%?$' },
  ),
  conditions: list(
    'The conditions that lead to a replacement; default: MissingProcesses.',
    oneOf('A condition.', PROCESS_GROUP_CONDITIONS),
    { maxItems: 32 },
  ),
})

export const automationOptionsField = record('What the controller does without a user.', {
  configureDatabase: flag('Whether the controller changes the configuration of the database; default: true.'),
  killProcesses: flag('Whether the controller restarts processes; default: true.'),
  replacements: replacementsField,
  ignorePendingPodsDuration: integer(IGNORED, { minimum: 0 }),
  useNonBlockingExcludes: flag(IGNORED),
  useLocalitiesForExclusion: flag('Whether processes are excluded by locality; default: true where the version can.'),
  ignoreTerminatingPodsSeconds: integer(IGNORED, { minimum: 0 }),
  ignoreMissingProcessesSeconds: seconds('How long a missing process may block a restart', '30'),
  failedPodDurationSeconds: seconds('How long a Pod terminates before it counts as failing', '300'),
  maxConcurrentReplacements: integer(
    'The maximum number of misconfigured process groups that are replaced at the same time; default: no limit.',
    { minimum: 0 },
  ),
  deletionMode: oneOf('Which Pods are deleted together for an update; default: Zone.', DELETION_MODES),
  removalMode: oneOf('Which process groups are removed together; default: Zone.', DELETION_MODES),
  waitBetweenRemovalsSeconds: seconds('The pause between removals of zones', '60'),
  podUpdateStrategy: oneOf(
    'Which Pods are replaced for an update, and which are deleted and created again; default: ReplaceTransactionSystem.',
    POD_UPDATE_STRATEGIES,
  ),
  maintenanceModeOptions: record(IGNORED, {
    UseMaintenanceModeChecker: flag(IGNORED),
    resetMaintenanceMode: flag(IGNORED),
    maintenanceModeTimeSeconds: integer(IGNORED, { minimum: 0 }),
  }),
  ignoreLogGroupsForUpgrade: list(
    'Log groups of clients that do not block an upgrade; default: fdb-kubernetes-operator.',
    text('A log group.', { maxLength: 256 }),
    { maxItems: 10 },
  ),
  synchronizationMode: oneOf(IGNORED, ['local', 'global']),
  databaseInteractionMode: oneOf(IGNORED, ['fdbcli', 'managementapi']),
  cacheDatabaseStatusForReconciliation: flag(IGNORED),
  exclusionPolicy: oneOf(
    'When process groups are excluded: strict waits until all others report, budget counts per class; default: strict.',
    ['strict', 'budget'],
  ),
  missingProcessPolicy: oneOf(
    'Whether a restart waits for missing processes, or ignores them after ignoreMissingProcessesSeconds; default: wait.',
    ['wait', 'ignore'],
  ),
  createPodsForRemoval: flag(
    'Whether a process group to remove gets a missing Pod until it is excluded; default: false.',
  ),
  allowPatchDowngrade: flag('Whether a downgrade to an earlier patch version is allowed; default: false.'),
  deletePods: flag('Alias: false means deletionMode None.'),
})

export const lockOptionsField = record('The lock with which controllers of several data centres take turns.', {
  disableLocks: flag('Whether no lock is used; default: a lock is used if the database has several data centres.'),
  lockKeyPrefix: text('The prefix of the keys of the lock.', { maxLength: 200 }),
  lockDurationMinutes: integer('How long the lock is held, in minutes; default: 10.', { minimum: 0 }),
  denyList: list(
    'Controllers that may not take the lock.',
    record('A controller.', {
      id: text('The lock ID: its processGroupIDPrefix.', { maxLength: 100 }),
      allow: flag('Whether the controller is removed from the stored list.'),
    }),
    { maxItems: 100 },
  ),
})
