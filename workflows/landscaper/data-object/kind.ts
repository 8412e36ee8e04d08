// DataObject: a value that installations exchange. Wire format: spec/landscaper.md 1.6.

import { DATA_LABELS } from '../contract.ts'
import { anyJson, defineKind, type ObjectOf, path, required } from '../../kit/index.ts'

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
  workerVerbs: ['get', 'list', 'create', 'patch', 'delete'],
})

export type DataObject = ObjectOf<typeof dataObjectKind>
