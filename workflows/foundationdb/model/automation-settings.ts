// `spec.automationOptions` with aliases resolved and defaults filled in. Source: spec/foundationdb.md 1.1, 8.3.

import type { ClusterSpec } from '../cluster/kind.ts'

type Options = NonNullable<ClusterSpec['automationOptions']>
type Replacements = NonNullable<Options['replacements']>
type Maintenance = NonNullable<Options['maintenanceModeOptions']>
type WithoutDefaults = 'useLocalitiesForExclusion' | 'deletePods' | 'replacements' | 'maintenanceModeOptions'

/** Fields have the names of the spec. */
export interface AutomationSettings extends Required<Omit<Options, WithoutDefaults | 'ignorePendingPodsDuration'>> {
  readonly ignorePendingPodsSeconds: number
  /** Undefined: as the version supports it. */
  readonly useLocalitiesForExclusion?: boolean
  readonly replacements: Required<Replacements>
  readonly maintenanceModeOptions: Required<Maintenance>
}

const NANOSECONDS = 1_000_000_000

const REPLACEMENT_DEFAULTS: Required<Replacements> = {
  enabled: false,
  faultDomainBasedReplacements: false,
  failureDetectionTimeSeconds: 7200,
  taintReplacementTimeSeconds: 1800,
  maxConcurrentReplacements: 1,
  taintReplacementOptions: [],
  maxFaultDomainsWithTaintedProcessGroups: '10%',
  conditions: ['MissingProcesses'],
}

const MAINTENANCE_DEFAULTS: Required<Maintenance> = {
  UseMaintenanceModeChecker: false,
  resetMaintenanceMode: false,
  maintenanceModeTimeSeconds: 600,
}

const DEFAULTS: AutomationSettings = {
  configureDatabase: true,
  killProcesses: true,
  replacements: REPLACEMENT_DEFAULTS,
  ignorePendingPodsSeconds: 300,
  useNonBlockingExcludes: false,
  ignoreTerminatingPodsSeconds: 600,
  ignoreMissingProcessesSeconds: 30,
  failedPodDurationSeconds: 300,
  maxConcurrentReplacements: Infinity,
  deletionMode: 'Zone',
  removalMode: 'Zone',
  waitBetweenRemovalsSeconds: 60,
  podUpdateStrategy: 'ReplaceTransactionSystem',
  maintenanceModeOptions: MAINTENANCE_DEFAULTS,
  ignoreLogGroupsForUpgrade: ['fdb-kubernetes-operator'],
  synchronizationMode: 'local',
  databaseInteractionMode: 'fdbcli',
  cacheDatabaseStatusForReconciliation: true,
  exclusionPolicy: 'strict',
  missingProcessPolicy: 'wait',
  createPodsForRemoval: false,
  allowPatchDowngrade: false,
}

export function automationSettings({
  automationOptions = {},
  updatePodsByReplacement = false,
}: Pick<ClusterSpec, 'automationOptions' | 'updatePodsByReplacement'>): AutomationSettings {
  const {
    deletePods,
    ignorePendingPodsDuration: pending,
    replacements,
    maintenanceModeOptions,
    ...options
  } = automationOptions
  return {
    ...DEFAULTS,
    // Aliases.
    ...(updatePodsByReplacement && { podUpdateStrategy: 'Replace' as const }),
    ...(deletePods === false && { deletionMode: 'None' as const }),
    ...options,
    ...(pending !== undefined && { ignorePendingPodsSeconds: pending / NANOSECONDS }),
    replacements: { ...REPLACEMENT_DEFAULTS, ...replacements },
    maintenanceModeOptions: { ...MAINTENANCE_DEFAULTS, ...maintenanceModeOptions },
  }
}
