// DataObject: a value that installations exchange. Wire format: spec/landscaper.md 1.6.
// Also the labels that Targets and DataObjects share: who wrote the object, for whom, under which name.

import { anyJson, defineKind, label, type ObjectOf, path, required } from '../../kit/index.ts'

const PREFIX = 'data.landscaper.gardener.cloud/'

/** Whose scope the object is in: absent for a root's, else `Inst.<name>` or `Exec.<name>`. */
export const CONTEXT_LABEL = `${PREFIX}context`
/** The name of the import or export. */
export const KEY_LABEL = `${PREFIX}key`
/** `import` or `export`. */
export const SOURCE_TYPE_LABEL = `${PREFIX}sourceType`
/** Who produced it: `Inst.<name>` or `Exec.<name>`. */
export const SOURCE_LABEL = `${PREFIX}source`
/** The job that wrote it. */
export const JOB_ID_LABEL = `${PREFIX}jobid`
/** Of a Target from an imported list: its position, from 0. */
export const INDEX_LABEL = `${PREFIX}index`
/** Of a Target from an imported map: its key. */
export const TARGET_MAP_KEY_LABEL = `${PREFIX}targetmapkey`

/** The labels by which data is found; part of the projection of DataObject, Target and Context. */
export const DATA_LABELS = [CONTEXT_LABEL, KEY_LABEL, SOURCE_TYPE_LABEL, SOURCE_LABEL, JOB_ID_LABEL].map(label)

export const dataObjectKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'DataObject',
  plural: 'dataobjects',
  singular: 'dataobject',
  shortNames: ['dobj', 'do'],
  statusSubresource: false,
  printerColumns: [
    { name: 'Context', type: 'string', jsonPath: '.metadata.labels.data\\.landscaper\\.gardener\\.cloud/context' },
    { name: 'Key', type: 'string', jsonPath: '.metadata.labels.data\\.landscaper\\.gardener\\.cloud/key' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'A DataObject is a value that installations import and export.',
  schema: { data: required(anyJson('The value; any JSON.')) },
  projection: DATA_LABELS,
  hashed: [path('data')],
  workerVerbs: ['create', 'patch', 'update', 'delete'],
})

export type DataObject = ObjectOf<typeof dataObjectKind>
