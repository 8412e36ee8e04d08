// Types of tally.js, for the tests; its contract is there.

interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly status: string; readonly fullName?: string }[]
  }[]
}

export function tally(
  report: Report | undefined,
  exitCode: number,
  options?: { readonly mustRun?: boolean },
): { readonly passed: number; readonly failed: number; readonly notes: readonly string[] }
