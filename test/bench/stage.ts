// What a scenario measures on.

import type { KubeClient } from '../../activities/kube/client.ts'
import type { Options } from './options.ts'
import type { Say } from './progress.ts'
import type { BenchSet } from './servers.ts'

export interface Stage {
  readonly set: BenchSet
  readonly kube: KubeClient
  readonly options: Options
  readonly say: Say
}
