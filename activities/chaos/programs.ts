// The programs of the wing.

import type { WingProgram } from '../program.ts'

export const chaosPrograms: readonly WingProgram[] = [
  {
    name: 'injector',
    summary: 'inject a disruption into a target, and clean up at the end (runs in chaos pods)',
    load: async () => await import('./injector/injector.ts'),
  },
]
