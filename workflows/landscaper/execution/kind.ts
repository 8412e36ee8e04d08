// Execution: a graph of deploy items that run as one job. Wire format: spec/landscaper.md 1.3.

import {
  DELETE_WITHOUT_UNINSTALL_ANNOTATION,
  ERROR_COLUMN,
  OPERATION_ANNOTATION,
  RENDERED_FROM_ANNOTATION,
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
  bytes,
  defineKind,
  embedded,
  flag,
  int64,
  list,
  mapOf,
  type ObjectOf,
  path,
  record,
  required,
  text,
  timestamp,
  type ValueOf,
} from '../../kit/index.ts'
import { PAUSE_PATHS, pausedField } from '../pause.ts'

const deployItemTemplate = record('One item to deploy.', {
  name: required(text('Name of the item, unique in the list.')),
  type: required(text('The type selects the deployer.')),
  config: required(embedded('The configuration of the deployer; apiVersion and kind select its schema.')),
  target: targetReference,
  labels: mapOf('Labels for the deploy item.', text('The value of the label.')),
  dependsOn: list('The items that must succeed before this one starts.', text('The name of an item.')),
  timeout: text('Longest duration of one job, such as 1m30s; default 10m.'),
  updateOnChangeOnly: flag('Whether a job on an unchanged spec succeeds without calling the deployer.'),
  onDelete,
})

/** An entry of `spec.deployItems`, and of the list inside `spec.deployItemsCompressed`. */
export type DeployItemTemplate = ValueOf<typeof deployItemTemplate>

const childNames = record('The deploy item object of each item.', {
  specName: text('Name of the item in the spec.'),
  objectName: text('Name of the deploy item object.'),
})

const spec = record('The items and their order.', {
  context: text('Name of the Context in the same namespace.'),
  deployItems: list('The items to deploy.', deployItemTemplate),
  deployItemsCompressed: bytes('The same list as gzipped JSON; either form is read.'),
})

const status = record('Where the current job stands.', {
  observedGeneration: int64('The generation that the current or last job started from.'),
  conditions: conditionsField,
  lastError: errorField('The last error of the current job.'),
  phase: text('The phase of the current job.'),
  phaseTransitionTime: timestamp('When the phase last changed.'),
  jobID: text('The job that the execution was triggered for.'),
  jobIDFinished: text('The last job that ended; equal to jobID when the execution is idle.'),
  exportRef: objectReference('The DataObject that holds the exports of all items.'),
  deployItemCache: record('The names of the deploy items.', {
    activeDIs: list('Items of the current spec.', childNames),
    orphanedDIs: list('Items that the spec no longer has.', text('Name of a deploy item object.')),
  }),
  transitionTimes,
  paused: pausedField,
})

/** The condition that names the items that wait for deployers outside of this run. */
export const DEPLOYERS_CONDITION = 'DeployItemsFinished'

export const executionKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'Execution',
  plural: 'executions',
  singular: 'execution',
  shortNames: ['exec'],
  statusSubresource: true,
  printerColumns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'ExportRef', type: 'string', jsonPath: '.status.exportRef.name' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    waitingColumn('WaitingForDeployers'),
    ERROR_COLUMN,
  ],
  description: 'An Execution runs a graph of deploy items; it is normally written by an Installation.',
  schema: { spec: required(spec), status },
  projection: [
    annotation(OPERATION_ANNOTATION),
    annotation(DELETE_WITHOUT_UNINSTALL_ANNOTATION),
    annotation(RENDERED_FROM_ANNOTATION),
    ...PAUSE_PATHS,
    path('status.phase'),
    path('status.jobID'),
    path('status.jobIDFinished'),
    path('status.observedGeneration'),
    path('status.exportRef'),
  ],
  workerVerbs: ['get', 'list', 'create', 'patch', 'delete'],
})

export type Execution = ObjectOf<typeof executionKind>
