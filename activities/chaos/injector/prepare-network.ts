// The pre-run of a network disruption: chooses the backend, and collects interfaces and addresses.

import { isUnsupported, type NetworkRef } from '../../../workflows/chaos/injector/command.ts'
import type { CommonFlags, NetworkSpec } from '../../../workflows/chaos/injector/invocation.ts'
import type { NetworkRequest } from '../../../workflows/chaos/injector/network/filters.ts'
import type {
  ContainerMatch,
  NetworkFacts,
  NetworkInterface,
} from '../../../workflows/chaos/injector/network/network-spec.ts'
import { NETWORK_CHAIN } from '../../../workflows/chaos/injector/marks.ts'
import {
  type NetworkBackend,
  type NetworkPlan,
  planNetwork,
} from '../../../workflows/chaos/injector/network/plan-network.ts'
import { type Capability, knownCapabilities, lacks, type Missing } from './capabilities.ts'
import type { PreRun } from './pre-run.ts'
import { textOf } from './log.ts'
import type { Prepared } from './injection.ts'
import { resolveHosts } from './resolve-hosts.ts'
import { SIMULATED_LINKS } from './simulation.ts'
import { networkPath } from './processes.ts'
import type { Run } from './shell.ts'

interface NetworkTarget {
  readonly network: NetworkRef
  readonly containers: readonly ContainerMatch[]
}

export async function prepareNetwork(
  preRun: PreRun,
  spec: NetworkSpec,
  common: CommonFlags,
  target: NetworkTarget,
): Promise<Prepared> {
  const { isSimulated } = preRun.settings
  const missing = await capabilitiesOf(preRun)
  const backend = preRun.settings.backend ?? backendFor(missing)
  const links = isSimulated ? SIMULATED_LINKS : await linkFacts(preRun.settings.proc, preRun.run, target.network)
  const ask = async (): Promise<NetworkRequest> => ({
    spec,
    common,
    facts: { ...links, ...(await addressFacts(preRun, spec)), ...fixedFacts(preRun, target, missing) },
  })
  const first = await ask()
  const lacking = [
    ...lacks(missing, requiredCapabilities(backend, first)),
    ...(isSimulated ? [] : await existingChainProblems(preRun, target.network, ['mangle', NETWORK_CHAIN])),
  ]
  const plan = lacking.length > 0 ? { unsupported: lacking } : planNetwork(first, backend)
  if (target.containers.length === 0 && common.level === 'pod' && !isSimulated)
    preRun.log.warn('this machine cannot distinguish the containers of a pod; the whole pod is disrupted')
  if (isUnsupported(plan)) return { plan, network: target.network }
  return { plan, network: target.network, follow: addressUpdates(preRun, spec, ask, plan.follow) }
}

/** The missing capabilities of this machine. A simulation assumes that none is missing. */
export async function capabilitiesOf({ run, settings }: PreRun): Promise<Missing> {
  return settings.isSimulated ? {} : await knownCapabilities(run, settings.proc, settings.stateFolder)
}

/** Reports another injector's chain: each network namespace has one chain. */
export async function existingChainProblems(
  { run, settings }: PreRun,
  network: NetworkRef,
  [table, chain]: readonly [string, string],
): Promise<readonly string[]> {
  return (await hasChain({ proc: settings.proc, run, network }, table, chain))
    ? [`the target is already disrupted: its table ${table} has the chain ${chain}`]
    : []
}

/** The reference backend supports more effects, if the kernel has netem. */
function backendFor(missing: Missing): NetworkBackend {
  const reference: readonly Capability[] = ['prio', 'netem', 'flower', 'fw', 'tbf']
  return reference.every((name) => missing[name] === undefined) ? 'tc-reference' : 'iptables-htb'
}

function requiredCapabilities(backend: NetworkBackend, { spec, common, facts }: NetworkRequest): readonly Capability[] {
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
    ...(isOfContainer ? matchCapabilities(facts.containers) : []),
  ]
}

/** The capabilities that matching these containers needs. */
export function matchCapabilities(containers: readonly ContainerMatch[]): readonly Capability[] {
  return [...new Set(containers.map(({ version }) => (version === 2 ? 'groupPath' : 'groupClass')))]
}

function fixedFacts({ settings }: PreRun, { containers }: NetworkTarget, missing: Missing) {
  return {
    hasFwFilter: missing.fw === undefined,
    ...(settings.nodeIp === undefined ? {} : { nodeIp: settings.nodeIp }),
    containers,
  }
}

async function addressFacts(preRun: PreRun, spec: NetworkSpec): Promise<Pick<NetworkFacts, 'resolved' | 'services'>> {
  const complain = (host: string, error: string) => preRun.log.warn('host not resolved', { host, error })
  return {
    resolved: await resolveHosts(spec, preRun.lookup, complain),
    services: spec.services.length === 0 ? {} : await preRun.serviceAddresses(spec.services),
  }
}

/** Resolves the addresses again after each interval, if any can change. */
function addressUpdates(
  { clock, log }: PreRun,
  spec: NetworkSpec,
  ask: () => Promise<NetworkRequest>,
  first: NetworkPlan['follow'],
): NonNullable<Prepared['follow']> {
  return async (perform, until) => {
    let follow = first
    const isFixed = [...spec.hosts, ...spec.allowedHosts].length === 0 && spec.services.length === 0
    for (;;) {
      if (!isFixed) await clock.sleep(spec.hostResolveIntervalMs, until)
      if (isFixed || until.aborted) return
      // A name server or API server may answer again next time.
      const next = await ask().then(follow, (error: unknown) => ({ unsupported: [textOf(error)] }))
      if ('unsupported' in next)
        log.warn('the new addresses cannot be injected; the previous ones stay', { why: next.unsupported })
      else {
        await perform(next.commands)
        if (next.commands.length > 0) log.info('addresses have changed', { commands: next.commands.length })
        follow = next.follow
      }
    }
  }
}

type LinkFacts = Pick<NetworkFacts, 'interfaces' | 'gateway'>

/** @throws if a program fails. */
export async function linkFacts(proc: string, run: Run, network: NetworkRef): Promise<LinkFacts> {
  const path = await networkPath(proc, network)
  if (path === undefined) throw new Error(`the network namespace of process ${network.pid} does not exist any more`)
  const ask = async (...argv: readonly string[]) => await runJson(run, ['nsenter', `--net=${path}`, '--', ...argv])
  const links = await ask('ip', '-j', 'link', 'show')
  const qdiscs = await ask('tc', '-j', 'qdisc', 'show')
  const routes = await ask('ip', '-j', 'route', 'show', 'default')
  const [route] = routes
  const gateway = text(route?.['gateway'])
  const link = text(route?.['dev'])
  return {
    interfaces: links.map((one) => interfaceOf(one, qdiscs)),
    ...(gateway === '' || link === '' ? {} : { gateway: { ip: gateway, link } }),
  }
}

export interface NetworkAccess {
  readonly proc: string
  readonly run: Run
  readonly network: NetworkRef
}

/** Whether a table has the chain. */
export async function hasChain({ proc, run, network }: NetworkAccess, table: string, chain: string): Promise<boolean> {
  const path = await networkPath(proc, network)
  if (path === undefined) return false
  const { code } = await run(['nsenter', `--net=${path}`, '--', 'iptables', '-w', '-t', table, '-S', chain])
  return code === 0
}

type Row = Readonly<Record<string, unknown>>

/** Default queueing disciplines of the kernel have no handle, except multi-queue ones. */
function interfaceOf(link: Row, qdiscs: readonly Row[]): NetworkInterface {
  const name = text(link['ifname'])
  const root = qdiscs.find((one) => one['dev'] === name && one['root'] === true)
  const isSet = root !== undefined && text(root['handle']) !== '0:' && text(root['kind']) !== 'mq'
  return {
    name,
    qlen: Number(link['txqlen'] ?? 0),
    ...(isSet ? { rootQdisc: `${text(root['kind'])} ${text(root['handle'])}` } : {}),
  }
}

async function runJson(run: Run, argv: readonly string[]): Promise<readonly Row[]> {
  const { code, stdout, stderr } = await run(argv)
  if (code !== 0) throw new Error(`${argv.join(' ')}: exit code ${code}: ${stderr.trim()}`)
  const rows: unknown = JSON.parse(stdout.trim() === '' ? '[]' : stdout)
  return Array.isArray(rows) ? rows.filter((row): row is Row => typeof row === 'object' && row !== null) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
