// The programs of the wing.

import type { WingProgram } from '../program.ts'

export const foundationdbPrograms: readonly WingProgram[] = [
  {
    name: 'fdb-sidecar',
    summary: 'serve configuration to a FoundationDB process on a machine without kubelet',
    load: async () => await import('./sidecar/sidecar.ts'),
  },
]
