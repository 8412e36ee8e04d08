import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'

import { metricPage } from '../../../worker/cli/metric-page.ts'
import { CHAOS_METRICS } from '../../../workflows/chaos/metrics.ts'
import { chaosWing } from '../../../workflows/chaos/wing.ts'
import { reviewMetrics } from '../../../worker/webhook/review-metrics.ts'

describe('the metrics of Disruptions', () => {
  it('are in the page that `pawl gen` writes', async () => {
    for (const [path, text] of metricPage()) {
      expect(await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8')).toBe(text)
      for (const name of Object.keys({ ...CHAOS_METRICS, ...reviewMetrics([chaosWing.admission]) }))
        expect(text).toContain(`| \`${name}\` |`)
    }
  })
})
