// LsHealthCheck: the health of the controllers. Wire format: spec/landscaper.md 1.10.

import { defineKind, type ObjectOf, required, text, timestamp } from '../../kit/index.ts'

export const lsHealthCheckKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'LsHealthCheck',
  plural: 'lshealthchecks',
  singular: 'lshealthcheck',
  shortNames: ['lshc'],
  statusSubresource: false,
  printerColumns: [
    { name: 'Status', type: 'string', jsonPath: '.status' },
    { name: 'LastUpdateTime', type: 'date', jsonPath: '.lastUpdateTime' },
  ],
  description: 'An LsHealthCheck shows whether the controllers are healthy.',
  schema: {
    status: required(text('Ok, Failed or Init.')),
    lastUpdateTime: required(timestamp('When the check last ran.')),
    description: required(text('A description of the problem.')),
  },
  projection: [],
  workerVerbs: [],
})

export type LsHealthCheck = ObjectOf<typeof lsHealthCheckKind>
