// The kind DisruptionCron: creates a Disruption at every time of a schedule. Wire format: spec/chaos.md 2.12.

import {
  defineKind,
  flag,
  integer,
  list,
  type ObjectOf,
  path,
  record,
  required,
  text,
  timestamp,
  type ValueOf,
} from '../../kit/index.ts'
import { GROUP, VERSION } from '../contract.ts'
import { reportingField, templateField } from '../disruption/schema/spec.ts'
import { targetResourceField, toleranceField } from '../target-resource.ts'

/** Source: spec/chaos.md 2.12. */
export const MAX_HISTORY = 5

const specField = record('The target resource, the schedule and the template of the Disruptions.', {
  schedule: required(
    text('The schedule: five fields as in crontab, a descriptor such as @hourly, or @every 2h.', {
      minLength: 1,
      maxLength: 1000,
    }),
  ),
  paused: flag('Whether the schedule is paused: no Disruptions are created.'),
  delayedStartTolerance: toleranceField,
  targetResource: required(targetResourceField),
  disruptionTemplate: required(templateField),
  reporting: reportingField,
})

const statusField = record('The status of the DisruptionCron.', {
  lastScheduleTime: timestamp('The last scheduled time for which a Disruption was created.'),
  lastSkippedTime: timestamp('The last scheduled time for which no Disruption was created.'),
  lastSkippedReason: text(
    'Why no Disruption was created at lastSkippedTime: TargetMissing, StillThere (an earlier Disruption still exists), or TooLate.',
  ),
  nextScheduleTime: timestamp('The next scheduled time; absent while the schedule is paused.'),
  pausedSince: timestamp('When the controller first observed the pause; absent while the schedule is not paused.'),
  observedGeneration: integer('The last generation that the controller observed.'),
  observedSchedule: text('The last schedule that the controller observed.'),
  scheduleEditedTime: timestamp(
    'When the controller last observed an edit of the schedule; no Disruption is created for earlier times. Absent without an edit.',
  ),
  targetResourcePreviouslyMissing: timestamp('Since when the target resource is missing; absent while it exists.'),
  history: list(
    'The last Disruptions, in the order of their creation.',
    record('A Disruption.', {
      name: text('The name of the Disruption.'),
      kind: text('Always Disruption.'),
      createdAt: timestamp('When the Disruption was created.'),
    }),
    { maxItems: MAX_HISTORY },
  ),
})

export const disruptionCronKind = defineKind({
  group: GROUP,
  version: VERSION,
  kind: 'DisruptionCron',
  plural: 'disruptioncrons',
  singular: 'disruptioncron',
  shortNames: ['dicron'],
  statusSubresource: true,
  printerColumns: [
    { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule' },
    { name: 'Target', type: 'string', jsonPath: '.spec.targetResource.name' },
    { name: 'Paused', type: 'boolean', jsonPath: '.spec.paused' },
    { name: 'Last Schedule', type: 'date', jsonPath: '.status.lastScheduleTime' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'A DisruptionCron creates a Disruption at every time of a schedule.',
  schema: { spec: required(specField), status: statusField },
  projection: [path('status.lastScheduleTime'), path('status.nextScheduleTime')],
  hashed: [path('spec')],
  workerVerbs: [],
})

export type DisruptionCron = ObjectOf<typeof disruptionCronKind>
export type DisruptionCronSpec = ValueOf<typeof specField>
export type DisruptionCronStatus = ValueOf<typeof statusField>
