// `npm test` runs everything from a fresh clone: it installs packages, runs the static checks, downloads the server
// binaries and runs all test projects. The last line is `N passed, N failed`, where each static check counts as one.
// With arguments, the script runs only vitest, with these arguments. `npm run test:long` runs all cases of the test
// matrices (test/matrices.md).
//
// The exit code is 0 only if tests ran and nothing failed (support/reporters/tally.js). If $CI is set and all tests
// run, a skipped test is a failure.
//
// The file is JavaScript because Node 20 must be able to read it. It starts the pinned Node for checks and tests.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { install, node, root, run } from '../worker/demo/install.js'
import { tally } from './support/reporters/tally.js'

const packaged = (path) => join(root, 'node_modules', path)
const LINT = ['lint', [packaged('eslint/bin/eslint.js'), '.']]
const CHECKS = [
  ['format', [packaged('prettier/bin/prettier.cjs'), '--check', '--log-level', 'warn', '.']],
  ['types', [packaged('typescript/bin/tsc'), '-p', '.', '--noEmit']],
  ['generated files', ['worker/pawl.js', 'gen', '--check']],
  ['site', ['site/docs.ts', '--check']],
]

const LONG = '--long'
const filters = process.argv.slice(2).filter((argument) => argument !== LONG)
if (process.argv.includes(LONG)) process.env.PAWL_LONG = '1'
let passed = 0
let failed = 0
/** Names of failed static checks. The script repeats them at the end, because the output of the tests follows them. */
const failedChecks = []

try {
  await install()
  // The linter takes as long as all other checks together, so it runs in parallel with them.
  if (filters.length === 0)
    await Promise.all([runCheck(LINT), prepare(CHECKS, 'test/support/servers/fetch-binaries.ts')])
  else await prepare([], 'worker/pawl.js', 'dev', 'fetch')
  await runTests()
} catch (error) {
  process.stderr.write(`npm test: ${error instanceof Error ? error.message : String(error)}\n`)
  failed += 1
}

failed += failedChecks.length
for (const name of failedChecks) process.stdout.write(`check ${name}: FAILED, see above\n`)
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(failed === 0 && passed > 0 ? 0 : 1)

async function prepare(checks, ...fetch) {
  for (const check of checks) await runCheck(check)
  process.stdout.write('servers: getting the binaries\n')
  await runCheck(['server binaries', fetch])
}

async function runCheck([name, args]) {
  const started = Date.now()
  const code = await run(node, args)
  process.stdout.write(
    `check ${name}: ${code === 0 ? 'passed' : `FAILED (exit code ${code})`} in ${Math.round((Date.now() - started) / 1000)} s\n`,
  )
  if (code === 0) passed += 1
  else failedChecks.push(name)
}

async function runTests() {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-report-'))
  const outputFile = join(dir, 'report.json')
  try {
    const reporters = [
      '--reporter=default',
      '--reporter=./test/support/reporters/progress-reporter.ts',
      '--reporter=./test/support/reporters/cost-reporter.ts',
      '--reporter=./test/support/reporters/repeat-reporter.ts',
      '--reporter=json',
      `--outputFile.json=${outputFile}`,
    ]
    // The rights audit reports unused rights only if all tests run (test/support/rights/rights-audit.ts).
    if (filters.length === 0) process.env.PAWL_WHOLE_SUITE = '1'
    const code = await run(node, [packaged('vitest/vitest.mjs'), 'run', ...reporters, ...filters])
    const mustRun = filters.length === 0 && !['', 'false', '0'].includes(process.env.CI ?? '')
    const result = tally(readReport(outputFile), code, { mustRun })
    for (const note of result.notes)
      process.stderr.write(`npm test: ${note}
`)
    passed += result.passed
    failed += result.failed
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
