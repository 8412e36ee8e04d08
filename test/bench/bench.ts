// `npm run bench -- SCENARIO`: runs one scenario on real servers and writes a report. `--help` lists the scenarios.
//
//   B1. The bench stops everything that it started, also after Ctrl-C and after a failure.
//   B2. The exit code is 1 when an operation did not complete or a claim is false.

import { writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

import { readOptions, usageOf } from './options.ts'
import { formatReport } from './report.ts'
import { type Context, loadScenario, type Scenario, scenarioNames, type ScenarioResult } from './scenario.ts'

/** How long a scenario may take to stop its servers after Ctrl-C. */
const STOP_LIMIT_MS = 30_000

async function main([name = '', ...args]: readonly string[]): Promise<number> {
  if (name === '' || name.startsWith('-') || args.includes('--help')) {
    process.stdout.write(usageOf(await describeScenarios()))
    return name === '' || name === '--help' || args.includes('--help') ? 0 : 1
  }
  const scenario = await loadScenario(name)
  const options = readOptions(args, scenario.flags)
  const startedAt = new Date()
  const loadBefore = machineLoad()
  const log = startLog()
  const { failures, sections } = await run(scenario, { options, log, ...interruption() })
  const report = formatReport({ scenario: name, startedAt, loads: [loadBefore, machineLoad()], failures, sections })
  process.stdout.write(report)
  await writeFile(options.out, report)
  log(`report: ${options.out}`)
  // B2
  return failures.length > 0 ? 1 : 0
}

async function run(scenario: Scenario, context: Context): Promise<ScenarioResult> {
  const work = scenario.run(context)
  // B1
  const stopped = context.interrupted.catch(async (error: unknown) => {
    await Promise.race([work.catch(() => undefined), sleep(STOP_LIMIT_MS)])
    throw error
  })
  return await Promise.race([work, stopped])
}

async function describeScenarios() {
  const names = await scenarioNames()
  return await Promise.all(names.map(async (name) => ({ name, ...(await loadScenario(name)) })))
}

/** Rejects and aborts on Ctrl-C and similar signals. */
function interruption(): Pick<Context, 'interrupted' | 'signal'> {
  const controller = new AbortController()
  const interrupted = new Promise<never>((_resolve, reject) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(name, () => {
        controller.abort(name)
        reject(new Error(`stopped by ${name}`))
      })
    }
  })
  interrupted.catch(() => undefined)
  return { interrupted, signal: controller.signal }
}

/** Lines with the seconds since the start, on standard error. */
function startLog(): Context['log'] {
  const startedAt = performance.now()
  return (line) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    process.stderr.write(`${seconds.padStart(7)} s  ${line}\n`)
  }
}

function machineLoad(): number {
  return loadavg()[0] ?? NaN
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
// Open connections of an interrupted measurement must not keep the process alive.
process.exit()
