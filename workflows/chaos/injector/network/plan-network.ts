import type { Command, Plan, Unsupported } from '../command.ts'
import type { NetworkRequest } from './filters.ts'
import { planIptables, updateIptables } from './iptables-htb.ts'
import { type PlacedFilters, planReference, updateReference } from './tc-reference.ts'

export const BACKENDS = ['tc-reference', 'iptables-htb'] as const
export type NetworkBackend = (typeof BACKENDS)[number]

export type NetworkPlan = Plan & {
  /** Plans the update after names resolve to other addresses. */
  readonly follow: (ask: NetworkRequest) => NetworkUpdate | Unsupported
}

export interface NetworkUpdate {
  readonly commands: readonly Command[]
  readonly follow: NetworkPlan['follow']
}

export function planNetwork(ask: NetworkRequest, backend: NetworkBackend): NetworkPlan | Unsupported {
  if (backend === 'tc-reference') {
    const planned = planReference(ask)
    return 'unsupported' in planned ? planned : { ...planned, follow: followReference(planned.placed) }
  }
  const planned = planIptables(ask)
  return 'unsupported' in planned ? planned : { ...planned, follow: followIptables(ask) }
}

function followReference(before: PlacedFilters): NetworkPlan['follow'] {
  return (ask) => {
    const changed = updateReference(before, ask)
    return 'unsupported' in changed ? changed : { commands: changed.commands, follow: followReference(changed.placed) }
  }
}

function followIptables(before: NetworkRequest): NetworkPlan['follow'] {
  return (ask) => {
    const commands = updateIptables(before, ask)
    return 'unsupported' in commands ? commands : { commands, follow: followIptables(ask) }
  }
}
