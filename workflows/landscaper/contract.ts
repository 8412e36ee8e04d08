// Names and schema parts that all kinds of the group share; users, deployers and other controllers rely on them.
// Wire format: spec/landscaper.md 1.1, 1.13.

import {
  annotation,
  type ConditionChange,
  type ErrorReport,
  type Field,
  flag,
  int64,
  label,
  list,
  path,
  type PrinterColumn,
  record,
  required,
  text,
  timestamp,
  type ValueOf,
} from '../kit/index.ts'

/** The name of the controller of DeployItems. It is part of workflow IDs. */
export const DEPLOY_CONTROLLER = 'deploy'

/** The finalizer of Installation, Execution, DeployItem and TargetSync. */
export const FINALIZER = 'finalizer.landscaper.gardener.cloud'

/**
 * Kubernetes' finalizer of a deletion with `--cascade=orphan`: the garbage collector removes the owner references of the children, then this finalizer.
 * Source: k8s.io/apimachinery, FinalizerOrphanDependents.
 */
export const ORPHAN_FINALIZER = 'orphan'

/** On Targets that DeployItems need, and on the Secrets that those Targets reference: keeps them until the last of these items is uninstalled. */
export const IN_USE_FINALIZER = 'landscaper.gardener.cloud/pawl-in-use'
/** On such a Target: the name of the Secret that has the finalizer because of this Target. */
export const HELD_SECRET_ANNOTATION = 'landscaper.gardener.cloud/pawl-held-secret'

/** `ok` on Targets and Secrets that a TargetSync created. */
export const TARGET_SYNC_LABEL = 'landscaper.gardener.cloud/targetsync'
/** On such a Target: the time of the last write of its credentials. */
export const LAST_TARGET_SYNC_ANNOTATION = 'landscaper.gardener.cloud/lasttargetsync'
/** On such a Target: the expiry time of the issued credentials. */
export const CREDENTIALS_UNTIL_ANNOTATION = 'landscaper.gardener.cloud/pawl-credentials-until'
/** On an item that may be deleted without uninstalling: the Shoot of its Target. Source: spec/landscaper.md 1.13. */
export const CLUSTER_NAME_ANNOTATION = 'landscaper.gardener.cloud/clustername'
/** On a TargetSync: requests a new token. */
export const ROTATE_TOKEN_ANNOTATION = 'landscaper.gardener.cloud/rotate-token'

export const OPERATION_ANNOTATION = 'landscaper.gardener.cloud/operation'
export const DELETE_WITHOUT_UNINSTALL_ANNOTATION = 'landscaper.gardener.cloud/delete-without-uninstall'
/** Comma-separated names of the items on which an item depends. */
export const DEPENDS_ON_ANNOTATION = 'execution.landscaper.gardener.cloud/dependsOn'
/** The name of the Execution that an item belongs to. */
export const MANAGED_BY_LABEL = 'execution.landscaper.gardener.cloud/managed-by'
/** The name of an item within its Execution. */
export const ITEM_NAME_LABEL = 'execution.landscaper.gardener.cloud/name'

/** `true`: a change of the spec starts a job. */
export const RECONCILE_IF_CHANGED_ANNOTATION = 'landscaper.gardener.cloud/reconcile-if-changed'
export const RECONCILE_REASON_ANNOTATION = 'landscaper.gardener.cloud/reconcile-reason'
export const DELETE_IGNORE_SUCCESSORS_ANNOTATION = 'landscaper.gardener.cloud/delete-ignore-successors'
/** `true`: no job starts; a running job continues to its end. Source: spec/landscaper.md 1.13 and decision 16 of appendix B. */
export const IGNORE_ANNOTATION = 'landscaper.gardener.cloud/ignore'
/** On a sub-installation: the name of its parent. */
export const ENCOMPASSED_BY_LABEL = 'landscaper.gardener.cloud/encompassed-by'
/** On a sub-installation: the name of its template. */
export const SUBINSTALLATION_NAME_ANNOTATION = 'landscaper.gardener.cloud/subinstallation-name'
/** On a sub-installation, written by its parent: the root's name and the template names down to its own, separated by `/`. */
export const PATH_ANNOTATION = 'landscaper.gardener.cloud/pawl-path'
/** Copied to sub-installations, Executions and items. */
export const CACHE_HELM_CHARTS_ANNOTATION = 'landscaper.gardener.cloud/cache-helm-charts'
/** Pawl adds or removes the annotation to cause an event. */
export const TOUCH_ANNOTATION = 'landscaper.gardener.cloud/touch'

/**
 * On an Execution, written by its Installation: the Installation's generation and, with imports, the hash of the imports from which the items were
 * rendered.
 * A resumed job continues with these items and reports the imports that they were rendered from.
 */
export const RENDERED_FROM_ANNOTATION = 'landscaper.gardener.cloud/pawl-rendered-from'

/** Time of the Execution's last write of the item, in whole seconds. A different time alone causes no write. */
export const RECONCILE_TIME_ANNOTATION = 'landscaper.gardener.cloud/reconcile-time'

/**
 * On an Installation or Execution: nothing new starts while the annotation exists; running work continues to its end. The value is the reason; empty
 * or `false` means no pause. Source: spec/engine.md 6, rank 7.
 */
export const PAUSED_ANNOTATION = 'landscaper.gardener.cloud/pawl-paused'

/**
 * On an item of an Execution: dependents treat the item as succeeded without a deployment, until its spec is written again. The value is the reason;
 * empty or `false` means not skipped. Source: spec/engine.md 6, rank 7.
 */
export const SKIP_ANNOTATION = 'landscaper.gardener.cloud/pawl-skip'

/** Written by the command line: the last request, its user and its reason. No decision reads it. */
export const ASKED_ANNOTATION = 'landscaper.gardener.cloud/pawl-asked'

/** Written by the webhook: the user who set each of these annotations (steered-by.ts). The webhook overwrites values that clients write. */
export const STEERED_BY_ANNOTATION = 'landscaper.gardener.cloud/pawl-steered-by'

/** The operation that requests a job for one item. */
export const RETRY_OPERATION = 'retry'

const INTERRUPT = { [OPERATION_ANNOTATION]: 'interrupt' }

const PAUSING = { annotation: PAUSED_ANNOTATION, statusPath: path('status.paused') } as const

/** How the command line steers the kinds that have jobs (`JobModeController.steering`). */
const STEERED = { finalizer: FINALIZER, auditAnnotation: ASKED_ANNOTATION } as const
export const STEERED_ITEM = {
  ...STEERED,
  retry: { [OPERATION_ANNOTATION]: RETRY_OPERATION },
  skip: SKIP_ANNOTATION,
  nameInParent: label(ITEM_NAME_LABEL),
} as const
export const STEERED_EXECUTION = { ...STEERED, interrupt: INTERRUPT, pause: PAUSING } as const
export const STEERED_INSTALLATION = {
  ...STEERED_EXECUTION,
  reconcile: { [OPERATION_ANNOTATION]: 'reconcile' },
  reason: RECONCILE_REASON_ANNOTATION,
  orphan: { [DELETE_WITHOUT_UNINSTALL_ANNOTATION]: 'true' },
  nameInParent: annotation(SUBINSTALLATION_NAME_ANNOTATION),
} as const

const DATA = 'data.landscaper.gardener.cloud/'

/** The scope of the object: absent for the scope of roots, else `Inst.<name>` or `Exec.<name>`. */
export const CONTEXT_LABEL = `${DATA}context`
/** The name of the import or export. */
export const KEY_LABEL = `${DATA}key`
/** `import` or `export`. */
export const SOURCE_TYPE_LABEL = `${DATA}sourceType`
/** The producer: `Inst.<name>` or `Exec.<name>`. */
export const SOURCE_LABEL = `${DATA}source`
/** The job that wrote it. */
export const JOB_ID_LABEL = `${DATA}jobid`
/** On a Target of an imported list: its position, from 0. */
export const INDEX_LABEL = `${DATA}index`
/** On a Target of an imported map: its key. */
export const TARGET_MAP_KEY_LABEL = `${DATA}targetmapkey`

/** On the copy of an imported value: its source, such as `ConfigMap/sizes/cpu`. */
export const VALUE_SOURCE_ANNOTATION = `${DATA}pawl-source`
/** On a changed copy: the previous value and the job that wrote it, as JSON; only if both values are from ConfigMaps. */
export const PREVIOUS_VALUE_ANNOTATION = `${DATA}pawl-previous`

/** The labels by which Pawl selects data; part of the projection of DataObject, Target and Context. */
export const DATA_LABELS = [CONTEXT_LABEL, KEY_LABEL, SOURCE_TYPE_LABEL, SOURCE_LABEL, JOB_ID_LABEL].map(label)

/** A reference by name; a namespace in it must be the object's own. */
export function objectReference(description: string) {
  return record(description, {
    name: required(text('Name of the object.')),
    namespace: text('Namespace of the object; must be that of the referring object.'),
  })
}

// The webhook also requires the namespace. The schema does not, because an absent namespace means the object's own.
export const targetReference = record('The target to deploy to; optional for some types.', {
  name: required(text('Name of the object.')),
  namespace: text('Namespace of the object; must be that of the referring object.'),
})

/** The times at which a job reached its stages. */
export const transitionTimes = record('When the current job reached its stages.', {
  triggerTime: timestamp('When the job was triggered.'),
  initTime: timestamp('When the job entered its first phase.'),
  waitTime: timestamp('When the job began to wait for its children.'),
  finishedTime: timestamp('When the job ended.'),
})

/** Options for the uninstallation of an item when the item is deleted. */
export const onDelete = record('What to do when the item is deleted.', {
  skipUninstallIfClusterRemoved: flag('Whether to skip the uninstallation when the target cluster is gone.'),
})

// Conditions and last errors. Source: spec/landscaper.md 1.1 "Shared structures".
//
//   C1. A condition's lastTransitionTime moves only when its status changes.
//   C2. An error's lastTransitionTime moves only when its operation changes, its lastUpdateTime on every write.
//   C3. Decisions are made on phase and lastError, never on conditions.

const TRANSITION = 'When the status last changed.'

const conditionRecord = record('A condition of the object.', {
  type: required(text('The type of the condition.')),
  status: required(text('True, False, Unknown or Progressing.')),
  observedGeneration: int64('The generation of the object that the condition describes.'),
  lastTransitionTime: required(timestamp(TRANSITION)),
  lastUpdateTime: required(timestamp('When the condition was last written.')),
  reason: required(text('The reason, in one CamelCase word.')),
  message: required(text('The reason, in a sentence.')),
  codes: list('Error codes that led to this condition.', text('An error code, such as ERR_TIMEOUT.')),
})

const lastErrorFields = {
  operation: required(text('The operation that failed.')),
  lastTransitionTime: required(timestamp('When this operation first failed.')),
  lastUpdateTime: required(timestamp('When the error was last written.')),
  reason: required(text('The reason, in one CamelCase word.')),
  message: required(text('The reason, in a sentence.')),
  codes: list('Codes of the error and of its causes.', text('An error code, such as ERR_TIMEOUT.')),
} as const

export type Condition = ValueOf<typeof conditionRecord>

/** The field `conditions` of a status. */
export const conditionsField: Field<readonly Condition[]> = list('The conditions of the object.', conditionRecord)

/** A field that holds an error: `lastError`, `firstError`, or an item of `lastErrors`. */
export function errorField(description: string) {
  return record(description, lastErrorFields)
}

export type LastError = ValueOf<ReturnType<typeof errorField>>

/** Sets one condition (C1). The others keep their order; a new condition is appended. */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  change: ConditionChange,
  now: string,
): readonly Condition[] {
  const before = conditions?.find(({ type }) => type === change.type)
  const moved = before === undefined || before.status !== change.status
  const after: Condition = {
    ...change,
    lastTransitionTime: moved ? now : before.lastTransitionTime,
    lastUpdateTime: now,
  }
  if (before === undefined) return [...(conditions ?? []), after]
  return (conditions ?? []).map((condition) => (condition === before ? after : condition))
}

/** The error to write after a previous error (C2). */
export function nextError(before: LastError | undefined, report: ErrorReport, now: string): LastError {
  const moved = before === undefined || before.operation !== report.operation
  return { ...report, lastTransitionTime: moved ? now : before.lastTransitionTime, lastUpdateTime: now }
}

/** Why the last job failed, for `kubectl get -o wide`: the first line of the message. */
export const ERROR_COLUMN: PrinterColumn = {
  name: 'Error',
  type: 'string',
  jsonPath: '.status.lastError.message',
  priority: 1,
}

/** The reason for waiting, for `kubectl get -o wide`: the message of the condition with this reason. */
export function waitingColumn(reason: string): PrinterColumn {
  const jsonPath = `.status.conditions[?(@.reason=="${reason}")].message`
  return { name: 'Waiting', type: 'string', jsonPath, priority: 1 }
}
