// The check of the landscaper wing, as `pawl doctor --landscaper`.

import type { WingCommands } from '../command.ts'

export const landscaperCommands: readonly WingCommands[] = [
  {
    name: 'landscaper',
    summary: 'list what Pawl does not support or does differently, per Installation of a cluster of Landscaper',
    commands: [],
    check: async () => await import('./command/preflight.ts'),
  },
]
