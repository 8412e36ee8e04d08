// The pre-run of a network disruption: which backend, which interfaces, which addresses.

import { isUnsupported, type NetworkRef } from '../../../workflows/chaos/injector/command.ts'
import type { CommonFlags, NetworkSpec } from '../../../workflows/chaos/injector/invocation.ts'
import type { NetworkAsk } from '../../../workflows/chaos/injector/network/filters.ts'
import type { ContainerMatch, NetworkFacts } from '../../../workflows/chaos/injector/network/network-spec.ts'
import { NETWORK_CHAIN } from '../../../workflows/chaos/injector/marks.ts'
import {
  type NetworkBackend,
  type NetworkPlan,
  planNetwork,
} from '../../../workflows/chaos/injector/network/plan-network.ts'
import { type Capability, knownCapabilities, lacks, type Missing } from './capabilities.ts'
import type { Finding } from './finding.ts'
import { textOf } from './log.ts'
import { hasChain, linkFacts } from './network-facts.ts'
import type { Prepared } from './one-injection.ts'
import { resolveHosts } from './resolve-hosts.ts'
import { SIMULATED_LINKS } from './simulation.ts'

interface NetworkTarget {
  readonly network: NetworkRef
  readonly containers: readonly ContainerMatch[]
}

export async function prepareNetwork(
  finding: Finding,
  spec: NetworkSpec,
  common: CommonFlags,
  target: NetworkTarget,
): Promise<Prepared> {
  const { isSimulated } = finding.settings
  const missing = await capabilitiesOf(finding)
  const backend = finding.settings.backend ?? backendFor(missing)
  const links = isSimulated ? SIMULATED_LINKS : await linkFacts(finding.settings.proc, finding.run, target.network)
  const ask = async (): Promise<NetworkAsk> => ({
    spec,
    common,
    facts: { ...links, ...(await addressFacts(finding, spec)), ...fixedFacts(finding, target, missing) },
  })
  const first = await ask()
  const lacking = [
    ...lacks(missing, neededFor(backend, first)),
    ...(isSimulated ? [] : await takenBy(finding, target.network, ['mangle', NETWORK_CHAIN])),
  ]
  const plan = lacking.length > 0 ? { unsupported: lacking } : planNetwork(first, backend)
  if (target.containers.length === 0 && common.level === 'pod' && !isSimulated)
    finding.log.warn('containers cannot be told apart here: the whole pod is disrupted')
  if (isUnsupported(plan)) return { plan, network: target.network }
  return { plan, network: target.network, follow: following(finding, spec, ask, plan.follow) }
}

/** Programs that this machine lacks. A simulation assumes that no program is missing. */
export async function capabilitiesOf({ run, settings }: Finding): Promise<Missing> {
  return settings.isSimulated ? {} : await knownCapabilities(run, settings.proc, settings.stateFolder)
}

/** What another injector has there: there is one chain in a network. */
export async function takenBy(
  { run, settings }: Finding,
  network: NetworkRef,
  [table, chain]: readonly [string, string],
): Promise<readonly string[]> {
  return (await hasChain({ proc: settings.proc, run, network }, table, chain))
    ? [`the target is disrupted already: its table ${table} has a chain ${chain}`]
    : []
}

/** netem does more, where a kernel has it. */
function backendFor(missing: Missing): NetworkBackend {
  const reference: readonly Capability[] = ['prio', 'netem', 'flower', 'fw', 'tbf']
  return reference.every((name) => missing[name] === undefined) ? 'tc-reference' : 'iptables-htb'
}

function neededFor(backend: NetworkBackend, { spec, common, facts }: NetworkAsk): readonly Capability[] {
  const hosts = [...spec.hosts, ...spec.allowedHosts]
  const hasStates = hosts.some(({ connState }) => connState !== '')
  const isOfContainer = common.level === 'pod' && !common.onInit && facts.containers.length > 0
  if (backend === 'tc-reference')
    return [
      ...(['prio', 'flower'] as const),
      ...(spec.delayMs + spec.drop + spec.duplicate + spec.corrupt > 0 ? (['netem'] as const) : []),
      ...(spec.bandwidthLimit > 0 ? (['tbf'] as const) : []),
      ...(isOfContainer ? (['mark'] as const) : []),
    ]
  return [
    ...(['restore', 'drop'] as const),
    ...(spec.bandwidthLimit > 0 ? (['htb', 'classify'] as const) : []),
    ...(hasStates ? (['connections'] as const) : []),
    ...(isOfContainer ? matchNeeds(facts.containers) : []),
  ]
}

/** What telling these containers apart needs. */
export function matchNeeds(containers: readonly ContainerMatch[]): readonly Capability[] {
  return [...new Set(containers.map(({ version }) => (version === 2 ? 'groupPath' : 'groupClass')))]
}

function fixedFacts({ settings }: Finding, { containers }: NetworkTarget, missing: Missing) {
  return {
    hasFwFilter: missing.fw === undefined,
    ...(settings.nodeIp === undefined ? {} : { nodeIp: settings.nodeIp }),
    containers,
  }
}

async function addressFacts(finding: Finding, spec: NetworkSpec): Promise<Pick<NetworkFacts, 'resolved' | 'services'>> {
  const complain = (host: string, error: string) => finding.log.warn('host not resolved', { host, error })
  return {
    resolved: await resolveHosts(spec, finding.lookup, complain),
    services: spec.services.length === 0 ? {} : await finding.serviceAddresses(spec.services),
  }
}

/** Looks again in every interval, as long as there is something that can change. */
function following(
  { clock, log }: Finding,
  spec: NetworkSpec,
  ask: () => Promise<NetworkAsk>,
  first: NetworkPlan['follow'],
): NonNullable<Prepared['follow']> {
  return async (perform, until) => {
    let follow = first
    const isFixed = [...spec.hosts, ...spec.allowedHosts].length === 0 && spec.services.length === 0
    for (;;) {
      if (!isFixed) await clock.sleep(spec.hostResolveIntervalMs, until)
      if (isFixed || until.aborted) return
      // Whom it asks may be back at the next look.
      const next = await ask().then(follow, (error: unknown) => ({ unsupported: [textOf(error)] }))
      if ('unsupported' in next) log.warn('addresses are left as they are', { why: next.unsupported })
      else {
        await perform(next.commands)
        if (next.commands.length > 0) log.info('addresses have changed', { commands: next.commands.length })
        follow = next.follow
      }
    }
  }
}
