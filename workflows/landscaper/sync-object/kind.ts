// SyncObject: the lock of Landscaper's controllers. Pawl only defines the kind, for existing manifests and clusters. Pawl takes no such lock, because
// a job is one workflow. Wire format: spec/landscaper.md 1.12.

import { defineKind, type ObjectOf, record, required, text, timestamp } from '../../kit/index.ts'

export const syncObjectKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'SyncObject',
  plural: 'syncobjects',
  singular: 'syncobject',
  shortNames: ['so'],
  statusSubresource: true,
  printerColumns: [
    { name: 'PodName', type: 'string', jsonPath: '.spec.podName' },
    { name: 'Kind', type: 'string', jsonPath: '.spec.kind' },
    { name: 'Name', type: 'string', jsonPath: '.spec.name' },
  ],
  description: 'A SyncObject is a lock on an object, held by a controller process.',
  schema: {
    spec: required(
      record('The lock: its holder and the locked object.', {
        podName: required(text('The holder of the lock; empty: it is free.')),
        kind: required(text('Kind of the locked object.')),
        name: required(text('Name of the locked object.')),
        lastUpdateTime: required(timestamp('When the lock was last taken or freed.')),
        prefix: required(text('Kind of controller that takes the lock.')),
      }),
    ),
    status: record('Always empty.', {}),
  },
  projection: [],
  workerVerbs: [],
})

export type SyncObject = ObjectOf<typeof syncObjectKind>
