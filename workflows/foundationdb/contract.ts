// Names of the group that users, pods, sidecars and the Go operator rely on. Wire format: spec/foundationdb.md 1.1 to 1.6, 4.11 to 4.14.

export const GROUP = 'apps.foundationdb.org'
export const VERSION = 'v1beta2'
export const CLUSTER_KIND = 'FoundationDBCluster'
export const BACKUP_KIND = 'FoundationDBBackup'
export const RESTORE_KIND = 'FoundationDBRestore'

/** The sources of Events. Source: spec/foundationdb.md 2.0. */
export const CLUSTER_EVENT_SOURCE = 'foundationdbcluster-controller'
export const BACKUP_EVENT_SOURCE = 'foundationdbbackup-controller'
export const RESTORE_EVENT_SOURCE = 'foundationdbrestore-controller'

/** The finalizer of a FoundationDBBackup whose deletion stops or removes the backup. */
export const BACKUP_FINALIZER = 'foundationdb.org/fdb-kubernetes-operator'

/** Labels of Pods, PersistentVolumeClaims and Services of a cluster. */
export const CLUSTER_LABEL = 'foundationdb.org/fdb-cluster-name'
export const PROCESS_CLASS_LABEL = 'foundationdb.org/fdb-process-class'
export const PROCESS_GROUP_LABEL = 'foundationdb.org/fdb-process-group-id'
/** On a backup's Deployment: the UID of the FoundationDBBackup. */
export const BACKUP_LABEL = 'foundationdb.org/backup-for'
/** On a backup's Deployment and its Pods: the name of the Deployment. */
export const DEPLOYMENT_LABEL = 'foundationdb.org/deployment-name'
/** On a Node: Pods of process groups in `buggify.noSchedule` need the value `true`, which no Node has. */
export const NO_SCHEDULE_LABEL = 'foundationdb.org/no-schedule-allowed'

/** The SHA-256 of the spec with which the object was created. */
export const LAST_SPEC_ANNOTATION = 'foundationdb.org/last-applied-spec'
/** On a Pod: the SHA-256 of the keys of the ConfigMap that the Pod has confirmed. */
export const LAST_CONFIG_MAP_ANNOTATION = 'foundationdb.org/last-applied-config-map'
/** On a Pod whose address is the address of its Service. */
export const PUBLIC_IP_ANNOTATION = 'foundationdb.org/public-ip'
/** On a Pod: `pod` or `service`. */
export const PUBLIC_IP_SOURCE_ANNOTATION = 'foundationdb.org/public-ip-source'
/** On a Pod: `4` or `6`. */
export const IP_FAMILY_ANNOTATION = 'foundationdb.org/ip-family'
/** On a Pod: `split` or `unified`. */
export const IMAGE_TYPE_ANNOTATION = 'foundationdb.org/image-type'
/** On a Pod: the Node on which it runs. */
export const CURRENT_NODE_ANNOTATION = 'foundationdb.org/current-node'
/** On a Pod, set by a user with the value `true`: its process does not run, and its objects are not deleted. */
export const ISOLATE_ANNOTATION = 'foundationdb.org/isolate-process-group'
/** On a Pod: when its ConfigMap was seen to be outdated, in Unix seconds. */
export const OUTDATED_CONFIG_MAP_ANNOTATION = 'foundationdb.org/outdated-config-map-seen'

/** On a Pod with unified images: the configuration that its monitor has, as JSON. */
export const MONITOR_CONFIGURATION_ANNOTATION = 'foundationdb.org/launcher-current-configuration'

/** The containers of a Pod. */
export const MAIN_CONTAINER = 'foundationdb'
export const SIDECAR_CONTAINER = 'foundationdb-kubernetes-sidecar'
export const INIT_CONTAINER = 'foundationdb-kubernetes-init'
/** The port of the sidecar's HTTP API. */
export const SIDECAR_PORT = 8080

/** The fault domain keys with a special meaning. Source: spec/foundationdb.md 1.7, 4.14. */
export const NO_FAULT_DOMAIN = 'foundationdb.org/none'
export const KUBERNETES_CLUSTER_FAULT_DOMAIN = 'foundationdb.org/kubernetes-cluster'
export const DEFAULT_FAULT_DOMAIN = 'kubernetes.io/hostname'

/** The keys of a cluster's ConfigMap that do not depend on a process class. */
export const CLUSTER_FILE_KEY = 'cluster-file'
export const RUNNING_VERSION_KEY = 'running-version'
export const CA_FILE_KEY = 'ca-file'

/** In the order of `spec.processCounts`. Source: spec/foundationdb.md 1.1. */
export const PROCESS_CLASSES = [
  ...(['unset', 'storage', 'transaction', 'resolution', 'tester', 'test', 'proxy', 'commit_proxy'] as const),
  ...(['grv_proxy', 'master', 'stateless', 'log', 'cluster_controller', 'router', 'fast_restore'] as const),
  ...(['data_distributor', 'coordinator', 'ratekeeper', 'storage_cache', 'backup'] as const),
] as const

export type ProcessClass = (typeof PROCESS_CLASSES)[number]

/** The key of `spec.processes` for all classes without their own settings. */
export const GENERAL_CLASS = 'general'

const STATEFUL: ReadonlySet<string> = new Set(['storage', 'log', 'transaction', 'coordinator'])
const LOGS: ReadonlySet<string> = new Set(['log', 'transaction'])

/** Whether process groups of the class have a PersistentVolumeClaim. */
export function isStateful(processClass: string): boolean {
  return STATEFUL.has(processClass)
}

/** Whether processes of the class hold the transaction log. */
export function isLogClass(processClass: string): boolean {
  return LOGS.has(processClass)
}

/** Whether the class belongs to the transaction system. Source: spec/foundationdb.md 1.4. */
export function isTransactionSystem(processClass: string): boolean {
  return processClass !== 'storage' && processClass !== GENERAL_CLASS
}

/** The condition of a status that names the blocked step. */
export const RECONCILED_CONDITION = 'Reconciled'

/** `processGroupConditions[].type`. Source: spec/foundationdb.md 1.3. */
export const PROCESS_GROUP_CONDITIONS = [
  ...(['IncorrectPodSpec', 'IncorrectConfigMap', 'IncorrectCommandLine', 'PodFailing', 'MissingPod'] as const),
  ...(['MissingPVC', 'MissingService', 'MissingProcesses', 'IncorrectPodMetadata', 'ResourcesTerminating'] as const),
  ...(['SidecarUnreachable', 'PodPending', 'NodeTaintDetected', 'NodeTaintReplacing'] as const),
  ...(['ProcessIsMarkedAsExcluded', 'ProcessHasIOError', 'IncorrectSidecarImage'] as const),
  ...(['ProcessHasHighRunLoopBusy', 'Ready'] as const),
] as const

export type ProcessGroupCondition = (typeof PROCESS_GROUP_CONDITIONS)[number]

/** The conditions that a replacement of the process group may end. Source: spec/foundationdb.md 1.3. */
export const FAILURE_CONDITIONS: ReadonlySet<string> = new Set([
  ...(['MissingProcesses', 'PodFailing', 'MissingPod', 'MissingPVC', 'MissingService', 'PodPending'] as const),
  ...(['NodeTaintReplacing', 'ProcessIsMarkedAsExcluded', 'ProcessHasIOError', 'SidecarUnreachable'] as const),
  ...(['ProcessHasHighRunLoopBusy'] as const),
] satisfies readonly ProcessGroupCondition[])

/** Fields of a cluster's `status.generations`, each with the generation that waits. Source: spec/foundationdb.md 1.2. */
export const CLUSTER_GENERATIONS = [
  ...(['needsConfigurationChange', 'needsCoordinatorChange', 'needsBounce', 'needsPodDeletion'] as const),
  ...(['needsShrink', 'needsGrow', 'needsMonitorConfUpdate', 'missingDatabaseStatus', 'hasExtraListeners'] as const),
  ...(['needsServiceUpdate', 'hasPendingRemoval', 'hasUnhealthyProcess', 'needsLockConfigurationChanges'] as const),
  ...(['needsBackupAgentUpdate', 'hasFailingPods'] as const),
] as const

export type ClusterGeneration = (typeof CLUSTER_GENERATIONS)[number]

/** Fields of a backup's `status.generations`. Source: spec/foundationdb.md 1.5. */
export const BACKUP_GENERATIONS = [
  ...(['needsBackupAgentUpdate', 'needsBackupStart', 'needsBackupStop'] as const),
  ...(['needsBackupPauseToggle', 'needsBackupModification'] as const),
] as const

export type BackupGeneration = (typeof BACKUP_GENERATIONS)[number]
