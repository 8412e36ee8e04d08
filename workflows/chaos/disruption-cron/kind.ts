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

const specField = record('What is disturbed when.', {
  schedule: required(
    text('When: five fields as in crontab, a descriptor such as @hourly, or @every 2h.', {
      minLength: 1,
      maxLength: 1000,
    }),
  ),
  paused: flag('Whether no Disruptions are made.'),
  delayedStartTolerance: toleranceField,
  targetResource: required(targetResourceField),
  disruptionTemplate: required(templateField),
  reporting: reportingField,
})

const statusField = record('What was made.', {
  lastScheduleTime: timestamp('The time of the schedule for which a Disruption was made last.'),
  lastSkippedTime: timestamp(
    'The last time of the schedule for which none was made, since there was one still, it was too late, or there was no target.',
  ),
  lastSkippedReason: text(
    'Why none was made then: TargetMissing, StillThere (the Disruption of an earlier time), or TooLate.',
  ),
  nextScheduleTime: timestamp('The next time of the schedule; absent while it is paused.'),
  pausedSince: timestamp('Since when it is seen to be paused; absent while it is not.'),
  observedGeneration: integer('The generation of the spec that was looked at last.'),
  observedSchedule: text('The schedule that was looked at last.'),
  scheduleEditedTime: timestamp(
    'When the schedule was seen to be edited last; no Disruption is made for times before. Absent when it never was.',
  ),
  targetResourcePreviouslyMissing: timestamp('Since when the target resource is missing; absent while it is there.'),
  history: list(
    'The last Disruptions, the newest last.',
    record('A Disruption.', {
      name: text('Its name.'),
      kind: text('Always Disruption.'),
      createdAt: timestamp('When it was made.'),
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
  description: 'A DisruptionCron makes a Disruption at every time of a schedule.',
  schema: { spec: required(specField), status: statusField },
  projection: [path('status.lastScheduleTime'), path('status.nextScheduleTime')],
  hashed: [path('spec')],
  workerVerbs: [],
})

export type DisruptionCron = ObjectOf<typeof disruptionCronKind>
export type DisruptionCronSpec = ValueOf<typeof specField>
export type DisruptionCronStatus = ValueOf<typeof statusField>
