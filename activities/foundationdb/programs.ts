// The programs of the wing.

import type { WingProgram } from '../program.ts'

export const foundationdbPrograms: readonly WingProgram[] = [
  {
    name: 'fdb-sidecar',
    summary: 'configure the FoundationDB process of a pod',
    load: async () => await import('./sidecar/sidecar.ts'),
  },
]
