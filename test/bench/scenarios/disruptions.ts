// Scenario: many Disruptions of one pod each among many more pods, from creation to Injected to the end of the deletion. The node agent simulates the injectors
// (`pawl node-agent --play ready`), so the scenario measures the controller and the servers.

import { startPart } from '../../../worker/dev/part.ts'
import type { Servers } from '../../../worker/dev/servers.ts'
import {
  type DisruptionResult,
  type DisruptionPlan,
  DisruptionPods,
  runDisruptions,
} from '../disruptions/disruption-load.ts'
import { readTaskFigures, type TaskFigures } from '../disruptions/workflow-tasks.ts'
import { Inspector } from '../inspector.ts'
import { someOf } from '../options.ts'
import { busySeconds, ProcessMeter, type Usages } from '../processes.ts'
import { type Claim, claimsTable, count, falseClaims, figure, markdownTable, seconds } from '../report.ts'
import { readCounters, type Requests, requestsBetween } from '../requests.ts'
import type { Scenario, ScenarioResult } from '../scenario.ts'
import { type Stage, withSet } from '../servers.ts'
import { perSecondByTenth, quantile, sum } from '../statistics.ts'

const DISRUPTIONS = 1000
const PODS = 5000
/** Divisors of both numbers. `tiny` only shows that the scenario works. */
const SIZES = { tiny: 100, small: 10, full: 1 } as const
const SIZE_NAMES = ['tiny', 'small', 'full'] as const
const TARGETINGS = ['dynamic', 'static'] as const
const LEAST_PER_SECOND = 30
/** Without Kubernetes Events. */
const MOST_WRITES_OF_DISRUPTION = 6
const MOST_WRITES_OF_CHAOS_POD = 3
const TENTHS = Array.from({ length: 10 }, (_, index) => String(index + 1))
const MEMORY_LIMIT = 1.15
const MEMORY_SLACK_MIB = 20
/** A tenth of the Disruptions runs before the measurement. */
const WARM_UP_SHARE = 10

export const scenario: Scenario = {
  summary: 'many Disruptions of one pod each among many pods, to Injected and through their deletion',
  flags: {
    size: [
      'S',
      `${SIZE_NAMES.join(', ')} (small): ${DISRUPTIONS} Disruptions among ${PODS} pods, or a tenth, or a hundredth`,
    ],
    targeting: ['LIST', `${TARGETINGS.join(', ')} (both)`],
  },
  run: (context) => withSet(context, { wings: 'chaos', prepare: simulateInjectors }, runScenario),
}

/** Restarts the node agent in a mode in which chaos pods are ready at once and disturb nothing. */
async function simulateInjectors(servers: Servers): Promise<void> {
  const agent = servers.parts.find(({ spec }) => spec.name === 'node-agent')
  if (agent === undefined) throw new Error('the set has no node-agent, expected one with the wing chaos')
  await servers.drop(agent)
  const args = [...agent.spec.args, '--play', 'ready']
  // The simulating agent reports no readiness.
  const isReady = () => Promise.resolve(true)
  await startPart({ ...agent.spec, args, isReady }, (part) => servers.add(part))
}

interface Measured {
  readonly plan: DisruptionPlan
  readonly result: DisruptionResult
  readonly requests: Requests
  readonly tasks: TaskFigures
  readonly usages: Usages
  readonly cpuSeconds: number
  /** CPU of processes outside of the set and the bench. */
  readonly otherCpuSeconds: number
  /** Live memory of the worker. */
  readonly liveMiB: { readonly before: number; readonly after: number }
}

async function runScenario(stage: Stage): Promise<ScenarioResult> {
  const { kube, set, options, log } = stage
  const { values, timeoutMs, warmUp } = options
  const divisor = SIZES[values['size'] === undefined ? 'small' : (someOf(values, 'size', SIZE_NAMES)[0] ?? 'small')]
  const pods = await DisruptionPods.create(kube, PODS / divisor, timeoutMs)
  log(`disruptions: ${pods.count} pods run`)
  const worker = set.processes.find(({ name }) => name === 'worker')
  if (worker === undefined) throw new Error('disruptions: the set has no worker')
  const inspector = await Inspector.open(worker.pid, set.logFile('worker'))
  const all: Measured[] = []
  try {
    for (const targeting of someOf(values, 'targeting', TARGETINGS)) {
      const plan = { disruptions: DISRUPTIONS / divisor, pods: pods.count, isStatic: targeting === 'static' }
      if (warmUp) {
        const few = { ...plan, disruptions: Math.ceil(plan.disruptions / WARM_UP_SHARE) }
        await runDisruptions(pods, few, { prefix: `warm-up-${targeting}`, timeoutMs })
      }
      const measured = await measure(stage, pods, plan, inspector)
      all.push(measured)
      log(
        `disruptions: ${titleOf(plan)}: ${seconds(measured.result.wallMs)} s, ${figure(perSecond(measured))} a second`,
      )
    }
  } finally {
    inspector.close()
  }
  const claims = all.flatMap(claimsOf)
  const failures = all.flatMap(({ plan, result }) => result.missing.map((one) => `${titleOf(plan)}: ${one}`))
  return { failures: [...failures, ...falseClaims(claims)], sections: [section(all, claims)] }
}

async function measure(
  { kube, set, options }: Stage,
  pods: DisruptionPods,
  plan: DisruptionPlan,
  inspector: Inspector,
): Promise<Measured> {
  const before = await inspector.liveMiB()
  const counters = await readCounters(kube)
  const [busyBefore, benchBefore] = [busySeconds(), process.cpuUsage()]
  const meter = new ProcessMeter(set.processes)
  const prefix = targetingOf(plan)
  const since = new Date()
  const result = await runDisruptions(pods, plan, { prefix, timeoutMs: options.timeoutMs })
  const usages = meter.end()
  const bench = process.cpuUsage(benchBefore)
  const busy = busySeconds() - busyBefore
  const own = { 'POST disruptions': plan.disruptions, 'DELETE disruptions': plan.disruptions }
  const requests = requestsBetween(counters, await readCounters(kube), own)
  const cpuSeconds = sum(Object.values(usages).map((usage) => usage.cpuSeconds))
  return {
    plan,
    result,
    requests,
    usages,
    cpuSeconds,
    tasks: await readTaskFigures(set.temporalAddress, since),
    otherCpuSeconds: busy - cpuSeconds - (bench.user + bench.system) / 1e6,
    liveMiB: { before, after: await inspector.liveMiB() },
  }
}

function perSecond({ plan, result }: Measured): number {
  return (plan.disruptions * 1000) / result.wallMs
}

/** Writes of each Disruption, without Kubernetes Events and without the node agent's own writes of pods. */
function writesOf({ plan, requests: { byResource } }: Measured): {
  readonly disruption: number
  readonly chaosPod: number
} {
  const of = (...names: readonly string[]) => sum(names.map((name) => byResource[name] ?? 0)) / plan.disruptions
  return {
    disruption: of('PATCH disruptions', 'PATCH disruptions/status', 'DELETE disruptions'),
    chaosPod: of('POST pods', 'PATCH pods', 'DELETE pods') - 1,
  }
}

function claimsOf(measured: Measured): readonly Claim[] {
  const { plan, liveMiB: memory } = measured
  const writes = writesOf(measured)
  const which = targetingOf(plan)
  // A conflict writes nothing.
  const refused = measured.requests.conflicts / plan.disruptions
  const most = memory.before * MEMORY_LIMIT + MEMORY_SLACK_MIB
  return [
    {
      sentence: `${which}: ${LEAST_PER_SECOND} a second from creation to Injected to the end of the deletion`,
      measured: figure(perSecond(measured)),
      isTrue: perSecond(measured) >= LEAST_PER_SECOND,
    },
    {
      sentence: `${which}: at most ${MOST_WRITES_OF_DISRUPTION} writes of a Disruption`,
      measured: figure(writes.disruption),
      isTrue: writes.disruption <= MOST_WRITES_OF_DISRUPTION,
    },
    {
      sentence: `${which}: at most ${MOST_WRITES_OF_CHAOS_POD} writes of a chaos pod`,
      measured: figure(writes.chaosPod),
      isTrue: writes.chaosPod - refused <= MOST_WRITES_OF_CHAOS_POD,
    },
    {
      sentence: `${which}: the worker has at most ${figure(most)} MiB of live memory afterwards`,
      measured: figure(memory.after),
      isTrue: memory.after <= most,
    },
  ]
}

function section(all: readonly Measured[], claims: readonly Claim[]): string {
  const line = (measured: Measured) => {
    const { plan, result, requests, tasks, usages, cpuSeconds, otherCpuSeconds } = measured
    const writes = writesOf(measured)
    return [
      targetingOf(plan),
      ...[seconds(result.wallMs), figure(perSecond(measured))],
      ...[result.injectedMs, result.goneMs].flatMap((ms) => [seconds(quantile(ms, 0.5)), seconds(quantile(ms, 0.99))]),
      ...[figure(writes.disruption), figure(writes.chaosPod)],
      ...[figure(requests.events / plan.disruptions), figure(requests.reads / plan.disruptions)],
      count(requests.conflicts),
      ...[figure(tasks.tasks / plan.disruptions), count(tasks.timedOut)],
      figure((cpuSeconds * 1000) / plan.disruptions),
      figure(usages['worker']?.peakMemoryMiB),
      figure(otherCpuSeconds),
    ]
  }
  const header = [
    ...['targeting', 'time, s', 'a second', 'Injected p50, s', 'p99', 'deleted p50, s', 'p99'],
    ...[
      'writes',
      'of the chaos pod',
      'events',
      'reads',
      'conflicts',
      'tasks',
      'sticky time-outs',
      'CPU each, ms',
      'worker, MiB',
      'other CPU, s',
    ],
  ]
  const parts = [...new Set(all.flatMap(({ usages }) => Object.keys(usages)))]
  const cpu = all.map(({ plan, usages }) => [
    targetingOf(plan),
    ...parts.map((part) => figure(((usages[part]?.cpuSeconds ?? 0) * 1000) / plan.disruptions)),
  ])
  const tenths = all
    .filter(({ plan }) => plan.disruptions > TENTHS.length)
    .map(({ plan, result }) => [targetingOf(plan), ...perSecondByTenth(result.endsMs).map(figure)])
  const [first] = all
  const title =
    first === undefined ? '' : `${count(first.plan.disruptions)} Disruptions among ${count(first.plan.pods)} pods`
  return [
    '## Disruptions',
    `${title}, created in one go; each is deleted as soon as it is injected.`,
    markdownTable(header, all.map(line)),
    'CPU of each in milliseconds, by part:',
    markdownTable(['', ...parts], cpu),
    ...(tenths.length === 0
      ? []
      : ['Ends a second, by tenths in their order:', markdownTable(['', ...TENTHS], tenths)]),
    claimsTable(claims),
  ].join('\n\n')
}

function targetingOf({ isStatic }: DisruptionPlan): (typeof TARGETINGS)[number] {
  return isStatic ? 'static' : 'dynamic'
}

function titleOf(plan: DisruptionPlan): string {
  return `${plan.disruptions} Disruptions, ${targetingOf(plan)}, among ${plan.pods} pods`
}
