// DeployItem: one unit of deployment, processed by the deployer of its type. Wire format: spec/landscaper.md 1.4.

import {
  DELETE_WITHOUT_UNINSTALL_ANNOTATION,
  DEPENDS_ON_ANNOTATION,
  ERROR_COLUMN,
  ITEM_NAME_LABEL,
  MANAGED_BY_LABEL,
  OPERATION_ANNOTATION,
  SKIP_ANNOTATION,
  conditionsField,
  errorField,
  objectReference,
  onDelete,
  targetReference,
  transitionTimes,
  waitingColumn,
} from '../contract.ts'
import {
  annotation,
  defineKind,
  embedded,
  flag,
  int64,
  label,
  list,
  type ObjectOf,
  path,
  record,
  required,
  text,
  timestamp,
} from '../../kit/index.ts'

/** Values of `status.phase`; absent before the first trigger. Source: spec/landscaper.md 2.9. */
export type DeployItemPhase =
  'Init' | 'Progressing' | 'Completing' | 'Succeeded' | 'Failed' | 'InitDelete' | 'Deleting' | 'DeleteFailed'

const spec = record('The deployer, its configuration and the target.', {
  type: required(
    text('The type selects the deployer; it cannot be changed.', {
      rules: [{ rule: 'self == oldSelf', message: 'the type cannot be changed; give the item another name' }],
    }),
  ),
  target: targetReference,
  context: text('Name of the Context in the same namespace; default "default".'),
  config: embedded('The configuration of the deployer; apiVersion and kind select its schema.'),
  timeout: text('Longest duration of one job, such as 1m30s; default 10m.'),
  updateOnChangeOnly: flag('Whether a job on an unchanged spec succeeds without calling the deployer.'),
  onDelete,
})

// observedGeneration is optional, unlike in Landscaper's schema: there, a merge patch that only hands down a job ID passes because Landscaper's client
// always sends the field. Here the patch may come from kubectl, or from a parent that does not own the field.
const status = record('The status that the deployer and the execution controller report.', {
  phase: text('Where the current job stands.'),
  observedGeneration: int64('The generation that the current or last job started from.'),
  conditions: conditionsField,
  lastError: errorField('The last error of the current job.'),
  lastErrors: list('The last errors of the current job, at most five, the newest last.', errorField('An error.')),
  firstError: errorField('The first error of the current job.'),
  lastReconcileTime: timestamp('When a deployer picked the item up.'),
  deployer: record('The deployer that works on the item.', {
    identity: required(text('Identity of the deployer process.')),
    name: required(text('Name of the deployer.')),
    version: required(text('Version of the deployer.')),
  }),
  providerStatus: embedded('The state that the deployer stores about its deployment.'),
  exportRef: objectReference('The Secret with the exports of the item.'),
  jobID: text('The job that the item was triggered for.'),
  jobIDFinished: text('The last job that ended; equal to jobID when the item is idle.'),
  jobIDGenerationTime: timestamp('When the job ID was assigned; the pickup timeout begins then.'),
  deployItemPhase: text('Deprecated and always empty.'),
  transitionTimes,
})

/** The condition with the reason why a user skipped the item. */
export const SKIPPED_CONDITION = 'Skipped'

/** The condition with the user who requested a job for this item. */
export const RETRIED_CONDITION = 'Retried'

/** The condition with the object that is not ready. */
export const RESOURCES_READY_CONDITION = 'ResourcesReady'

export const deployItemKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'DeployItem',
  plural: 'deployitems',
  singular: 'deployitem',
  shortNames: ['di'],
  statusSubresource: true,
  printerColumns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'ExportRef', type: 'string', jsonPath: '.status.exportRef.name' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    waitingColumn('WaitingForResources'),
    ERROR_COLUMN,
  ],
  description: 'A DeployItem is one unit of deployment, processed by the deployer that serves its type.',
  schema: { spec: required(spec), status },
  projection: [
    label(MANAGED_BY_LABEL),
    label(ITEM_NAME_LABEL),
    annotation(OPERATION_ANNOTATION),
    annotation(DELETE_WITHOUT_UNINSTALL_ANNOTATION),
    annotation(DEPENDS_ON_ANNOTATION),
    annotation(SKIP_ANNOTATION),
    path('spec.type'),
    path('spec.timeout'),
    path('status.phase'),
    path('status.jobID'),
    path('status.jobIDFinished'),
    path('status.observedGeneration'),
    path('status.lastReconcileTime'),
    path('status.jobIDGenerationTime'),
    path('status.exportRef'),
  ],
  workerVerbs: ['get', 'list', 'create', 'patch', 'delete'],
})

export type DeployItem = ObjectOf<typeof deployItemKind>
