// App: the description of an application. The controller creates a Deployment, a Service and a ConfigMap from it.

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
  'The time during which no Pods run, such as the night: two schedules of five fields as in crontab.',
  {
    from: required(text('The schedule of the begin, such as 0 20 * * *.', { minLength: 9 })),
    until: required(text('The schedule of the end, such as 0 6 * * *.', { minLength: 9 })),
    timeZone: text('The time zone of both schedules, such as Europe/Berlin.', { default: 'UTC' }),
  },
  { rules: [{ rule: 'self.from != self.until', message: 'expected from and until to be different schedules' }] },
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
      record('The desired application.', {
        image: required(text('The image of the container.', { minLength: 1 })),
        replicas: integer('The number of Pods.', { default: 1, minimum: 0, maximum: 100 }),
        port: integer('The port on which the container listens; the Service has port 80.', {
          default: 8080,
          minimum: 1,
          maximum: 65_535,
        }),
        health: text(
          'The path of the readiness probe: it answers 200 when the Pod is ready. Default: a running Pod is ready.',
          {
            pattern: '^/',
          },
        ),
        settings: mapOf('Environment variables. A change replaces the Pods.', text('The value of a variable.'), {
          maxProperties: 200,
        }),
        pause,
      }),
    ),
    status: record('The observed application.', {
      readyReplicas: integer('The number of ready Pods.'),
      paused: flag('Whether a pause is on.'),
      changesAt: timestamp('The next time at which a pause begins or ends.'),
      announced: text('The reason that was announced last; absent during a roll-out.'),
      conditions: conditionsField,
    }),
  },
  projection: [path('status.readyReplicas')],
  workerVerbs: ['patch'],
})

export type App = ObjectOf<typeof appKind>
