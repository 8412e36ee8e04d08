// Pods of clusters and of backup agents: the node agent runs them as processes of FoundationDB's tools.

import { CLUSTER_LABEL, DEPLOYMENT_LABEL } from '../../workflows/foundationdb/contract.ts'
import type { WingPods } from '../pods.ts'
import { TOOL_FLAGS, type ToolFlags } from './pods/flags.ts'

export const foundationdbPods: WingPods<ToolFlags> = {
  labels: [CLUSTER_LABEL, DEPLOYMENT_LABEL],
  flags: TOOL_FLAGS,
  inDev: {
    prepare: async (dev) => (await import('./pods/in-dev.ts')).prepareInDev(dev),
    flags: async (dev) => (await import('./pods/in-dev.ts')).flagsInDev(dev),
  },
  load: async () => await import('./pods/open.ts'),
}
