// Counts passed and failed tests of a vitest run. JavaScript, because test/run.js imports it on older Node versions.
//
//   T1. Each problem counts as at least one failure: a failed test, a suite that did not load, an error outside of
//       tests, a run without tests, a missing report.
//   T2. In CI, a skipped test is a failure, except for the tests in NOT_EVERYWHERE, which need features of the machine.

/** Tests that may be skipped, by file and title, with the feature that the machine needs. */
const NOT_EVERYWHERE = [
  { file: 'e2e/journal-faults.test.ts', title: 'has no room on its disk', needs: 'root, who may mount a tmpfs' },
  { file: 'env/completion.test.ts', title: 'there is no zsh', needs: 'zsh' },
  { file: 'env/completion.test.ts', title: 'there is no fish', needs: 'fish' },
  { file: 'env/completion.test.ts', title: 'there is no script', needs: 'script, of util-linux' },
  { file: 'env/template-engine-build.test.ts', title: '', needs: 'Go' },
  { file: 'landscaper/bounded/bounded-process.test.ts', title: '', needs: 'Linux' },
  { file: 'landscaper/bounded/bounded-thread.test.ts', title: '', needs: 'Linux' },
  { file: 'bench/processes.test.ts', title: '', needs: 'Linux' },
  { file: 'worker/monitoring.test.ts', title: 'promtool', needs: 'prometheus' },
  { file: 'e2e/installed-chart.test.ts', title: 'which Prometheus scrapes', needs: 'prometheus' },
]

/**
 * @param {{ numPassedTests: number, numFailedTests: number, testResults: { name: string, status: string, assertionResults: { status: string, fullName?: string }[] }[] } | undefined} report
 *   vitest's JSON report; undefined if vitest wrote no report
 * @param {number} exitCode exit code of vitest
 * @param {{ mustRun?: boolean }} [options] whether a skipped test is a failure
 * @returns {{ passed: number, failed: number, notes: string[] }}
 */
export function tally(report, exitCode, { mustRun = false } = {}) {
  if (report === undefined)
    return { passed: 0, failed: 1, notes: [`vitest ended with exit code ${exitCode} and without a report`] }

  const unloaded = report.testResults.filter(
    (suite) => suite.status === 'failed' && !suite.assertionResults.some((test) => test.status === 'failed'),
  )
  const notes = unloaded.map(({ name }) => `suite ${name} did not run`)
  const passed = report.numPassedTests
  let failed = report.numFailedTests + unloaded.length
  for (const { file, title, needs } of skippedOf(report)) {
    if (needs !== undefined) notes.push(`${file}: skipped, since it needs ${needs}: ${title}`)
    else if (mustRun) {
      notes.push(`${file}: skipped, and all tests have to run: ${title}`)
      failed += 1
    }
  }
  if (passed + report.numFailedTests === 0) {
    notes.push('no test ran')
    failed += 1
  }
  if (exitCode !== 0 && failed === 0) {
    notes.push(`vitest ended with exit code ${exitCode} though no test failed: an error outside of tests`)
    failed = 1
  }
  return { passed, failed, notes }
}

/** The skipped tests of all suites that did not fail. A failed suite counts as a failure already (T1). */
function skippedOf(report) {
  return report.testResults
    .filter((suite) => suite.status !== 'failed')
    .flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status !== 'passed' && status !== 'failed')
        .map(({ fullName: title = '' }) => {
          const known = NOT_EVERYWHERE.find((one) => name.endsWith(one.file) && title.includes(one.title))
          return { file: name, title, needs: known?.needs }
        }),
    )
}
