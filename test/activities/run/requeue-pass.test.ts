// When a settle that the API server does not let through gives its workflow task back. Source: activities/run/requeue-pass.ts.

import { describe, expect, it } from 'vitest'
import { asyncLocalStorage, type Context } from '@temporalio/activity'
import { KubeError } from '../../../activities/kube/errors.ts'
import { shouldRequeue } from '../../../activities/run/requeue-pass.ts'
import { SHORT_TRIES } from '../../../workflows/kit/index.ts'

const INPUT = {
  workflowID: 'w',
  runID: 'r',
  pass: 1,
  jobID: 'job',
  change: undefined,
  againMs: undefined,
  attempt: 0,
  fault: undefined,
  cause: 'test',
  subject: { kind: 'K', uid: 'u', namespace: 'n', name: 'x' },
}

/** As the `attempt`th try of a call sees it. */
function givenBack(
  attempt: number,
  { refusals = 0, retryAfterMs, tookMs = 5 }: { refusals?: number; retryAfterMs?: number; tookMs?: number } = {},
): boolean {
  const error = new KubeError('no', { status: 401, reason: 'Unauthorized', retryAfterMs })
  const call: unknown = { info: { attempt } }
  return asyncLocalStorage.run(call as Context, () => shouldRequeue({ ...INPUT, refusals }, error, tookMs))
}

describe('a settle that fails', () => {
  it('is tried a few times inside its workflow task, and then requeued', () => {
    expect(givenBack(1)).toBe(false)
    expect(givenBack(SHORT_TRIES - 1)).toBe(false)
    expect(givenBack(SHORT_TRIES)).toBe(true)
  })

  it('is requeued immediately if it took long, has to wait for long, or failed before', () => {
    expect(givenBack(1, { tookMs: 12_000 })).toBe(true)
    expect(givenBack(1, { retryAfterMs: 60_000 })).toBe(true)
    expect(givenBack(1, { retryAfterMs: 1000 })).toBe(false)
    expect(givenBack(1, { refusals: 1 })).toBe(true)
  })
})
