// `npm run bench`: measures Pawl on real servers and reports. See --help, and docs/performance.md for how to read the report.
//
//   B1. Whatever happens, what was started is stopped; a set that somebody else started is left alone.
//   B2. What did not complete fails the bench: exit code 1.

import { writeFile } from 'node:fs/promises'

import { createKubeClient } from '../../activities/kube/client.ts'
import { describeMachine, load } from './machine.ts'
import { readOptions, USAGE } from './options.ts'
import { startProgress } from './progress.ts'
import { writeReport } from './report.ts'
import type { Scenario } from './scenario.ts'
import { SCENARIOS } from './scenarios.ts'
import { openSet } from './servers.ts'
import type { Stage } from './stage.ts'
import { measureYardsticks } from './yardsticks.ts'

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
  const set = await openSet({ dataDir: options.dataDir, signal: interrupt.signal, say })
  const kube = createKubeClient({ kubeconfigPath: set.kubeconfigPath, userAgent: 'bench' })
  try {
    const work = runScenario(scenario, { set, kube, options, say })
    return await Promise.race([work, set.failure, interrupt.happened])
  } finally {
    // B1
    say('stopping')
    await kube.close()
    await set.stop()
  }
}

async function runScenario(scenario: Scenario, stage: Stage): Promise<number> {
  const { options, say } = stage
  const [startedAt, loadBefore] = [new Date(), load()]
  const before = options.yardsticks ? await measureYardsticks(stage) : undefined
  const result = await scenario.run(stage)
  const after = options.yardsticks ? await measureYardsticks(stage) : undefined
  const yardsticks = before === undefined || after === undefined ? undefined : { before, after }
  const report = writeReport({
    scenario: options.scenario,
    startedAt,
    machine: describeMachine(),
    loads: [loadBefore, load()],
    yardsticks,
    failures: result.failures,
    sections: result.report(yardsticks),
  })
  process.stdout.write(report)
  await writeFile(options.out, report)
  say(`report: ${options.out}`)
  // B2
  if (result.failures.length > 0) return 1
  if (options.record && yardsticks !== undefined) {
    await result.record?.(yardsticks)
    say('recorded as the baseline')
  }
  return 0
}

function describeScenarios(): string {
  return [...SCENARIOS].map(([name, { summary }]) => `  ${name.padEnd(12)}${summary}`).join('\n')
}

/** Ctrl-C and its like: `signal` ends a start, `happened` rejects. */
function interruption(): { readonly signal: AbortSignal; readonly happened: Promise<never> } {
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
