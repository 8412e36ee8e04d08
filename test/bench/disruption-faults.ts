// Scenario: processes are killed before and after each write of Disruptions, and the API server is away for a minute while one is undone. It is the long form
// of test/e2e/disruption-crash.test.ts, whose tests are the claims of the report.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { brokenClaims, type Claim, claimsTable } from './claims.ts'
import type { Options } from './options.ts'
import type { Say } from './progress.ts'
import type { LoneScenario, ScenarioResult } from './scenario.ts'

const ROOT = join(import.meta.dirname, '../..')
const FILES = ['test/e2e/disruption-crash.test.ts', 'test/e2e/disruption-ends.test.ts']
const MOST_CHARACTERS = 300

export const disruptionFaults: LoneScenario = {
  summary:
    'processes die before and after each write of Disruptions, API server away for 60 s; all end as if undisturbed',
  runAlone: runFaults,
}

interface TestReport {
  readonly testResults: readonly {
    readonly message?: string
    readonly assertionResults: readonly TestResult[]
  }[]
}

interface TestResult {
  readonly fullName: string
  readonly status: string
  readonly failureMessages?: readonly string[]
}

async function runFaults(_options: Options, say: Say, interrupted: Promise<never>): Promise<ScenarioResult> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-bench-'))
  const outputFile = join(folder, 'report.json')
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const reporters = ['--reporter=json', '--reporter=default', `--outputFile.json=${outputFile}`]
  const child = spawn(process.execPath, [vitest, 'run', '--project', 'e2e', ...FILES, ...reporters], {
    cwd: ROOT,
    env: { ...process.env, PAWL_LONG: '1' },
    // Standard output is the report's.
    stdio: ['ignore', 2, 2],
  })
  try {
    say(`disruption-faults: ${FILES.join(', ')}`)
    const begunAt = performance.now()
    const [code] = (await Promise.race([once(child, 'exit'), interrupted])) as [number | null]
    const claims = claimsOf(JSON.parse(await readFile(outputFile, 'utf8')) as TestReport)
    const minutes = ((performance.now() - begunAt) / 60_000).toFixed(1)
    const broken = brokenClaims(claims)
    const failures = code === 0 || broken.length > 0 ? broken : [`the tests ended with exit code ${code}`]
    const head = `## Disruptions\n\n${claims.length} tests in ${minutes} minutes.`
    return { failures, report: () => [[head, claimsTable(claims)].join('\n\n')] }
  } finally {
    child.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

function claimsOf({ testResults }: TestReport): readonly Claim[] {
  return testResults.flatMap(({ message = '', assertionResults }) => {
    const claims = assertionResults.map(({ fullName, status, failureMessages = [] }) => ({
      sentence: fullName,
      found: status === 'passed' ? 'so it is' : `${status}: ${failureMessages.join('; ').slice(0, MOST_CHARACTERS)}`,
      isKept: status === 'passed',
    }))
    const isEmpty = { sentence: 'the tests run', found: message.slice(0, MOST_CHARACTERS), isKept: false }
    return claims.length > 0 ? claims : [isEmpty]
  })
}
