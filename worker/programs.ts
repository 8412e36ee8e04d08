// All programs: of the engine and of the wings.

import type { WingProgram } from '../activities/program.ts'
import { PROGRAMS as WING_PROGRAMS } from '../activities/programs.gen.ts'

export const PROGRAMS: readonly WingProgram[] = [
  ...WING_PROGRAMS,
  {
    name: 'node-agent',
    summary: 'run pods as processes on a machine without kubelet, for development and tests',
    load: async () => await import('./node-agent/node-agent.ts'),
  },
]
