// CronJob: starts a Job at every time of a schedule. It has the fields of batch/v1, so existing manifests fit.
// Source: k8s.io/api v0.34 batch/v1 types.go.

import {
  anyJson,
  conditionsField,
  defineKind,
  flag,
  int64,
  integer,
  list,
  mapOf,
  type ObjectOf,
  oneOf,
  path,
  record,
  required,
  text,
  timestamp,
} from 'pawl/kit'

const jobTemplate = record('The template of each Job.', {
  metadata: record('Metadata of each Job.', {
    labels: mapOf('Labels of each Job.', text('The value of a label.')),
    annotations: mapOf('Annotations of each Job.', text('The value of an annotation.')),
  }),
  spec: required(anyJson('The spec of each Job, as in batch/v1.')),
})

const activeJob = record('An active Job.', {
  apiVersion: required(text('Group and version of the Job.')),
  kind: required(text('Always Job.')),
  namespace: required(text('Namespace of the Job.')),
  name: required(text('Name of the Job.')),
  uid: required(text('Identity of the Job.')),
})

export const cronJobKind = defineKind({
  group: 'batch.example.pawl.dev',
  version: 'v1',
  kind: 'CronJob',
  plural: 'cronjobs',
  singular: 'cronjob',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [
    { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule' },
    { name: 'Suspend', type: 'boolean', jsonPath: '.spec.suspend' },
    { name: 'Last Schedule', type: 'date', jsonPath: '.status.lastScheduleTime' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'Starts a Job at every time of a schedule.',
  schema: {
    spec: required(
      record('The schedule and the template of the Jobs.', {
        schedule: required(
          text('The schedule: five fields as in crontab, or @hourly, @daily, @weekly, @monthly, @yearly.'),
        ),
        timeZone: text('The time zone of the schedule, such as Europe/Berlin. Default: UTC.'),
        startingDeadlineSeconds: int64('The maximum delay of a start, in seconds. Default: no limit.'),
        concurrencyPolicy: oneOf(
          'What happens at a scheduled time while a Job is active: start another Job (Allow, the default), wait for the active Job (Forbid), or delete the active Job first (Replace).',
          ['Allow', 'Forbid', 'Replace'],
        ),
        suspend: flag('Whether no Jobs are started. Active Jobs continue. Default: false.'),
        successfulJobsHistoryLimit: integer('How many successful Jobs to keep. Default: 3.'),
        failedJobsHistoryLimit: integer('How many failed Jobs to keep. Default: 1.'),
        jobTemplate: required(jobTemplate),
      }),
    ),
    status: record('The observed Jobs.', {
      active: list('The active Jobs.', activeJob),
      lastScheduleTime: timestamp('The time of the schedule for which a Job was last started.'),
      lastSuccessfulTime: timestamp('When a Job last succeeded.'),
      conditions: conditionsField,
    }),
  },
  projection: [path('status.lastScheduleTime')],
  hashed: [path('spec')],
  workerVerbs: ['patch'],
})

export type CronJob = ObjectOf<typeof cronJobKind>
