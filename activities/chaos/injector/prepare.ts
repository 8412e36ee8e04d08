// The pre-run: collects the facts that a kind needs and plans the injection. This is the only phase that differs
// between kinds. Source: seeds/chaos-controller.txt "Step 2: pre-run".

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
import { containerMatch, groupOf, type GroupRoots, diskFacts } from './control-groups.ts'
import type { PreRun } from './pre-run.ts'
import type { Prepared } from './injection.ts'
import { capabilitiesOf, matchCapabilities, prepareNetwork, existingChainProblems } from './prepare-network.ts'
import { bootTime, networkOf, readText } from './processes.ts'
import { parseResolvConf } from './resolve-hosts.ts'
import { SIMULATED_DISK, SIMULATED_GROUP, SIMULATED_LIMIT_BYTES } from './simulation.ts'

/** The containers of one injection, at least one; a node counts as one. */
export type Containers = readonly [FoundContainer, ...FoundContainer[]]

/** Kinds that are injected into each container; other kinds once per target, because they disrupt a shared resource. */
const EACH_CONTAINER: ReadonlySet<string> = new Set<KindSpec['kind']>([
  ...(['container-failure', 'cpu-pressure', 'memory-pressure', 'disk-pressure', 'disk-failure'] as const),
])

export function isOncePerTarget({ kind }: KindSpec): boolean {
  return !EACH_CONTAINER.has(kind)
}

type SpecOf<Kind extends KindSpec['kind']> = Extract<KindSpec, { readonly kind: Kind }>

/** @throws if a fact cannot be collected. */
export async function prepare(preRun: PreRun, { spec, common }: Invocation, containers: Containers): Promise<Prepared> {
  const [{ main }] = containers
  switch (spec.kind) {
    case 'network-disruption':
      return await prepareNetwork(preRun, spec.network, common, await networkTarget(preRun, containers))
    case 'container-failure':
      return { plan: planContainerFailure(spec, main) }
    case 'node-failure':
      return await prepareNodeFailure(preRun, spec, common)
    case 'cpu-pressure':
      return await prepareCpu(preRun, spec, main.pid)
    case 'memory-pressure':
      return await prepareMemory(preRun, spec, main.pid)
    case 'disk-pressure':
      return { plan: planDiskPressure(spec, await targetDisk(preRun, spec, common, main.pid)) }
    case 'dns-disruption':
      return await prepareDns(preRun, spec, containers)
    case 'disk-failure':
      return refused('disk-failure needs an eBPF program that overrides what openat returns, which Pawl does not ship')
    case 'grpc-disruption':
      return prepareGrpc(spec, common)
    case 'pod-replacement':
      return await preparePodReplacement(preRun, spec, common)
  }
}

async function prepareNodeFailure(
  { settings, cluster, clock }: PreRun,
  spec: SpecOf<'node-failure'>,
  { chaosNamespace }: CommonFlags,
): Promise<Prepared> {
  if (cluster !== undefined && settings.pod !== '') {
    const { startOfPod } = await import('./cluster.ts')
    const pod = { namespace: chaosNamespace, name: settings.pod }
    const started = await startOfPod(await cluster.client(), pod, clock)
    const booted = await bootTime(settings.proc)
    // A kubelet that has lost its state may start the containers of a pod again.
    if (started !== undefined && booted !== undefined && started < booted)
      throw new Error('the node has restarted since this pod started: the failure is done and is not repeated')
  }
  const before = (await readText(settings.sysrq))?.trim()
  const files = { enable: settings.sysrq, trigger: settings.sysrqTrigger }
  return { plan: planNodeFailure(spec, files, before === '' ? undefined : before) }
}

function prepareGrpc(spec: SpecOf<'grpc-disruption'>, { targetPodIp }: CommonFlags): Prepared {
  if (targetPodIp === undefined) return refused('--target-pod-ip is missing; pass the address of the target')
  return { plan: planGrpc(spec, `${targetPodIp}:${spec.port}`) }
}

async function preparePodReplacement(
  { cluster }: PreRun,
  spec: SpecOf<'pod-replacement'>,
  common: CommonFlags,
): Promise<Prepared> {
  if (cluster === undefined)
    return refused('pod-replacement needs a cluster, and the injector has no connection to one')
  const { replacementFacts } = await import('./cluster.ts')
  return { plan: planPodReplacement(spec, await replacementFacts(await cluster.client(), common)) }
}

async function targetDisk(
  preRun: PreRun,
  { path }: SpecOf<'disk-pressure'>,
  { level }: CommonFlags,
  pid: number,
): Promise<DiskFacts> {
  const { isSimulated, host } = preRun.settings
  return isSimulated ? SIMULATED_DISK : await diskFacts(rootsOf(preRun), { level, host, pid, path })
}

async function targetGroup(preRun: PreRun, pid: number, controller: string) {
  return preRun.settings.isSimulated ? SIMULATED_GROUP : await groupOf(rootsOf(preRun), pid, controller)
}

function refused(why: string): Prepared {
  const plan: Unsupported = { unsupported: [why] }
  return { plan }
}

async function networkTarget(preRun: PreRun, containers: Containers) {
  const inspected = preRun.settings.isSimulated ? [] : containers
  const matches = await Promise.all(inspected.map(({ main }) => containerMatch(rootsOf(preRun), main.pid)))
  return {
    network: await networkNamespaceOf(preRun, containers[0]),
    // If one container cannot be distinguished, the whole pod is disrupted.
    containers: matches.every((match) => match !== undefined) ? matches : [],
  }
}

async function networkNamespaceOf({ settings }: PreRun, { name, main }: FoundContainer): Promise<NetworkRef> {
  const network = await networkOf(settings.proc, main.pid)
  if (network !== undefined) return network
  throw new Error(`container ${name}: the network namespace of process ${main.pid} cannot be read`)
}

async function prepareCpu(preRun: PreRun, spec: SpecOf<'cpu-pressure'>, pid: number): Promise<Prepared> {
  const status = await readText(join(preRun.settings.proc, String(pid), 'status'))
  const [, list = ''] = /^Cpus_allowed_list:\s+(\S+)$/m.exec(status ?? '') ?? []
  const groups = await Promise.all(['cpu', 'cpuset', 'cpuacct'].map((name) => targetGroup(preRun, pid, name)))
  const joins = procsOf(groups)
  // Outside of the group, the child would take CPU from other workloads.
  if (joins.length === 0) return refused('the target has no control group for CPU')
  return { plan: planCpuPressure(spec, { joins, cpus: countCpus(list) }) }
}

async function prepareMemory(preRun: PreRun, spec: SpecOf<'memory-pressure'>, pid: number): Promise<Prepared> {
  const group = await targetGroup(preRun, pid, 'memory')
  if (group === undefined) return refused('the target has no control group for memory')
  const files =
    group.version === 1 ? ['memory.limit_in_bytes', 'memory.usage_in_bytes'] : ['memory.max', 'memory.current']
  const [limit = '', usageFile = ''] = files.map((file) => join(group.folder, file))
  const limitBytes = preRun.settings.isSimulated ? SIMULATED_LIMIT_BYTES : readLimit(await readText(limit))
  return { plan: planMemoryPressure(spec, { joins: procsOf([group]), limitBytes, usageFile }) }
}

async function prepareDns(preRun: PreRun, spec: SpecOf<'dns-disruption'>, containers: Containers): Promise<Prepared> {
  const { settings } = preRun
  const target = await networkTarget(preRun, containers)
  const missing = await capabilitiesOf(preRun)
  const lacking = [
    ...(settings.isSimulated ? [] : await existingChainProblems(preRun, target.network, ['nat', DNS_CHAIN])),
    ...lacks(missing, ['restore', 'redirect', ...matchCapabilities(target.containers)]),
    ...(settings.podIp === undefined ? ['CHAOS_POD_IP is missing; set it to the address of this pod'] : []),
  ]
  if (lacking.length > 0 || settings.podIp === undefined) return { plan: { unsupported: lacking } }
  const conf = await readText(join(settings.proc, String(containers[0].main.pid), 'root/etc/resolv.conf'))
  const servers = conf === undefined ? [] : parseResolvConf(conf).servers
  // Source: spec/chaos.md 3.7.
  const upstreams = (servers.length > 0 ? servers : ['8.8.8.8']).map((server) => `${server}:53`)
  const facts = { responderIp: settings.podIp, upstreams, containers: target.containers }
  return { plan: planDns(spec, facts), network: target.network }
}

function rootsOf({ settings, run }: PreRun): GroupRoots {
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

/** Version 2 has `max`, version 1 a number beyond any memory size. */
function readLimit(text: string | undefined): number | undefined {
  const limit = Number(text?.trim() ?? 'max')
  return Number.isNaN(limit) || limit >= 2 ** 60 ? undefined : limit
}
