// The pre-run: finds out what a kind has to know of its target, and plans. The only phase in which kinds differ.
// Source: seeds/chaos-controller.txt "Step 2: pre-run".

import { join } from 'node:path'

import type { NetworkRef, Unsupported } from '../../../workflows/chaos/injector/command.ts'
import type { CommonFlags, Invocation, KindSpec } from '../../../workflows/chaos/injector/invocation.ts'
import {
  type DiskFacts,
  planContainerFailure,
  planCpuPressure,
  planDiskPressure,
  planDns,
  planGrpc,
  planMemoryPressure,
  planNodeFailure,
  planPodReplacement,
} from '../../../workflows/chaos/injector/plan.ts'
import { DNS_CHAIN } from '../../../workflows/chaos/injector/marks.ts'
import { lacks } from './capabilities.ts'
import type { FoundContainer } from './containers.ts'
import { containerMatch, groupOf, type GroupRoots } from './control-groups.ts'
import { diskFacts } from './disk-facts.ts'
import type { Finding } from './finding.ts'
import type { Prepared } from './one-injection.ts'
import { capabilitiesOf, matchNeeds, prepareNetwork, takenBy } from './prepare-network.ts'
import { bootTime, networkOf, readText } from './processes.ts'
import { parseResolvConf } from './resolve-hosts.ts'
import { SIMULATED_DISK, SIMULATED_GROUP, SIMULATED_LIMIT_BYTES } from './simulation.ts'

/** The containers that one injection is about, at least one; a node counts as one. */
export type Containers = readonly [FoundContainer, ...FoundContainer[]]

/** Kinds that are injected into each container; others once for the whole target, as what they disturb is shared. */
const EACH_CONTAINER: ReadonlySet<string> = new Set<KindSpec['kind']>([
  ...(['container-failure', 'cpu-pressure', 'memory-pressure', 'disk-pressure', 'disk-failure'] as const),
])

export function isOncePerTarget({ kind }: KindSpec): boolean {
  return !EACH_CONTAINER.has(kind)
}

type SpecOf<Kind extends KindSpec['kind']> = Extract<KindSpec, { readonly kind: Kind }>

/** @throws with what could not be found out. */
export async function prepare(
  finding: Finding,
  { spec, common }: Invocation,
  containers: Containers,
): Promise<Prepared> {
  const [{ main }] = containers
  switch (spec.kind) {
    case 'network-disruption':
      return await prepareNetwork(finding, spec.network, common, await networkTarget(finding, containers))
    case 'container-failure':
      return { plan: planContainerFailure(spec, main) }
    case 'node-failure':
      return await prepareNodeFailure(finding, spec, common)
    case 'cpu-pressure':
      return await prepareCpu(finding, spec, main.pid)
    case 'memory-pressure':
      return await prepareMemory(finding, spec, main.pid)
    case 'disk-pressure':
      return { plan: planDiskPressure(spec, await targetDisk(finding, spec, common, main.pid)) }
    case 'dns-disruption':
      return await prepareDns(finding, spec, containers)
    case 'disk-failure':
      return refused('disk-failure needs an eBPF program that overrides what openat returns, which Pawl does not ship')
    case 'grpc-disruption':
      return prepareGrpc(spec, common)
    case 'pod-replacement':
      return await preparePodReplacement(finding, spec, common)
  }
}

async function prepareNodeFailure(
  { settings, cluster, clock }: Finding,
  spec: SpecOf<'node-failure'>,
  { chaosNamespace }: CommonFlags,
): Promise<Prepared> {
  if (cluster !== undefined && settings.pod !== '') {
    const { startOfPod } = await import('./own-pod.ts')
    const pod = { namespace: chaosNamespace, name: settings.pod }
    const started = await startOfPod(await cluster.client(), pod, clock)
    const booted = await bootTime(settings.proc)
    // A kubelet that has lost what it knew may start the containers of a pod once more.
    if (started !== undefined && booted !== undefined && started < booted)
      throw new Error('the node was started again since this pod was: it has failed, and is not made to fail again')
  }
  const before = (await readText(settings.sysrq))?.trim()
  const files = { enable: settings.sysrq, trigger: settings.sysrqTrigger }
  return { plan: planNodeFailure(spec, files, before === '' ? undefined : before) }
}

function prepareGrpc(spec: SpecOf<'grpc-disruption'>, { targetPodIp }: CommonFlags): Prepared {
  if (targetPodIp === undefined) return refused('the address of the target is not known: --target-pod-ip is not given')
  return { plan: planGrpc(spec, `${targetPodIp}:${spec.port}`) }
}

async function preparePodReplacement(
  { cluster }: Finding,
  spec: SpecOf<'pod-replacement'>,
  common: CommonFlags,
): Promise<Prepared> {
  if (cluster === undefined) return refused('pods are replaced in a cluster only, and there is none')
  const { replacementFacts } = await import('./pod-facts.ts')
  return { plan: planPodReplacement(spec, await replacementFacts(await cluster.client(), common)) }
}

async function targetDisk(
  finding: Finding,
  { path }: SpecOf<'disk-pressure'>,
  { level }: CommonFlags,
  pid: number,
): Promise<DiskFacts> {
  const { isSimulated, host } = finding.settings
  return isSimulated ? SIMULATED_DISK : await diskFacts(rootsOf(finding), { level, host, pid, path })
}

async function targetGroup(finding: Finding, pid: number, controller: string) {
  return finding.settings.isSimulated ? SIMULATED_GROUP : await groupOf(rootsOf(finding), pid, controller)
}

function refused(why: string): Prepared {
  const plan: Unsupported = { unsupported: [why] }
  return { plan }
}

async function networkTarget(finding: Finding, containers: Containers) {
  const looked = finding.settings.isSimulated ? [] : containers
  const matches = await Promise.all(looked.map(({ main }) => containerMatch(rootsOf(finding), main.pid)))
  return {
    network: await networkFound(finding, containers[0]),
    // When one of them cannot be told apart, none can.
    containers: matches.every((match) => match !== undefined) ? matches : [],
  }
}

async function networkFound({ settings }: Finding, { name, main }: FoundContainer): Promise<NetworkRef> {
  const network = await networkOf(settings.proc, main.pid)
  if (network !== undefined) return network
  throw new Error(`container ${name}: the network of process ${main.pid} cannot be seen`)
}

async function prepareCpu(finding: Finding, spec: SpecOf<'cpu-pressure'>, pid: number): Promise<Prepared> {
  const status = await readText(join(finding.settings.proc, String(pid), 'status'))
  const [, list = ''] = /^Cpus_allowed_list:\s+(\S+)$/m.exec(status ?? '') ?? []
  const groups = await Promise.all(['cpu', 'cpuset', 'cpuacct'].map((name) => targetGroup(finding, pid, name)))
  const joins = procsOf(groups)
  // Outside of it, the child would take from everybody.
  if (joins.length === 0) return refused('no control group accounts for the CPU of the target')
  return { plan: planCpuPressure(spec, { joins, cpus: countCpus(list) }) }
}

async function prepareMemory(finding: Finding, spec: SpecOf<'memory-pressure'>, pid: number): Promise<Prepared> {
  const group = await targetGroup(finding, pid, 'memory')
  if (group === undefined) return refused('no control group accounts for the memory of the target')
  const files =
    group.version === 1 ? ['memory.limit_in_bytes', 'memory.usage_in_bytes'] : ['memory.max', 'memory.current']
  const [limit = '', usageFile = ''] = files.map((file) => join(group.folder, file))
  const limitBytes = finding.settings.isSimulated ? SIMULATED_LIMIT_BYTES : readLimit(await readText(limit))
  return { plan: planMemoryPressure(spec, { joins: procsOf([group]), limitBytes, usageFile }) }
}

async function prepareDns(finding: Finding, spec: SpecOf<'dns-disruption'>, containers: Containers): Promise<Prepared> {
  const { settings } = finding
  const target = await networkTarget(finding, containers)
  const missing = await capabilitiesOf(finding)
  const lacking = [
    ...(settings.isSimulated ? [] : await takenBy(finding, target.network, ['nat', DNS_CHAIN])),
    ...lacks(missing, ['restore', 'redirect', ...matchNeeds(target.containers)]),
    ...(settings.podIp === undefined ? ['the address of this pod is not known: CHAOS_POD_IP is not set'] : []),
  ]
  if (lacking.length > 0 || settings.podIp === undefined) return { plan: { unsupported: lacking } }
  const conf = await readText(join(settings.proc, String(containers[0].main.pid), 'root/etc/resolv.conf'))
  const servers = conf === undefined ? [] : parseResolvConf(conf).servers
  // Source: spec/chaos.md 3.7.
  const upstreams = (servers.length > 0 ? servers : ['8.8.8.8']).map((server) => `${server}:53`)
  const facts = { responderIp: settings.podIp, upstreams, containers: target.containers }
  return { plan: planDns(spec, facts), network: target.network }
}

function rootsOf({ settings, run }: Finding): GroupRoots {
  return { proc: settings.proc, cgroup: settings.cgroup, run }
}

function procsOf(groups: readonly ({ readonly folder: string } | undefined)[]): readonly string[] {
  const folders = groups.flatMap((group) => (group === undefined ? [] : [group.folder]))
  return [...new Set(folders)].map((folder) => join(folder, 'cgroup.procs'))
}

/** Such as `0-3,8`: five. */
function countCpus(list: string): number {
  return list.split(',').reduce((sum, range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return sum + last - first + 1
  }, 0)
}

/** Version 2 says `max`, version 1 a number beyond all memory. */
function readLimit(text: string | undefined): number | undefined {
  const limit = Number(text?.trim() ?? 'max')
  return Number.isNaN(limit) || limit >= 2 ** 60 ? undefined : limit
}
