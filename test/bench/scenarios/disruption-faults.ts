// Scenario: the long form of the crash tests of Disruptions. They kill processes before and after each write, and make the API server unavailable for a minute
// during a clean-up (docs/faults.md X2, X3). The claims of the report are the tests.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type Claim, claimsTable, falseClaims } from '../report.ts'
import type { Context, Scenario, ScenarioResult } from '../scenario.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FILES = ['test/e2e/disruption-crash.test.ts', 'test/e2e/disruption-ends.test.ts']
const MOST_CHARACTERS = 300

export const scenario: Scenario = {
  summary:
    'processes die before and after each write of Disruptions, API server unavailable for 60 s; all end like undisturbed ones',
  run: runTests,
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

async function runTests({ log, interrupted }: Context): Promise<ScenarioResult> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-bench-'))
  const outputFile = join(folder, 'report.json')
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const reporters = ['--reporter=json', '--reporter=default', `--outputFile.json=${outputFile}`]
  const child = spawn(process.execPath, [vitest, 'run', '--project', 'e2e', ...FILES, ...reporters], {
    cwd: ROOT,
    env: { ...process.env, PAWL_LONG: '1' },
    // Standard output is for the report.
    stdio: ['ignore', 2, 2],
  })
  try {
    log(`disruption-faults: ${FILES.join(', ')}`)
    const startedAt = performance.now()
    const [code] = (await Promise.race([once(child, 'exit'), interrupted])) as [number | null]
    const claims = claimsOf(JSON.parse(await readFile(outputFile, 'utf8')) as TestReport)
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
    const failed = falseClaims(claims)
    const failures = code === 0 || failed.length > 0 ? failed : [`the tests ended with exit code ${code}`]
    const head = `## Disruptions\n\n${claims.length} tests in ${minutes} minutes.`
    return { failures, sections: [[head, claimsTable(claims)].join('\n\n')] }
  } finally {
    child.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

function claimsOf({ testResults }: TestReport): readonly Claim[] {
  return testResults.flatMap(({ message = '', assertionResults }) => {
    const claims = assertionResults.map(({ fullName, status, failureMessages = [] }) => ({
      sentence: fullName,
      measured: status === 'passed' ? 'passed' : `${status}: ${failureMessages.join('; ').slice(0, MOST_CHARACTERS)}`,
      isTrue: status === 'passed',
    }))
    const isEmpty = { sentence: 'the tests run', measured: message.slice(0, MOST_CHARACTERS), isTrue: false }
    return claims.length > 0 ? claims : [isEmpty]
  })
}
