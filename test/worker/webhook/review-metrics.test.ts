// Tests the counters of the webhook's answers.

import { describe, expect, it } from 'vitest'

import { Metrics } from '../../../activities/run/metrics.ts'
import { countReviews, reviewMetrics } from '../../../worker/webhook/review-metrics.ts'

const wings = [
  {
    counters: {
      Shop: { created: 'shops_made', updated: 'shops_changed', refused: 'shops_refused', deleted: 'shops_closed' },
      Stall: { created: 'stalls_made', updated: 'stalls_changed', refused: 'stalls_refused' },
    },
  },
  {},
]

describe('reviews', () => {
  it('are counted by operation and answer, except dry runs, statuses and other kinds', async () => {
    const metrics = new Metrics({ now: () => new Date(0), failed: () => undefined })
    metrics.declare(reviewMetrics(wings))
    const answered = countReviews(metrics, wings)
    const say = (request: object, allowed = true, asks: 'spec' | 'metadata' = 'spec') => {
      const asked = { kind: { group: 'example.com', kind: 'Shop' }, operation: 'CREATE', namespace: 'n', ...request }
      answered({ request: asked }, { response: { allowed } }, asks)
    }
    say({})
    say({})
    say({ operation: 'UPDATE' })
    say({}, false)
    say({ operation: 'UPDATE', namespace: 'other' }, false)
    say({ dryRun: true })
    say({ subResource: 'status', operation: 'UPDATE' })
    say({ kind: { group: 'example.com', kind: 'House' } })
    say({ operation: 'DELETE', object: null, oldObject: { metadata: { name: 'a' } } })
    say({ operation: 'DELETE', dryRun: true })
    say({ operation: 'DELETE', kind: { group: 'example.com', kind: 'Stall' } })
    answered(undefined, {}, 'spec')
    // A second call for the same write, for the metadata only.
    say({ object: { spec: {} } }, true, 'metadata')
    const same = { object: { spec: { a: 1 } }, oldObject: { spec: { a: 1 } } }
    say({ operation: 'UPDATE', ...same }, true, 'metadata')
    const lines = (await metrics.text()).split('\n').filter((line) => /^(?:shops|stalls)/.test(line))
    expect(lines.sort()).toEqual([
      'shops_changed{namespace="n"} 2',
      'shops_closed{namespace="n"} 1',
      'shops_made{namespace="n"} 2',
      'shops_refused{namespace="n"} 1',
      'shops_refused{namespace="other"} 1',
    ])
  })
})
