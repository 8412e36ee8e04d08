import { describe, expect, it } from 'vitest'

import { exitCodeOf } from '../../../../worker/cli/upgrade/exit-code.ts'

describe('the exit code of pawl upgrade check', () => {
  it.each([
    [0, 'all checks are ok', ['ok', 'ok']],
    [3, 'a check found a difference', ['ok', 'warn']],
    [3, 'a check found a difference and another was skipped', ['skipped', 'warn']],
    [4, 'any check was skipped', ['ok', 'skipped', 'ok']],
  ] as const)('is %i if %s', (code, _, verdicts) => {
    expect(exitCodeOf(verdicts.map((verdict) => ({ verdict })))).toBe(code)
  })
})
