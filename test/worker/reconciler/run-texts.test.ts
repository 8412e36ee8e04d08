import { describe, expect, it } from 'vitest'

import { runDetails, runSummary } from '../../../worker/reconciler/runs.ts'

const subject = { group: 'example.com', kind: 'Widget', namespace: 'team-a', name: 'one', uid: 'uid-1' }
const cause = 'reconcile was asked for'

describe('what Temporal shows of a run', () => {
  it('is its object, its job and cause, and the command that replays it', () => {
    expect(runSummary({ subject })).toBe('Widget team-a/one')
    expect(runDetails({ subject, jobID: 'job-1', cause })).toBe(
      'Job job-1. Cause: reconcile was asked for. Replay: `pawl replay widget/one job-1 -n team-a`',
    )
  })

  it('names no job in level mode, and no namespace where there is none', () => {
    const bare = { subject: { ...subject, namespace: '' }, jobID: '', cause }
    expect(runSummary(bare)).toBe('Widget one')
    expect(runDetails(bare)).toBe('Cause: reconcile was asked for. Replay: `pawl replay widget/one`')
  })
})
