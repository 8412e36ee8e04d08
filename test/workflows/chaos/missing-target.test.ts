import { describe, expect, it } from 'vitest'

import { missingTarget } from '../../../workflows/chaos/disruption-cron/due.ts'

const NOW_MS = Date.parse('2026-01-02T00:00:00Z')
const at = { nowMs: NOW_MS, thresholdMs: 24 * 3_600_000 }

describe('a target resource', () => {
  it('has no missing time while it exists (C5)', () => {
    expect(missingTarget(true, '2026-01-01T00:00:00Z', at)).toEqual({ since: undefined, isGivenUp: false })
  })

  it('is missing since the first pass without it', () => {
    expect(missingTarget(false, undefined, at)).toEqual({ since: '2026-01-02T00:00:00Z', isGivenUp: false })
    expect(missingTarget(false, 'once', at)).toEqual({ since: '2026-01-02T00:00:00Z', isGivenUp: false })
  })

  it('is given up after more than a day (C5)', () => {
    const givenUp = ['2026-01-01T00:00:00Z', '2025-12-31T23:59:59Z'].map((since) => missingTarget(false, since, at))
    expect(givenUp).toEqual([
      { since: '2026-01-01T00:00:00Z', isGivenUp: false },
      { since: '2025-12-31T23:59:59Z', isGivenUp: true },
    ])
  })
})
