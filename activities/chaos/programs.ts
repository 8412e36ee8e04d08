// The programs of the wing.

import type { WingProgram } from '../program.ts'

export const chaosPrograms: readonly WingProgram[] = [
  {
    name: 'injector',
    summary: 'inject a disruption into a target, and clean up at the end (runs in chaos pods)',
    load: async () => await import('./injector/injector.ts'),
  },
  {
    name: 'node-agent',
    summary: 'run the injectors of chaos pods on a machine without kubelet',
    inDev: {
      wing: 'chaos',
      args: async (dev) => (await import('./node-agent/in-dev.ts')).argsInDev(dev),
      setUp: async (...manifest) => (await import('./node-agent/in-dev.ts')).setUpInDev(...manifest),
      readyFile: 'agent.json',
    },
    load: async () => await import('./node-agent/node-agent.ts'),
  },
]
