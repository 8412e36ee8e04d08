// Chaos pods: the node agent starts the injector of each as a process of the machine.

import type { WingPods } from '../pods.ts'
import { DISRUPTION_KIND_LABEL } from '../../workflows/chaos/contract.ts'
import { CHAOS_POD_FLAGS, type ChaosPodFlags } from './pods/flags.ts'

export const chaosPods: WingPods<ChaosPodFlags> = {
  labels: [DISRUPTION_KIND_LABEL],
  flags: CHAOS_POD_FLAGS,
  inDev: {
    flags: async (dev) => (await import('./pods/in-dev.ts')).flagsInDev(dev),
    setUp: async (...manifest) => (await import('./pods/in-dev.ts')).setUpInDev(...manifest),
  },
  load: async () => await import('./pods/open.ts'),
}
