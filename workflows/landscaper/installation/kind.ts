// Installation: a blueprint with its imports and exports, the object that users create. Wire format: spec/landscaper.md 1.2.

import {
  DELETE_IGNORE_SUCCESSORS_ANNOTATION,
  DELETE_WITHOUT_UNINSTALL_ANNOTATION,
  ERROR_COLUMN,
  IGNORE_ANNOTATION,
  OPERATION_ANNOTATION,
  RECONCILE_IF_CHANGED_ANNOTATION,
  RECONCILE_REASON_ANNOTATION,
  TOUCH_ANNOTATION,
  conditionsField,
  errorField,
  objectReference,
  transitionTimes,
} from '../contract.ts'
import {
  annotation,
  anyJson,
  anyMap,
  defineKind,
  type Flow,
  flag,
  int64,
  integer,
  list,
  mapOf,
  type ObjectOf,
  ownerOfKind,
  path,
  record,
  required,
  text,
  textAt,
  timestamp,
  valueAt,
} from '../../kit/index.ts'
import { exportedNames, importedNames, readFlow } from '../data-flow.ts'
import { fieldsOf } from '../json-fields.ts'
import { PAUSE_PATHS, pausedField, pauseReason } from '../pause.ts'

// Landscaper's conditions. A job that has not reached the corresponding phase does not have them. Source: spec/landscaper.md 1.14.

/** Whether the imports match the blueprint; written if the spec or the blueprint has imports. */
export const IMPORTS_CONDITION = 'ValidateImports'

/** Whether ComponentVersionOverwrites replaced component references; written if there is a component. */
export const OVERWRITE_CONDITION = 'ComponentReferenceOverwrite'

/** False if copies of the imports could not be written. */
export const COPIES_CONDITION = 'CreateImports'

/** Whether the Execution has the rendered items of the blueprint. */
export const EXECUTION_CONDITION = 'ReconcileExecution'

/** Whether the exports are published; True also when the Installation exports nothing, as in Landscaper. */
export const EXPORTS_CONDITION = 'CreateExports'

/** Whether the sub-installations exist as the blueprint has them; True also when the blueprint has none, as in Landscaper. */
export const SUB_INSTALLATIONS_CONDITION = 'EnsureSubInstallations'

/** Whether a root waits for siblings; written after its first wait. Pawl's own: Landscaper reports the wait in its error. */
export const WAIT_CONDITION = 'WaitsForSiblings'

/** Whether a job waits for the Context of its namespace; written after its first wait. */
export const CONTEXT_WAIT_CONDITION = 'WaitsForContext'

const NAME_OF_IMPORT = 'Name of the import in the blueprint, or of a value that the import mappings use.'
const INTERVAL = 'Time between two jobs, such as 5m.'
const CRON = 'When to start a job, in cron syntax; instead of an interval.'

const componentDescriptor = record('The component version; not needed with an inline blueprint.', {
  ref: record('A component version in a repository; instead of inline.', {
    repositoryContext: anyMap('The repository; defaults to the repository of the Context.'),
    componentName: required(text('Name of the component.')),
    version: required(text('Version of the component.')),
  }),
  inline: anyMap('A component descriptor; instead of ref.'),
})

const blueprint = record('The blueprint to install.', {
  ref: record('A blueprint in the component version; instead of inline.', {
    resourceName: required(text('Name of the resource of type blueprint.')),
  }),
  inline: record('A blueprint in place; instead of ref.', {
    filesystem: required(
      anyJson(
        'Files: nested maps are folders, texts are contents; must hold blueprint.yaml. Or one text with such YAML.',
      ),
    ),
  }),
})

const keyedReference = (description: string, name: string) =>
  record(description, {
    name: required(text(name)),
    key: text('The key; without it the value is a map of all keys.'),
  })

const dataImport = record('A data import: a name and exactly one source.', {
  name: required(text(NAME_OF_IMPORT)),
  dataRef: text('Name of a DataObject.'),
  version: text('Accepted for compatibility; not used.'),
  secretRef: keyedReference('A Secret in the same namespace.', 'Name of the Secret.'),
  configMapRef: keyedReference('A ConfigMap in the same namespace.', 'Name of the ConfigMap.'),
})

const targetImport = record('A target import: a name and exactly one source.', {
  name: required(text(NAME_OF_IMPORT)),
  target: text('Name of a Target.'),
  targets: list('Names of Targets; an empty list is a value.', text('Name of a Target.')),
  targetListRef: text('Name of a target list that the parent imports.'),
  targetMap: mapOf('Targets by key; an empty map is a value.', text('Name of a Target.')),
  targetMapRef: text('Name of a target map that the parent imports.'),
})

const spec = record('The blueprint to install, its imports and its exports.', {
  context: text('Name of the Context in the same namespace; default "default".'),
  verification: record('Check of the component version before it is installed.', {
    signatureName: required(text('Name of the signature, and of its keys in the Context.')),
  }),
  componentDescriptor,
  blueprint: required(blueprint),
  imports: record('The imports of the blueprint: data and Targets.', {
    data: list('Data imports.', dataImport),
    targets: list('Target imports.', targetImport),
  }),
  importDataMappings: anyMap('Values computed from the imports, by name, with spiff expressions.'),
  exports: record('The exports, which other Installations can import.', {
    data: list(
      'Data exports.',
      record('A data export.', {
        name: required(text('Name of the export in the blueprint.')),
        dataRef: required(text('Name of the DataObject to write.')),
      }),
    ),
    targets: list(
      'Target exports.',
      record('A target export.', {
        name: required(text('Name of the export in the blueprint.')),
        target: text('Name of the Target to write.'),
      }),
    ),
  }),
  exportDataMappings: anyMap('Values computed from the exports, by name, with spiff expressions.'),
  automaticReconcile: record('Jobs that start automatically.', {
    succeededReconcile: record('After a success.', {
      interval: text(`${INTERVAL} Default 24h.`),
      cronSpec: text(CRON),
    }),
    failedReconcile: record('After a failure.', {
      numberOfReconciles: integer('The maximum number of jobs; absent: no limit, 0: none.'),
      interval: text(`${INTERVAL} Default 5m.`),
      cronSpec: text(CRON),
    }),
  }),
  optimization: record('Promises of the author that save requests to the API server.', {
    hasNoSiblingImports: flag('Promises that this installation imports nothing from siblings.'),
    hasNoSiblingExports: flag('Promises that no sibling imports from this installation.'),
  }),
})

// observedGeneration is optional here for the reason given in deploy-item/kind.ts.
const status = record('Where the current job stands.', {
  observedGeneration: int64('The generation that the current or last job started from.'),
  conditions: conditionsField,
  lastError: errorField('The last error of the current job.'),
  phase: text('The phase of the current job.'),
  phaseTransitionTime: timestamp('When the phase last changed.'),
  jobID: text('The current or last job.'),
  jobIDFinished: text('The last job that ended; equal to jobID when the installation is idle.'),
  executionRef: objectReference('The Execution of this installation.'),
  subInstCache: record('The names of the sub-installations.', {
    activeSubs: list(
      'Sub-installations of the current blueprint.',
      record('The object of each template.', {
        specName: text('Name of the template.'),
        objectName: text('Name of the installation object.'),
      }),
    ),
    orphanedSubs: list('Sub-installations that the blueprint no longer has.', text('Name of an installation object.')),
  }),
  importsHash: text('Hash of all imports as seen at the end of Init.'),
  automaticReconcileStatus: record('Counters of the jobs that started automatically.', {
    generation: int64('The generation whose jobs are counted.'),
    numberOfReconciles: integer('The number of jobs that started automatically.'),
    lastReconcileTime: timestamp('When the last of these jobs started.'),
    onFailed: flag('Whether the counted jobs follow a failure.'),
  }),
  dependentsToTrigger: list(
    'Siblings to trigger after this job.',
    record('A sibling.', { name: text('Name of the installation.') }),
  ),
  transitionTimes,
  paused: pausedField,
})

const OWN_KIND = { group: 'landscaper.gardener.cloud', kind: 'Installation' } as const

/** Pawl leaves no entries; Landscaper does, between the end of a job and its next reconcile of the object. */
const LEFT_DEPENDENTS = path('status.dependentsToTrigger')

/** Whether the last job left dependents that no controller has triggered. Accepts objects and projections. */
export function hasLeftDependents(object: object): boolean {
  const left = valueAt(object, LEFT_DEPENDENTS)
  return Array.isArray(left) && left.length > 0
}

export const installationKind = defineKind({
  ...OWN_KIND,
  version: 'v1alpha1',
  plural: 'installations',
  singular: 'installation',
  shortNames: ['inst'],
  statusSubresource: true,
  printerColumns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Execution', type: 'string', jsonPath: '.status.executionRef.name' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ERROR_COLUMN,
  ],
  description:
    'An Installation installs a blueprint: it renders the deploy items, runs them and publishes the exports.',
  schema: { spec: required(spec), status },
  projection: [
    annotation(OPERATION_ANNOTATION),
    annotation(RECONCILE_IF_CHANGED_ANNOTATION),
    annotation(RECONCILE_REASON_ANNOTATION),
    annotation(DELETE_WITHOUT_UNINSTALL_ANNOTATION),
    annotation(DELETE_IGNORE_SUCCESSORS_ANNOTATION),
    annotation(TOUCH_ANNOTATION),
    annotation(IGNORE_ANNOTATION),
    ...PAUSE_PATHS,
    path('status.phase'),
    path('status.jobID'),
    path('status.jobIDFinished'),
    path('status.observedGeneration'),
    path('status.executionRef'),
    path('spec.automaticReconcile'),
    path('status.automaticReconcileStatus'),
    path('status.transitionTimes.finishedTime'),
    LEFT_DEPENDENTS,
  ],
  flow: flowOfRoot,
  // Sub-installations are created and deleted.
  workerVerbs: ['create', 'delete', 'get', 'list', 'patch'],
})

export type Installation = ObjectOf<typeof installationKind>

/** The exports and imports of an Installation in the scope that it shares with its siblings. */
export function flowOf(object: object): Flow {
  const flow = readFlow(fieldsOf(valueAt(object, path('spec'))))
  return { gives: exportedNames(flow), takes: importedNames(flow) }
}

/** The exports and imports of a root among the roots of its namespace; sub-installations have their own order. Source: spec/landscaper.md 2.6, 2.14. */
function flowOfRoot(object: object): Flow | undefined {
  if (ownerOfKind(object, OWN_KIND) !== undefined) return undefined
  const { gives, takes } = flowOf(object)
  // The spec promises that the root imports nothing, so it is no successor.
  const isAlone = fieldsOf(valueAt(object, path('spec.optimization')))['hasNoSiblingImports'] === true
  return { gives, takes: isAlone ? [] : takes }
}

/** Phases of a deletion; in one of them a deletion needs the reconcile annotation to start again. */
const DELETION_PHASES: readonly string[] = ['InitDelete', 'TriggerDelete', 'Deleting', 'DeleteFailed']

/**
 * The reason why an idle root Installation must start a job; undefined if it must not. Accepts objects and projections.
 * Source: spec/landscaper.md 2.2, triggers 1 to 3.
 */
export function installationTrigger(object: object): string | undefined {
  const isRoot = ownerOfKind(object, installationKind) === undefined
  if (!isRoot || textAt(object, annotation(IGNORE_ANNOTATION)) === 'true') return undefined
  if (pauseReason(object) !== undefined) return undefined
  if (textAt(object, annotation(OPERATION_ANNOTATION)) === 'reconcile') return 'reconcile annotation'
  if (valueAt(object, path('metadata.deletionTimestamp')) !== undefined) {
    return DELETION_PHASES.includes(textAt(object, path('status.phase')) ?? '') ? undefined : 'deletion'
  }
  const isChanged =
    (valueAt(object, path('status.observedGeneration')) ?? 0) !== valueAt(object, path('metadata.generation'))
  return isChanged && textAt(object, annotation(RECONCILE_IF_CHANGED_ANNOTATION)) === 'true'
    ? 'changed spec'
    : undefined
}
