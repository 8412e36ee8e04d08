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

const specField = record('What is disturbed when it changes.', {
  targetResource: required(targetResourceField),
  delayedStartTolerance: toleranceField,
  disruptionTemplate: required(templateField),
})

const hashes = (description: string) => mapOf(description, text('The hash of a container.'))

const statusField = record('What was seen and made.', {
  latestInitContainersHash: hashes('By the name of the init container.'),
  latestContainersHash: hashes('By the name of the container.'),
  latestTargetResource: text('Whose containers these are: `deployment/shop`. Those of another target are no change.'),
  lastContainerChangeTime: timestamp('When they changed last.'),
  lastScheduleTime: timestamp('When a Disruption was made last.'),
  lastSkippedTime: timestamp('Of the last change for which none was made, because it was too late, when that was.'),
  targetResourcePreviouslyMissing: timestamp('Since when the target resource is missing; absent while it is there.'),
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
  description: 'A DisruptionRollout makes a Disruption when the containers of its target have changed.',
  schema: { spec: required(specField), status: statusField },
  projection: [path('status.lastContainerChangeTime'), path('status.lastScheduleTime')],
  hashed: [path('spec')],
  workerVerbs: [],
})

export type DisruptionRollout = ObjectOf<typeof disruptionRolloutKind>
export type DisruptionRolloutSpec = ValueOf<typeof specField>
export type DisruptionRolloutStatus = ValueOf<typeof statusField>
