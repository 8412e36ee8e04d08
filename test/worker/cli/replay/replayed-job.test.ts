import { describe, expect, it } from 'vitest'

import type { HistoryEvent } from '../../../../worker/cli/replay/history-events.ts'
import type { LoadedJob } from '../../../../worker/cli/replay/load.ts'
import type { Recording } from '../../../../worker/cli/replay/record.ts'
import { replayedJob } from '../../../../worker/cli/replay/replayed-job.ts'

const JOB = { workflowId: 'w', jobID: 'j', rows: undefined } as const

/** A run with these passes that continued another run. */
const run = (originalExecutionRunId: string, continuedExecutionRunId: string): { events: readonly HistoryEvent[] } => ({
  events: [
    {
      eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED',
      workflowExecutionStartedEventAttributes: { originalExecutionRunId, continuedExecutionRunId },
    },
  ],
})
const recording = (...passes: readonly number[]): Recording => ({
  workflowId: 'w',
  entries: passes.map((pass) => ({ told: 'pass', pass, atMs: pass, isOutside: false })),
})
const of = (...runs: readonly ReturnType<typeof run>[]): LoadedJob => ({
  ...JOB,
  events: runs.at(-1)?.events ?? [],
  earlier: runs.slice(0, -1).map(({ events }) => ({ workflowId: 'w', events })),
})

describe('a job with continue-as-new', () => {
  it("is one list of passes with the last run's ID", () => {
    const { passes, runID, notes } = replayedJob(of(run('a', ''), run('b', 'a'), run('c', 'b')), [
      recording(1, 2),
      recording(1),
      recording(1, 2),
    ])
    expect(passes.map(({ pass, passOfRun }) => [pass, passOfRun])).toEqual([
      [1, 1],
      [2, 2],
      [3, 1],
      [4, 1],
      [5, 2],
    ])
    expect(runID).toBe('c')
    expect(notes).toEqual(['the journal has nothing of this job: writes and events are not shown'])
  })

  it('states that an earlier history is missing', () => {
    const { notes } = replayedJob(of(run('b', 'a'), run('c', 'b')), [recording(1), recording(1)])
    expect(notes[0]).toMatch(/^the job began before these passes: of its run a, /)
    expect(replayedJob(of(run('c', 'b')), [recording(1)]).notes[0]).toMatch(/: of its run b, /)
  })
})
