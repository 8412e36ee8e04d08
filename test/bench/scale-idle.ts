// Part of scale: very many Installations that nobody triggered, and what a restart of bridge and worker costs then.

import { setTimeout as sleep } from 'node:timers/promises'

import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'
import { API } from '../support/cluster/cluster.ts'
import { type BenchNamespaces, openNamespaces } from './bench-namespaces.ts'
import type { Claim } from './claims.ts'
import { installationBody, type Plan } from './installations.ts'
import { count, figure, markdownTable } from './markdown.ts'
import type { Restart } from './part-restarts.ts'
import { cpuSecondsOf, residentMiB } from './process-figures.ts'
import { ProcessMeter, type Usages } from './processes.ts'
import { readCounters, type Requests, requestsBetween } from './requests.ts'
import { type PartResult, sized } from './scale-part.ts'
import type { Stage } from './stage.ts'
import { sum } from './statistics.ts'

const INSTALLATIONS = 10_000
const NAMESPACES = 20
const PARALLEL = 16
const RESTARTED = ['bridge', 'worker']
/** So that the sweep of the start and a minute's one are in it. */
const IDLE_MS = 70_000
const TINY_IDLE_MS = 15_000
const QUIET_MS = 3000

interface Found {
  readonly restart: Restart
  readonly requests: Requests
  /** Of bridge and worker, from their start to the end of the idle time; idle time alone; memory at its end. */
  readonly parts: readonly { readonly name: string; readonly startCpu: number; readonly memoryMiB: number }[]
  readonly idle: Usages
  readonly idleMs: number
}

export async function measureIdle(stage: Stage): Promise<PartResult> {
  const { say } = stage
  const installations = sized(INSTALLATIONS, stage.options.scenarioOptions.size)
  const namespaces = await openNamespaces(stage, NAMESPACES)
  const { restart } = stage.set
  if (restart === undefined) throw new Error("idle: found a set that is not the bench's own, expected one to restart")
  try {
    const empty = await observe(stage, restart)
    await createIdle(stage, namespaces, installations)
    say(`scale: ${installations} idle Installations`)
    await sleep(QUIET_MS)
    const full = await observe(stage, restart)
    await removeIdle(stage, namespaces)
    return describe(installations, empty, full)
  } finally {
    await namespaces.close()
  }
}

async function observe(
  { kube, set, options }: Stage,
  restart: (names: readonly string[]) => Promise<Restart>,
): Promise<Found> {
  const before = await readCounters(kube)
  const took = await restart(RESTARTED)
  const restarted = set.processes.filter(({ name }) => RESTARTED.includes(name))
  await sleep(QUIET_MS)
  const cpu = restarted.map(({ name, pid }) => ({ name, startCpu: cpuSecondsOf(pid) }))
  const idleMs = options.scenarioOptions.size === 'tiny' ? TINY_IDLE_MS : IDLE_MS
  const meter = new ProcessMeter(set.processes)
  await sleep(idleMs)
  const idle = meter.end()
  return {
    restart: took,
    requests: requestsBetween(before, await readCounters(kube), {}),
    parts: cpu.map(({ name, startCpu }, index) => ({
      name,
      startCpu,
      memoryMiB: residentMiB(restarted[index]?.pid ?? 0),
    })),
    idle,
    idleMs,
  }
}

async function createIdle({ kube }: Stage, { names }: BenchNamespaces, installations: number): Promise<void> {
  const plan: Plan = { installations, items: 5, shape: 'wide', deployer: 'mock' }
  const indexes = Array.from({ length: installations }, (_, index) => index)
  await inParallel(indexes, PARALLEL, async (index) => {
    const namespace = names[index % names.length] ?? ''
    const { metadata, ...rest } = installationBody(plan, index, namespace)
    const body = { ...rest, metadata: { name: metadata.name, namespace } }
    await kube.request('POST', resourcePath({ apiVersion: API, plural: 'installations' }, namespace), { body })
  })
}

/** Idle ones have no finalizer: they are gone at once. */
async function removeIdle({ kube }: Stage, { names }: BenchNamespaces): Promise<void> {
  for (const namespace of names) {
    const path = resourcePath({ apiVersion: API, plural: 'installations' }, namespace)
    await kube.request('DELETE', path)
    const { items } = await kube.request<ObjectList>('GET', path)
    if (items.length > 0)
      throw new Error(`idle: found ${items.length} Installations after their deletion, expected none`)
  }
}

function describe(installations: number, empty: Found, full: Found): PartResult {
  const line = (title: string, { restart, requests, parts, idle, idleMs }: Found) => {
    const [bridge, worker] = RESTARTED.map((name) => parts.find((part) => part.name === name))
    const cores = (sum(Object.values(idle).map(({ cpuSeconds }) => cpuSeconds)) * 1000) / idleMs
    return [
      title,
      figure(restart.stopMs / 1000),
      figure(restart.readyMs / 1000),
      figure(bridge?.startCpu),
      figure(worker?.startCpu),
      ...[requests.reads, requests.writes].map(count),
      figure(bridge?.memoryMiB),
      figure(worker?.memoryMiB),
      figure(cores),
    ]
  }
  const header = ['', 'stopped, s', 'ready, s', 'CPU bridge, s', 'CPU worker, s', 'reads', 'writes']
  const memory = ['memory bridge, MiB', 'memory worker, MiB', 'cores while idle']
  const title = `${count(installations)} idle Installations`
  const text = [
    `Restart of bridge and worker, and ${figure(full.idleMs / 1000)} s after it. CPU of their start, until ${QUIET_MS / 1000} s after both are ready; cores of the whole set.`,
    markdownTable([...header, ...memory], [line('nothing in the cluster', empty), line(title, full)]),
  ].join('\n\n')
  const { writes } = full.requests
  const claim: Claim = { sentence: 'a restart writes nothing', found: `${writes} writes`, isKept: writes === 0 }
  return { title, text, claims: [claim] }
}
