// What a run of vitest comes to. JavaScript, because test/run.js reads it on whatever Node there is.
//
//   T1. Whatever went wrong counts as at least one failure: a failed test, a suite that did not load, an error outside of tests,
//       no test at all, no report.

/**
 * @param {{ numPassedTests: number, numFailedTests: number, testResults: { name: string, status: string, assertionResults: { status: string }[] }[] } | undefined} report
 *   vitest's JSON report; undefined when there is none
 * @param {number} exitCode of vitest
 * @returns {{ passed: number, failed: number, notes: string[] }}
 */
export function tally(report, exitCode) {
  if (report === undefined)
    return { passed: 0, failed: 1, notes: [`vitest ended with exit code ${exitCode} and without a report`] }

  const unloaded = report.testResults.filter(
    (suite) => suite.status === 'failed' && !suite.assertionResults.some((test) => test.status === 'failed'),
  )
  const notes = unloaded.map(({ name }) => `suite ${name} did not run`)
  const passed = report.numPassedTests
  let failed = report.numFailedTests + unloaded.length
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
