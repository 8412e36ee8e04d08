// The dependencies of the pre-run: read access to the machine and the cluster.

import type { ServiceRule } from '../../../workflows/chaos/injector/invocation.ts'
import type { ServiceAddress } from '../../../workflows/chaos/injector/network/network-spec.ts'
import type { Cluster } from './cluster-client.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import type { Lookup } from './resolve-hosts.ts'
import type { Settings } from './settings.ts'
import type { Run } from './shell.ts'

export interface PreRun {
  readonly settings: Settings
  /** Runs programs that change nothing. */
  readonly run: Run
  readonly clock: Clock
  readonly log: Log
  readonly lookup: Lookup
  readonly cluster: Cluster | undefined
  /** The addresses of Services, by `namespace/name`. */
  readonly serviceAddresses: (
    services: readonly ServiceRule[],
  ) => Promise<Readonly<Record<string, readonly ServiceAddress[]>>>
}
