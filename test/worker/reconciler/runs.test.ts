import { describe, expect, it } from 'vitest'

import { runDetails, runSummary } from '../../../worker/reconciler/runs.ts'

const subject = { group: 'example.com', kind: 'Widget', namespace: 'team-a', name: 'one', uid: 'uid-1' }
const cause = 'reconcile was asked for'

describe('the summary and details of a run in Temporal', () => {
  it('contain object, job, cause and the replay command', () => {
    expect(runSummary({ subject })).toBe('Widget team-a/one')
    expect(runDetails({ subject, jobID: 'job-1', cause })).toBe(
      'Job job-1. Cause: reconcile was asked for. Replay: `pawl replay widget/one job-1 -n team-a`',
    )
  })

  it('omit the job in level mode, and the namespace of cluster-scoped objects', () => {
    const bare = { subject: { ...subject, namespace: '' }, jobID: '', cause }
    expect(runSummary(bare)).toBe('Widget one')
    expect(runDetails(bare)).toBe('Cause: reconcile was asked for. Replay: `pawl replay widget/one`')
  })
})
