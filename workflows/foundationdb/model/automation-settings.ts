// `spec.automationOptions` with aliases resolved and defaults filled in. Source: spec/foundationdb.md 1.1, 8.3.

import type { ClusterSpec } from '../cluster/kind.ts'

type Options = NonNullable<ClusterSpec['automationOptions']>
type Replacements = NonNullable<Options['replacements']>
/** Fields that change nothing. */
type Ignored =
  | 'ignorePendingPodsDuration'
  | 'useNonBlockingExcludes'
  | 'ignoreTerminatingPodsSeconds'
  | 'maintenanceModeOptions'
  | 'synchronizationMode'
  | 'databaseInteractionMode'
  | 'cacheDatabaseStatusForReconciliation'
type WithoutDefaults = 'useLocalitiesForExclusion' | 'deletePods' | 'replacements' | Ignored

/** Fields have the names of the spec. */
export interface AutomationSettings extends Required<Omit<Options, WithoutDefaults>> {
  /** Undefined: as the version supports it. */
  readonly useLocalitiesForExclusion?: boolean
  readonly replacements: Required<Replacements>
}

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

const DEFAULTS: AutomationSettings = {
  configureDatabase: true,
  killProcesses: true,
  replacements: REPLACEMENT_DEFAULTS,
  ignoreMissingProcessesSeconds: 30,
  failedPodDurationSeconds: 300,
  maxConcurrentReplacements: Infinity,
  deletionMode: 'Zone',
  removalMode: 'Zone',
  waitBetweenRemovalsSeconds: 60,
  podUpdateStrategy: 'ReplaceTransactionSystem',
  ignoreLogGroupsForUpgrade: ['fdb-kubernetes-operator'],
  exclusionPolicy: 'strict',
  missingProcessPolicy: 'wait',
  createPodsForRemoval: false,
  allowPatchDowngrade: false,
}

export function automationSettings({
  automationOptions = {},
  updatePodsByReplacement = false,
}: Pick<ClusterSpec, 'automationOptions' | 'updatePodsByReplacement'>): AutomationSettings {
  const { deletePods, replacements, ...options } = automationOptions
  return {
    ...DEFAULTS,
    // Aliases.
    ...(updatePodsByReplacement && { podUpdateStrategy: 'Replace' as const }),
    ...(deletePods === false && { deletionMode: 'None' as const }),
    ...options,
    replacements: { ...REPLACEMENT_DEFAULTS, ...replacements },
  }
}
