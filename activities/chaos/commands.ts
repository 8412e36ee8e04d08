// The commands of the chaos wing, as `pawl chaos VERB`.

import type { CommandOption, WingCommands } from '../command.ts'

const ALL: CommandOption = { flags: '--all', text: 'of the whole cluster', conflicts: ['namespace'] }
const CHAOS_NAMESPACE: CommandOption = {
  flags: '--chaos-namespace <name>',
  text: 'where chaos pods are, which has the stop of the whole cluster (default: the namespace with the label pawl.dev/chaos-namespace, else chaos-engineering)',
}

export const chaosCommands: readonly WingCommands[] = [
  {
    name: 'chaos',
    summary: 'stop all disruptions of a namespace or of the cluster, let them be made again, show them',
    commands: [
      {
        name: 'stop',
        acts: true,
        description:
          'emergency stop: end all disruptions of a namespace, or of the cluster, and let none begin until pawl chaos resume; exit code 3 when one is stuck, 4 when time was not enough',
        options: [
          ALL,
          CHAOS_NAMESPACE,
          {
            flags: '--timeout <duration>',
            text: 'how long it is waited for their end, such as 30s; 0: not at all (default: 5m)',
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
          'show emergency stops, disruptions, and the way out of those that are stuck; exit code 3 when one is',
        options: [ALL, CHAOS_NAMESPACE],
        examples: ['pawl chaos status -n shop', 'pawl chaos status --all -o json'],
        load: async () => await import('./command/status.ts'),
      },
    ],
  },
]
