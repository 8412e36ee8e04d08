// Scenario: many Disruptions of one pod each among many more pods, from creation to Injected and back to gone. Injectors are played
// (`pawl node-agent --play ready`), so what is measured is the controller and the servers.

import { brokenClaims, type Claim, claimsTable } from './claims.ts'
import { type DisruptionCourse, type DisruptionPlan, DisruptionPods, runDisruptions } from './disruption-load.ts'
import { Inspector } from './inspector.ts'
import { liveMiB } from './live-memory.ts'
import { busySeconds } from './machine.ts'
import { count, figure, markdownTable, seconds } from './markdown.ts'
import { ProcessMeter, type Usages } from './processes.ts'
import type { ProfiledWork } from './profile.ts'
import { readCounters, type Requests, requestsBetween } from './requests.ts'
import { playInjectors } from './play-injectors.ts'
import { sized } from './scale-part.ts'
import { tenthsOf } from './scale-throughput.ts'
import type { Scenario, ScenarioResult } from './scenario.ts'
import type { Targeting } from './scenario-options.ts'
import type { Stage } from './stage.ts'
import { quantile, sum } from './statistics.ts'
import { readTaskFigures, type TaskFigures } from './task-figures.ts'

const DISRUPTIONS = 1000
const PODS = 5000
const LEAST_PER_SECOND = 30
/** Beside events. */
const MOST_OF_DISRUPTION = 6
const MOST_OF_CHAOS_POD = 3
const TENTHS = Array.from({ length: 10 }, (_, index) => String(index + 1))
const MEMORY_LIMIT = 1.15
const MEMORY_SLACK_MIB = 20
/** A tenth of them first: code gets compiled, caches and pools get filled. */
const WARM_UP_SHARE = 10

const PROFILED = { disruptions: 100, isStatic: false }

const PROFILED_WORK: ProfiledWork = {
  title: `${PROFILED.disruptions} Disruptions`,
  async open({ kube, options }) {
    const { timeoutMs, scenarioOptions } = options
    const pods = await DisruptionPods.make(kube, sized(PODS, scenarioOptions.size, PROFILED.disruptions), timeoutMs)
    await runDisruptions(pods, { ...PROFILED, disruptions: 20 }, { prefix: 'warm-up', timeoutMs })
    return {
      run: async () => (await runDisruptions(pods, PROFILED, { prefix: 'profiled', timeoutMs })).missing,
      close: () => Promise.resolve(),
    }
  },
}

export const disruptions: Scenario = {
  summary: 'many Disruptions of one pod each among many pods, to Injected and back to gone',
  wings: 'chaos',
  prepare: playInjectors,
  profiled: PROFILED_WORK,
  run: runScenario,
}

interface Measured {
  readonly plan: DisruptionPlan
  readonly course: DisruptionCourse
  readonly requests: Requests
  readonly tasks: TaskFigures
  readonly usages: Usages
  readonly cpuSeconds: number
  /** Used by neither the set nor the bench. */
  readonly otherCpuSeconds: number
  /** Of the worker, after a garbage collection. */
  readonly liveMiB: { readonly before: number; readonly after: number }
}

async function runScenario(stage: Stage): Promise<ScenarioResult> {
  const { kube, set, options, say } = stage
  const { size, warmUp, targetings } = options.scenarioOptions
  const plans = targetings.map((targeting): DisruptionPlan => {
    return { disruptions: sized(DISRUPTIONS, size), pods: sized(PODS, size), isStatic: targeting === 'static' }
  })
  const pods = await DisruptionPods.make(kube, sized(PODS, size), options.timeoutMs)
  say(`disruptions: ${pods.count} pods run`)
  const worker = set.processes.find(({ name }) => name === 'worker')
  if (worker === undefined) throw new Error('disruptions: the set has no worker')
  const inspector = await Inspector.open(worker.pid, set.logFile('worker'))
  const found: Measured[] = []
  try {
    for (const plan of plans) {
      if (warmUp) {
        const few = { ...plan, disruptions: Math.ceil(plan.disruptions / WARM_UP_SHARE) }
        await runDisruptions(pods, few, { prefix: 'warm-up', timeoutMs: options.timeoutMs })
      }
      const measured = await measure(stage, pods, plan, inspector)
      found.push(measured)
      say(
        `disruptions: ${titleOf(plan)}: ${seconds(measured.course.wallMs)} s, ${figure(perSecond(measured))} a second`,
      )
    }
  } finally {
    inspector.close()
  }
  const claims = found.flatMap(claimsOf)
  const failures = found.flatMap(({ plan, course }) => course.missing.map((one) => `${titleOf(plan)}: ${one}`))
  return { failures: [...failures, ...brokenClaims(claims)], report: () => [section(found, claims)] }
}

async function measure(
  { kube, set, options }: Stage,
  pods: DisruptionPods,
  plan: DisruptionPlan,
  inspector: Inspector,
): Promise<Measured> {
  const before = await liveMiB(inspector)
  const counters = await readCounters(kube)
  const [busyBefore, benchBefore] = [busySeconds(), process.cpuUsage()]
  const meter = new ProcessMeter(set.processes)
  const prefix = targetingOf(plan)
  const since = new Date()
  const course = await runDisruptions(pods, plan, { prefix, timeoutMs: options.timeoutMs })
  const usages = meter.end()
  const bench = process.cpuUsage(benchBefore)
  const busy = busySeconds() - busyBefore
  const own = { 'POST disruptions': plan.disruptions, 'DELETE disruptions': plan.disruptions }
  const requests = requestsBetween(counters, await readCounters(kube), own)
  const cpuSeconds = sum(Object.values(usages).map((usage) => usage.cpuSeconds))
  return {
    plan,
    course,
    requests,
    usages,
    cpuSeconds,
    tasks: await readTaskFigures(set.temporalAddress, since),
    otherCpuSeconds: busy - cpuSeconds - (bench.user + bench.system) / 1e6,
    liveMiB: { before, after: await liveMiB(inspector) },
  }
}

function perSecond({ plan, course }: Measured): number {
  return (plan.disruptions * 1000) / course.wallMs
}

/** Writes of each, beside events and what the node agent says of its pods: the status of each twice, and one deletion. */
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
  // What was refused, since somebody else was quicker, is no write.
  const refused = measured.requests.conflicts / plan.disruptions
  const most = memory.before * MEMORY_LIMIT + MEMORY_SLACK_MIB
  return [
    {
      sentence: `${which}: ${LEAST_PER_SECOND} a second from creation to Injected and back to gone`,
      found: figure(perSecond(measured)),
      isKept: perSecond(measured) >= LEAST_PER_SECOND,
    },
    {
      sentence: `${which}: at most ${MOST_OF_DISRUPTION} writes of a Disruption`,
      found: figure(writes.disruption),
      isKept: writes.disruption <= MOST_OF_DISRUPTION,
    },
    {
      sentence: `${which}: at most ${MOST_OF_CHAOS_POD} writes of a chaos pod`,
      found: figure(writes.chaosPod),
      isKept: writes.chaosPod - refused <= MOST_OF_CHAOS_POD,
    },
    {
      sentence: `${which}: the worker holds at most ${figure(most)} MiB afterwards`,
      found: figure(memory.after),
      isKept: memory.after <= most,
    },
  ]
}

function section(found: readonly Measured[], claims: readonly Claim[]): string {
  const line = (measured: Measured) => {
    const { plan, course, requests, tasks, usages, cpuSeconds, otherCpuSeconds } = measured
    const writes = writesOf(measured)
    return [
      targetingOf(plan),
      ...[seconds(course.wallMs), figure(perSecond(measured))],
      ...[course.injectedMs, course.goneMs].flatMap((all) => [
        seconds(quantile(all, 0.5)),
        seconds(quantile(all, 0.99)),
      ]),
      ...[figure(writes.disruption), figure(writes.chaosPod)],
      ...[figure(requests.events / plan.disruptions), figure(requests.reads / plan.disruptions)],
      count(requests.conflicts),
      ...[figure(tasks.tasks / plan.disruptions), count(tasks.unstuck)],
      figure((cpuSeconds * 1000) / plan.disruptions),
      figure(usages['worker']?.peakMemoryMiB),
      figure(otherCpuSeconds),
    ]
  }
  const header = [
    ...['targeting', 'time, s', 'a second', 'Injected p50, s', 'p99', 'gone p50, s', 'p99'],
    ...[
      'writes',
      'of the chaos pod',
      'events',
      'reads',
      'conflicts',
      'tasks',
      'waited too long',
      'CPU each, ms',
      'worker, MiB',
      'other CPU, s',
    ],
  ]
  const parts = [...new Set(found.flatMap(({ usages }) => Object.keys(usages)))]
  const cpu = found.map(({ plan, usages }) => [
    targetingOf(plan),
    ...parts.map((part) => figure(((usages[part]?.cpuSeconds ?? 0) * 1000) / plan.disruptions)),
  ])
  const tenths = found
    .filter(({ plan }) => plan.disruptions > TENTHS.length)
    .map(({ plan, course }) => [targetingOf(plan), ...tenthsOf(course.endsMs).map(figure)])
  const [first] = found
  const title =
    first === undefined ? '' : `${count(first.plan.disruptions)} Disruptions among ${count(first.plan.pods)} pods`
  return [
    '## Disruptions',
    `${title}, created in one go; each is deleted as soon as it is injected.`,
    markdownTable(header, found.map(line)),
    'CPU of each in milliseconds, by part:',
    markdownTable(['', ...parts], cpu),
    ...(tenths.length === 0
      ? []
      : ['Ends a second, by tenths in their order:', markdownTable(['', ...TENTHS], tenths)]),
    claimsTable(claims),
  ].join('\n\n')
}

function targetingOf({ isStatic }: DisruptionPlan): Targeting {
  return isStatic ? 'static' : 'dynamic'
}

function titleOf(plan: DisruptionPlan): string {
  return `${plan.disruptions} Disruptions, ${targetingOf(plan)}, among ${plan.pods} pods`
}
