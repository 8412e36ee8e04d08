// The kind Disruption: disturbs pods or nodes for a limited time. Wire format: spec/chaos.md 1.1 to 1.7.

import { defineKind, type ObjectOf, path, required } from '../../kit/index.ts'
import { GROUP, VERSION } from '../contract.ts'
import { specField } from './schema/spec.ts'
import { statusField } from './schema/status.ts'

export type { DisruptionSpec } from './schema/spec.ts'
export type { DisruptionStatus, TargetInjection, TargetInjections } from './schema/status.ts'

export const disruptionKind = defineKind({
  group: GROUP,
  version: VERSION,
  kind: 'Disruption',
  plural: 'disruptions',
  singular: 'disruption',
  shortNames: ['dis'],
  statusSubresource: true,
  printerColumns: [
    { name: 'Status', type: 'string', jsonPath: '.status.injectionStatus' },
    { name: 'Injected', type: 'integer', jsonPath: '.status.injectedTargetsCount' },
    { name: 'Desired', type: 'integer', jsonPath: '.status.desiredTargetsCount' },
    { name: 'Simulated', type: 'integer', jsonPath: '.status.simulatedTargetsCount' },
    { name: 'Targets', type: 'string', jsonPath: '.status.targets', priority: 1 },
    { name: 'Stuck', type: 'boolean', jsonPath: '.status.isStuckOnRemoval', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'A Disruption disturbs pods or nodes on purpose, for a time.',
  schema: { spec: required(specField), status: statusField },
  // Metrics need the creation time and the chaos namespace.
  projection: [
    ...[path('metadata.creationTimestamp'), path('status.chaosNamespace')],
    ...[path('status.injectionStatus'), path('status.isStuckOnRemoval')],
    path('status.message'),
  ],
  hashed: [path('spec')],
  workerVerbs: [],
})

export type Disruption = ObjectOf<typeof disruptionKind>
