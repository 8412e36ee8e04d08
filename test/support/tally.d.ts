// Types of tally.js, for the tests; its contract is there.

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

export function tally(
  report: Report | undefined,
  exitCode: number,
): { readonly passed: number; readonly failed: number; readonly notes: readonly string[] }
