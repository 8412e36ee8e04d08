// `npm run bench`: measures Pawl on real servers and reports. See --help; how to read the report stands in it.
//
//   B1. Whatever happens, what was started is stopped; a set that somebody else started is left alone.
//   B2. What did not complete fails the bench: exit code 1.

import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

import { createKubeClient } from '../../activities/kube/client.ts'
import { describeMachine, load } from './machine.ts'
import { type Options, readOptions, USAGE } from './options.ts'
import { CREATION, type ProfiledWork, takeProfiles } from './profile.ts'
import { type Say, startProgress } from './progress.ts'
import { writeReport } from './report.ts'
import type { LoneScenario, Scenario, ScenarioResult } from './scenario.ts'
import { SCENARIOS } from './scenarios.ts'
import { openSet } from './servers.ts'
import type { Stage } from './stage.ts'
import { measureYardsticks, type YardsticksOfRun } from './yardsticks.ts'

/** Of a scenario that brings its servers along, once it is told to. */
const LONGEST_END_MS = 10_000

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (options === undefined) {
    process.stdout.write(`${USAGE}\nscenarios:\n${describeScenarios()}\n`)
    return 0
  }
  const scenario = SCENARIOS.get(options.scenario)
  if (scenario === undefined)
    throw new Error(`--scenario: found ${options.scenario}, expected one of ${[...SCENARIOS.keys()].join(', ')}`)

  const say = startProgress()
  const interrupt = interruption()
  const startedAt = new Date()
  const loadBefore = load()
  const measured = await runOne(scenario, { options, say, interrupt, forProfile: false })
  const { result, yardsticks } = measured
  const profile =
    options.profileSeconds === undefined
      ? { sections: [], failures: [] }
      : await profiled(scenario, { options, say, interrupt, forProfile: true })
  const failures = [...result.failures, ...profile.failures]
  const report = writeReport({
    scenario: options.scenario,
    startedAt,
    machine: describeMachine(),
    loads: [loadBefore, load()],
    yardsticks,
    failures,
    sections: [...result.report(yardsticks), ...profile.sections],
  })
  process.stdout.write(report)
  await writeFile(options.out, report)
  say(`report: ${options.out}`)
  // B2
  if (failures.length > 0) return 1
  if (options.record && yardsticks !== undefined) {
    await result.record?.(yardsticks)
    say('recorded as the baseline')
  }
  return 0
}

interface Setting {
  readonly options: Options
  readonly say: Say
  readonly interrupt: Interruption
  readonly forProfile: boolean
  /** Of a scenario. */
  readonly wings?: string | undefined
  readonly prepare?: Scenario['prepare']
}

/** Does the work on a set, which is closed afterwards (B1). */
async function onSet<Result>(
  { options, say, interrupt, forProfile, wings, prepare }: Setting,
  work: (stage: Stage) => Promise<Result>,
): Promise<Result> {
  const { dataDir, temporalStore } = options
  const set = await openSet({ dataDir, temporalStore, forProfile, wings, prepare, signal: interrupt.signal, say })
  const kube = createKubeClient({ kubeconfigPath: set.kubeconfigPath, userAgent: 'bench' })
  try {
    return await Promise.race([work({ set, kube, options, say }), set.failure, interrupt.happened])
  } finally {
    await kube.close()
    await set.stop()
  }
}

async function runOne(scenario: Scenario | LoneScenario, setting: Setting): Promise<Measured> {
  if (!('runAlone' in scenario)) {
    const { wings, prepare } = scenario
    return await onSet({ ...setting, wings, prepare }, (stage) => runScenario(scenario, stage))
  }
  const { options, say, interrupt } = setting
  const work = scenario.runAlone(options, say, interrupt.happened)
  // B1
  const ended = interrupt.happened.catch(async (error: unknown) => {
    await Promise.race([work.catch(() => undefined), sleep(LONGEST_END_MS)])
    throw error
  })
  const result = await Promise.race([work, ended])
  return { result, yardsticks: undefined }
}

interface Measured {
  readonly result: ScenarioResult
  readonly yardsticks: YardsticksOfRun | undefined
}

async function runScenario(scenario: Scenario, stage: Stage): Promise<Measured> {
  if (!stage.options.yardsticks) return { result: await scenario.run(stage), yardsticks: undefined }
  const before = await measureYardsticks(stage)
  const result = await scenario.run(stage)
  return { result, yardsticks: { before, after: await measureYardsticks(stage) } }
}

type Profiles = Pick<ScenarioResult, 'failures'> & { readonly sections: readonly string[] }

/** Of what the scenario wants to have looked at, or of what all others have in common. */
async function profiled(scenario: Scenario | LoneScenario, setting: Setting): Promise<Profiles> {
  const { wings, prepare, profiled: work = CREATION } = 'runAlone' in scenario ? {} : scenario
  return await onSet({ ...setting, wings, prepare }, (stage) => runProfile(stage, work))
}

/** Profiles that fail take no figures with them. */
async function runProfile(stage: Stage, work: ProfiledWork): Promise<Profiles> {
  try {
    return { sections: await takeProfiles(stage, work, (stage.options.profileSeconds ?? 0) * 1000), failures: [] }
  } catch (error) {
    return { sections: [], failures: [error instanceof Error ? error.message : String(error)] }
  }
}

function describeScenarios(): string {
  return [...SCENARIOS].map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`).join('\n')
}

interface Interruption {
  /** Ends a start. */
  readonly signal: AbortSignal
  /** Rejects. */
  readonly happened: Promise<never>
}

/** Ctrl-C and its like. */
function interruption(): Interruption {
  const controller = new AbortController()
  const happened = new Promise<never>((_resolve, reject) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(name, () => {
        controller.abort(name)
        reject(new Error(`stopped by ${name}`))
      })
    }
  })
  happened.catch(() => undefined)
  return { signal: controller.signal, happened }
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
// Connections of an interrupted measurement must not keep the process.
process.exit()
