// The commands of the chaos wing, as `pawl chaos VERB`.

import type { CommandOption, WingCommands } from '../command.ts'

const ALL: CommandOption = {
  flags: '--all',
  text: 'the whole cluster instead of one namespace',
  conflicts: ['namespace'],
}
const CHAOS_NAMESPACE: CommandOption = {
  flags: '--chaos-namespace <name>',
  text: 'the namespace of chaos pods, which has the annotation that stops the whole cluster (default: the namespace with the label pawl.dev/chaos-namespace, else chaos-engineering)',
}

export const chaosCommands: readonly WingCommands[] = [
  {
    name: 'chaos',
    summary: 'stop all Disruptions of a namespace or of the cluster, allow them again, and show them',
    commands: [
      {
        name: 'stop',
        acts: true,
        description:
          'emergency stop: end all Disruptions of a namespace or of the cluster, and begin no new ones until pawl chaos resume; exit code 3 if a Disruption is stuck, 4 after the timeout',
        options: [
          ALL,
          CHAOS_NAMESPACE,
          {
            flags: '--timeout <duration>',
            text: 'how long to wait for the end of the Disruptions, such as 30s; 0: do not wait (default: 5m)',
          },
        ],
        examples: [
          "pawl chaos stop -n shop --reason 'too many alerts'",
          'pawl chaos stop --all',
          'pawl chaos stop -n shop --timeout 0',
        ],
        load: async () => await import('./command/stop.ts'),
      },
      {
        name: 'resume',
        acts: true,
        description: 'lift the emergency stop of a namespace or of the cluster',
        options: [ALL, CHAOS_NAMESPACE],
        examples: ['pawl chaos resume -n shop', 'pawl chaos resume --all'],
        load: async () => await import('./command/resume.ts'),
      },
      {
        name: 'status',
        description:
          'show emergency stops, Disruptions, and how to resolve stuck Disruptions; exit code 3 if a Disruption is stuck',
        options: [ALL, CHAOS_NAMESPACE],
        examples: ['pawl chaos status -n shop', 'pawl chaos status --all -o json'],
        load: async () => await import('./command/status.ts'),
      },
    ],
  },
]
