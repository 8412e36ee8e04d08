// App: what a team says of an application that it runs; Deployment, Service and ConfigMap are made of it.

import {
  conditionsField,
  defineKind,
  flag,
  integer,
  mapOf,
  type ObjectOf,
  path,
  record,
  required,
  text,
  timestamp,
} from 'pawl/kit'

const pause = record(
  'When nothing runs, as at night. Two schedules of five fields as in crontab.',
  {
    from: required(text('When the pause begins, such as 0 20 * * *.', { minLength: 9 })),
    until: required(text('When it ends, such as 0 6 * * *.', { minLength: 9 })),
    timeZone: text('Time zone of both, such as Europe/Berlin.', { default: 'UTC' }),
  },
  { rules: [{ rule: 'self.from != self.until', message: 'the pause has to end at another time than it begins' }] },
)

export const appKind = defineKind({
  group: 'app.example.pawl.dev',
  version: 'v1',
  kind: 'App',
  plural: 'apps',
  singular: 'app',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: 'Replicas', type: 'integer', jsonPath: '.status.readyReplicas' },
    { name: 'Image', type: 'string', jsonPath: '.spec.image' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'An application: Pods of one image with their settings, behind one address.',
  schema: {
    spec: required(
      record('What runs.', {
        image: required(text('The image of its container.', { minLength: 1 })),
        replicas: integer('How many Pods.', { default: 1, minimum: 0, maximum: 100 }),
        port: integer('The port on which it listens; its Service has port 80.', {
          default: 8080,
          minimum: 1,
          maximum: 65_535,
        }),
        health: text('Path that answers 200 when a Pod is ready. Default: a Pod that runs is ready.', {
          pattern: '^/',
        }),
        settings: mapOf('Environment variables. Pods are replaced when they change.', text('A value.'), {
          maxProperties: 200,
        }),
        pause,
      }),
    ),
    status: record('What is there.', {
      readyReplicas: integer('Pods that are ready.'),
      paused: flag('Whether a pause is on.'),
      changesAt: timestamp('When the pause begins or ends next.'),
      announced: text('What of the readiness was told last; absent while there is news to come.'),
      conditions: conditionsField,
    }),
  },
  projection: [path('status.readyReplicas')],
  workerVerbs: ['patch'],
})

export type App = ObjectOf<typeof appKind>
