// One operation of a load, with everything that is measured around it.
//
//   M1. It is over when all Installations are finished AND nothing has changed for two seconds: what the engine does afterwards counts, too.
//   M2. Counters are read outside of the time in which CPU is measured; reading them is work for the API server.

import { setTimeout as sleep } from 'node:timers/promises'

import { VERBS, type Load, type Operation } from './load.ts'
import { busySeconds, load as machineLoad } from './machine.ts'
import { ProcessMeter, type ProcessTree, type Usages } from './processes.ts'
import { readCounters, requestsBetween, type Requests } from './requests.ts'
import { quantile, sum } from './statistics.ts'
import { findWrong } from './verify.ts'

export interface Measurement {
  readonly wallMs: number
  /** Until the last request was answered. */
  readonly submitMs: number
  /** Per Installation, from its request. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly requests: Requests
  /** By part of the set. */
  readonly usages: Usages
  /** Of all parts of the set. */
  readonly cpuSeconds: number
  readonly benchCpuSeconds: number
  /** Used by neither the set nor the bench: a high value is a disturbed measurement. */
  readonly otherCpuSeconds: number
  /** Of the machine before, over one minute. */
  readonly load: number
}

const SETTLE_MS = 2000
const QUIET_MS = 250

/** @throws when an Installation failed, was not finished in time, or something else is in the cluster than has to be. */
export async function measure(
  load: Load,
  operation: Operation,
  options: { readonly processes: readonly ProcessTree[]; readonly timeoutMs: number },
): Promise<Measurement> {
  const { kube, plan } = load
  const countersBefore = await readCounters(kube)
  await sleep(QUIET_MS)
  const loadBefore = machineLoad()
  const [busyBefore, benchBefore] = [busySeconds(), process.cpuUsage()]
  const meter = new ProcessMeter(options.processes)
  const course = await load.run(operation, options)
  if (course.missing.length === 0) await load.settle(SETTLE_MS)
  const usages = meter.end()
  const bench = process.cpuUsage(benchBefore)
  const busy = busySeconds() - busyBefore

  refuse(operation, 'did not finish in time', course.missing)
  refuse(operation, 'ended badly', course.failed)
  const own = { [`${VERBS[operation]} installations`]: plan.installations }
  const requests = requestsBetween(countersBefore, await readCounters(kube), own)
  refuse(operation, 'is not as it has to be', await findWrong(load, operation))

  const cpuSeconds = sum(Object.values(usages).map((usage) => usage.cpuSeconds))
  const latencies = course.ends.map(({ sentMs, doneMs }) => doneMs - sentMs)
  const benchCpuSeconds = (bench.user + bench.system) / 1e6
  return {
    wallMs: course.wallMs,
    submitMs: course.submitMs,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    requests,
    usages,
    cpuSeconds,
    benchCpuSeconds,
    otherCpuSeconds: busy - cpuSeconds - benchCpuSeconds,
    load: loadBefore,
  }
}

const SHOWN = 3

function refuse(operation: Operation, sentence: string, subjects: readonly string[]): void {
  if (subjects.length === 0) return
  const more = subjects.length > SHOWN ? `, and ${subjects.length - SHOWN} more` : ''
  throw new Error(`${operation} ${sentence}: ${subjects.slice(0, SHOWN).join('; ')}${more}`)
}
