import type { Finding } from '../doctor/findings.ts'

/**
 * Exit code of `pawl upgrade check`: 3 if a check found a difference, 4 if none did but a check was skipped, so that a
 * script does not take an incomplete check for a clean one.
 */
export function exitCodeOf(findings: readonly Pick<Finding, 'verdict'>[]): 0 | 3 | 4 {
  if (findings.some(({ verdict }) => verdict === 'warn' || verdict === 'bad')) return 3
  return findings.some(({ verdict }) => verdict === 'skipped') ? 4 : 0
}
