// Takes a load through its operations and measures each: time, requests, CPU and memory.
//
//   M1. An operation ends when all objects have finished AND no event has come for two seconds, so that later work of Pawl counts too.
//   M2. The request counters are read outside of the time in which CPU is measured, because reading them costs the API server CPU.

import { setTimeout as sleep } from 'node:timers/promises'
import { loadavg } from 'node:os'

import { busySeconds, ProcessMeter, type ProcessTree, type Usages } from '../processes.ts'
import { readCounters, requestsBetween, type Requests } from '../requests.ts'
import type { Stage } from '../servers.ts'
import { quantile, sum } from '../statistics.ts'
import { Load, VERBS } from './load.ts'
import { type Operation, OPERATIONS, type Plan } from './subject.ts'

export interface Measurement {
  readonly objects: number
  readonly wallMs: number
  /** Percentiles over the objects, from the request to the end. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly requests: Requests
  /** By part of the set. */
  readonly usages: Usages
  /** The sum over all parts of the set. */
  readonly cpuSeconds: number
  readonly benchCpuSeconds: number
  /** CPU of processes outside of the set and the bench. A high value means a disturbed measurement. */
  readonly otherCpuSeconds: number
  /** The load of the machine over one minute, before the operation. */
  readonly machineLoad: number
}

const SILENCE_MS = 2000
const QUIET_MS = 250
/** Compiles code, and fills caches and connection pools. */
const WARM_UP: Plan = { objects: 20, items: 5, shape: 'wide', deployer: 'mock' }

/** Creates the load, measures the operations, and deletes the load. @throws as `measure` does. */
export async function measureLoad(
  { kube, set, options }: Stage,
  plan: Plan,
  operations: readonly Operation[],
  onMeasured: (operation: Operation, measured: Measurement) => void,
): Promise<void> {
  const load = await Load.open({ kube, set }, plan)
  try {
    for (const operation of load.subject.operations.filter((one) => one === 'create' || operations.includes(one)))
      onMeasured(operation, await measure(load, operation, { processes: set.processes, timeoutMs: options.timeoutMs }))
  } finally {
    await load.close()
  }
}

export async function warmUp(stage: Stage): Promise<void> {
  if (!stage.options.warmUp) return
  stage.log('warm-up')
  await measureLoad(stage, WARM_UP, OPERATIONS, () => undefined)
}

/** @throws when an object fails or does not finish in time, or the cluster has other objects than expected. */
async function measure(
  load: Load,
  operation: Operation,
  { processes, timeoutMs }: { readonly processes: readonly ProcessTree[]; readonly timeoutMs: number },
): Promise<Measurement> {
  const { plan, place } = load
  const countersBefore = await readCounters(place.kube)
  await sleep(QUIET_MS)
  const machineLoad = loadavg()[0] ?? NaN
  const [busyBefore, benchBefore] = [busySeconds(), process.cpuUsage()]
  const meter = new ProcessMeter(processes)
  const { wallMs, ends, failed, missing } = await load.run(operation, { timeoutMs })
  // M1
  if (missing.length === 0) await load.waitForSilence(SILENCE_MS)
  const usages = meter.end()
  const bench = process.cpuUsage(benchBefore)
  const busy = busySeconds() - busyBefore

  throwIfAny(operation, 'did not finish in time', missing)
  throwIfAny(operation, 'failed', failed)
  const own = { [`${VERBS[operation]} ${load.subject.resource.plural}`]: plan.objects }
  const requests = requestsBetween(countersBefore, await readCounters(place.kube), own)
  throwIfAny(operation, 'left unexpected objects', await findDifferences(load, operation))

  const cpuSeconds = sum(Object.values(usages).map((usage) => usage.cpuSeconds))
  const latencies = ends.map(({ sentMs, doneMs }) => doneMs - sentMs)
  const benchCpuSeconds = (bench.user + bench.system) / 1e6
  return {
    objects: plan.objects,
    wallMs,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    requests,
    usages,
    cpuSeconds,
    benchCpuSeconds,
    otherCpuSeconds: busy - cpuSeconds - benchCpuSeconds,
    machineLoad,
  }
}

const MOST_SHOWN = 3

function throwIfAny(operation: Operation, problem: string, subjects: readonly string[]): void {
  if (subjects.length === 0) return
  const more = subjects.length > MOST_SHOWN ? `, and ${subjects.length - MOST_SHOWN} more` : ''
  throw new Error(`${operation} ${problem}: ${subjects.slice(0, MOST_SHOWN).join('; ')}${more}`)
}

/** Compares the objects in the cluster with the plan. @returns one sentence for each difference. */
async function findDifferences({ subject, place, plan, jobIDs }: Load, operation: Operation): Promise<string[]> {
  const counts = await subject.counts(place, plan, { operation, jobIDs })
  return counts
    .filter(([, count, expected]) => count !== expected)
    .map(([what, count, expected]) => `${what}: found ${count}, expected ${expected}`)
}
