import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'

import { CHAOS_METRICS } from '../../../workflows/chaos/metrics.ts'
import { chaosWing } from '../../../workflows/chaos/wing.ts'
import { reviewMetrics } from '../../../worker/webhook/review-metrics.ts'

describe('the metrics of Disruptions', () => {
  it('match the documented ones in type and labels', async () => {
    const page = await readFile(new URL('../../../docs/reference/chaos-metrics.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| `(chaos_\w+)` \| (\w+)((?:, `\w+`)*) \|/gm)].map(([, name, type, labels]) => ({
      name,
      type,
      labels: [...(labels ?? '').matchAll(/`(\w+)`/g)].map(([, label]) => label),
    }))
    const declared = Object.entries({ ...CHAOS_METRICS, ...reviewMetrics([chaosWing.admission]) }).map(
      ([name, { type, labels = [] }]) => ({
        name,
        type,
        labels: [...labels],
      }),
    )
    const inOrder = (some: readonly object[]) => some.map((one) => JSON.stringify(one)).sort()
    expect(inOrder(rows)).toEqual(inOrder(declared))
  })
})
