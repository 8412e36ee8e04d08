// What the kinds of the group have in common: names that users, deployers and other controllers rely on, and the parts of their schemas.
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

/** The finalizer of Installation, Execution, DeployItem and TargetSync. */
export const FINALIZER = 'finalizer.landscaper.gardener.cloud'

/**
 * Kubernetes' finalizer of a deletion with `--cascade=orphan`: the garbage collector removes the owner references of the children, then this finalizer.
 * Source: k8s.io/apimachinery, FinalizerOrphanDependents.
 */
export const ORPHAN_FINALIZER = 'orphan'

/** On Targets that DeployItems need, and on the Secrets that those Targets reference: they stay until the last of these items is uninstalled. */
export const IN_USE_FINALIZER = 'landscaper.gardener.cloud/pawl-in-use'
/** On such a Target: the name of the Secret that has the finalizer because of it. */
export const HELD_SECRET_ANNOTATION = 'landscaper.gardener.cloud/pawl-held-secret'

/** `ok` on Targets and Secrets that a TargetSync has made. */
export const TARGET_SYNC_LABEL = 'landscaper.gardener.cloud/targetsync'
/** On such a Target: when its credentials were written last. */
export const LAST_TARGET_SYNC_ANNOTATION = 'landscaper.gardener.cloud/lasttargetsync'
/** Beside it: until when those that were issued are valid. */
export const CREDENTIALS_UNTIL_ANNOTATION = 'landscaper.gardener.cloud/pawl-credentials-until'
/** On an item that may go without uninstalling: the Shoot that its Target leads to. Source: spec/landscaper.md 1.13. */
export const CLUSTER_NAME_ANNOTATION = 'landscaper.gardener.cloud/clustername'
/** On a TargetSync: its token is renewed now. */
export const ROTATE_TOKEN_ANNOTATION = 'landscaper.gardener.cloud/rotate-token'

export const OPERATION_ANNOTATION = 'landscaper.gardener.cloud/operation'
export const DELETE_WITHOUT_UNINSTALL_ANNOTATION = 'landscaper.gardener.cloud/delete-without-uninstall'
/** Comma-separated names of the items that an item waits for. */
export const DEPENDS_ON_ANNOTATION = 'execution.landscaper.gardener.cloud/dependsOn'
/** The name of the Execution that an item belongs to. */
export const MANAGED_BY_LABEL = 'execution.landscaper.gardener.cloud/managed-by'
/** The name of an item within its Execution. */
export const ITEM_NAME_LABEL = 'execution.landscaper.gardener.cloud/name'

/** `true`: a change of the spec starts a job. */
export const RECONCILE_IF_CHANGED_ANNOTATION = 'landscaper.gardener.cloud/reconcile-if-changed'
export const RECONCILE_REASON_ANNOTATION = 'landscaper.gardener.cloud/reconcile-reason'
export const DELETE_IGNORE_SUCCESSORS_ANNOTATION = 'landscaper.gardener.cloud/delete-ignore-successors'
/** `true`: no job starts; one that runs goes on to its end. Source: spec/landscaper.md 1.13 and decision 16 of appendix B. */
export const IGNORE_ANNOTATION = 'landscaper.gardener.cloud/ignore'
/** The name of the Installation whose sub-installation it is. */
export const ENCOMPASSED_BY_LABEL = 'landscaper.gardener.cloud/encompassed-by'
/** The name of the template that a sub-installation was made of. */
export const SUBINSTALLATION_NAME_ANNOTATION = 'landscaper.gardener.cloud/subinstallation-name'
/** On a sub-installation, by its parent: the root's name, then the templates' down to its own, with `/` between them. */
export const PATH_ANNOTATION = 'landscaper.gardener.cloud/pawl-path'
/** Handed down to sub-installations, Executions and items. */
export const CACHE_HELM_CHARTS_ANNOTATION = 'landscaper.gardener.cloud/cache-helm-charts'
/** Its presence is toggled to raise an event. */
export const TOUCH_ANNOTATION = 'landscaper.gardener.cloud/touch'

/**
 * On an Execution, by its Installation: the Installation's generation and, where anything is imported, the hash of the imports that its items were
 * rendered from. A job that is taken up again goes on with those items, and says what they came from.
 */
export const RENDERED_FROM_ANNOTATION = 'landscaper.gardener.cloud/pawl-rendered-from'

/** When the Execution wrote the item last, in whole seconds. It is no reason to write. */
export const RECONCILE_TIME_ANNOTATION = 'landscaper.gardener.cloud/reconcile-time'

/**
 * On an Installation or Execution: nothing of it begins while this stands there, and what has begun goes on to its end. The value is the reason; empty
 * or `false`: nothing is held back. Source: spec/engine.md 6, rank 7.
 */
export const PAUSED_ANNOTATION = 'landscaper.gardener.cloud/pawl-paused'

/**
 * On an item of an Execution: it counts as succeeded for the order, without being deployed, until its spec is written anew. The value is the reason;
 * empty or `false`: it is not skipped. Source: spec/engine.md 6, rank 7.
 */
export const SKIP_ANNOTATION = 'landscaper.gardener.cloud/pawl-skip'

/** By the command line: who asked for what last, and why. Nothing is decided by it. */
export const ASKED_ANNOTATION = 'landscaper.gardener.cloud/pawl-asked'

/** By the webhook: who has set which of these annotations (steered-by.ts). What clients write here is not kept while a webhook answers. */
export const STEERED_BY_ANNOTATION = 'landscaper.gardener.cloud/pawl-steered-by'

/** The operation of an item that asks for a job of its own. */
export const RETRY_OPERATION = 'retry'

const INTERRUPT = { [OPERATION_ANNOTATION]: 'interrupt' }

const PAUSING = { annotation: PAUSED_ANNOTATION, statusPath: path('status.paused') } as const

/** How people steer the kinds that have jobs (`JobModeController.steering`). */
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

/** Whose scope the object is in: absent for a root's, else `Inst.<name>` or `Exec.<name>`. */
export const CONTEXT_LABEL = `${DATA}context`
/** The name of the import or export. */
export const KEY_LABEL = `${DATA}key`
/** `import` or `export`. */
export const SOURCE_TYPE_LABEL = `${DATA}sourceType`
/** Who produced it: `Inst.<name>` or `Exec.<name>`. */
export const SOURCE_LABEL = `${DATA}source`
/** The job that wrote it. */
export const JOB_ID_LABEL = `${DATA}jobid`
/** Of a Target from an imported list: its position, from 0. */
export const INDEX_LABEL = `${DATA}index`
/** Of a Target from an imported map: its key. */
export const TARGET_MAP_KEY_LABEL = `${DATA}targetmapkey`

/** The labels by which data is found; part of the projection of DataObject, Target and Context. */
export const DATA_LABELS = [CONTEXT_LABEL, KEY_LABEL, SOURCE_TYPE_LABEL, SOURCE_LABEL, JOB_ID_LABEL].map(label)

/** A reference by name; the namespace, where given, must be the object's own. */
export function objectReference(description: string) {
  return record(description, {
    name: required(text('Name of the object.')),
    namespace: text('Namespace of the object; must be that of the referring object.'),
  })
}

// The webhook asks for the namespace, too; it is not asked for here, where it means that of the object.
export const targetReference = record('The target to deploy to; some types need none.', {
  name: required(text('Name of the object.')),
  namespace: text('Namespace of the object; must be that of the referring object.'),
})

/** When a job reached its stages. */
export const transitionTimes = record('When the current job reached its stages.', {
  triggerTime: timestamp('When the job was triggered.'),
  initTime: timestamp('When the job entered its first phase.'),
  waitTime: timestamp('When the job began to wait for its children.'),
  finishedTime: timestamp('When the job ended.'),
})

/** What happens to an item's deployment when the item is deleted. */
export const onDelete = record('What to do when the item is deleted.', {
  skipUninstallIfClusterRemoved: flag('Whether to skip the uninstallation when the target cluster is gone.'),
})

// Conditions and last errors. Source: spec/landscaper.md 1.1 "Shared structures".
//
//   C1. A condition's lastTransitionTime moves only when its status changes.
//   C2. An error's lastTransitionTime moves only when its operation changes, its lastUpdateTime on every write.
//   C3. Decisions are made on phase and lastError, never on conditions.

const TRANSITION = 'When the status last changed.'

const conditionRecord = record('One aspect of the object, as last observed.', {
  type: required(text('Name of the aspect.')),
  status: required(text('True, False, Unknown or Progressing.')),
  observedGeneration: int64('The generation of the object that the condition is about; absent as in status.'),
  lastTransitionTime: required(timestamp(TRANSITION)),
  lastUpdateTime: required(timestamp('When the condition was last written.')),
  reason: required(text('Why, in one CamelCase word.')),
  message: required(text('Why, in a sentence for people.')),
  codes: list('Error codes that led to this condition.', text('An error code, such as ERR_TIMEOUT.')),
})

const lastErrorFields = {
  operation: required(text('What was being done.')),
  lastTransitionTime: required(timestamp('When this operation first failed.')),
  lastUpdateTime: required(timestamp('When the error was last written.')),
  reason: required(text('Why, in one CamelCase word.')),
  message: required(text('Why, in a sentence for people.')),
  codes: list('Codes of the error and of what caused it.', text('An error code, such as ERR_TIMEOUT.')),
} as const

export type Condition = ValueOf<typeof conditionRecord>

/** The field `conditions` of a status. */
export const conditionsField: Field<readonly Condition[]> = list('What is known about the object.', conditionRecord)

/** A field that holds an error: `lastError`, `firstError`, or an item of `lastErrors`. */
export function errorField(description: string) {
  return record(description, lastErrorFields)
}

export type LastError = ValueOf<ReturnType<typeof errorField>>

/** The conditions with one of them set (C1); the others keep their places, a new one comes last. */
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

/** The error to write after another one (C2). */
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

/** What the object waits for, for `kubectl get -o wide`: the message of its condition that has this reason. */
export function waitingColumn(reason: string): PrinterColumn {
  const jsonPath = `.status.conditions[?(@.reason=="${reason}")].message`
  return { name: 'Waiting', type: 'string', jsonPath, priority: 1 }
}
