// The kind DisruptionRollout: creates a Disruption when the containers of a Deployment or StatefulSet change. Wire
// format: spec/chaos.md 2.13.

import {
  defineKind,
  mapOf,
  type ObjectOf,
  path,
  record,
  required,
  text,
  timestamp,
  type ValueOf,
} from '../../kit/index.ts'
import { GROUP, VERSION } from '../contract.ts'
import { templateField } from '../disruption/schema/spec.ts'
import { targetResourceField, toleranceField } from '../target-resource.ts'

const specField = record('The target resource and the template of the Disruptions.', {
  targetResource: required(targetResourceField),
  delayedStartTolerance: toleranceField,
  disruptionTemplate: required(templateField),
})

const hashes = (description: string) => mapOf(description, text('The hash of a container.'))

const statusField = record('The status of the DisruptionRollout.', {
  latestInitContainersHash: hashes('The hashes by the name of the init container.'),
  latestContainersHash: hashes('The hashes by the name of the container.'),
  latestTargetResource: text(
    'The target resource of the hashes, such as `deployment/shop`. Another target resource does not count as a change.',
  ),
  lastContainerChangeTime: timestamp('When the containers last changed.'),
  lastScheduleTime: timestamp('When a Disruption was last created.'),
  lastSkippedTime: timestamp(
    'The time of the last change for which no Disruption was created, because it was too late.',
  ),
  targetResourcePreviouslyMissing: timestamp('Since when the target resource is missing; absent while it exists.'),
})

export const disruptionRolloutKind = defineKind({
  group: GROUP,
  version: VERSION,
  kind: 'DisruptionRollout',
  plural: 'disruptionrollouts',
  singular: 'disruptionrollout',
  shortNames: ['diroll'],
  statusSubresource: true,
  printerColumns: [
    { name: 'Target', type: 'string', jsonPath: '.spec.targetResource.name' },
    { name: 'Changed', type: 'date', jsonPath: '.status.lastContainerChangeTime' },
    { name: 'Last Schedule', type: 'date', jsonPath: '.status.lastScheduleTime' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'A DisruptionRollout creates a Disruption when the containers of its target resource have changed.',
  schema: { spec: required(specField), status: statusField },
  projection: [path('status.lastContainerChangeTime'), path('status.lastScheduleTime')],
  hashed: [path('spec')],
  workerVerbs: [],
})

export type DisruptionRollout = ObjectOf<typeof disruptionRolloutKind>
export type DisruptionRolloutSpec = ValueOf<typeof specField>
export type DisruptionRolloutStatus = ValueOf<typeof statusField>
