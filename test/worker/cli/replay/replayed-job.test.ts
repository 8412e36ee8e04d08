import { describe, expect, it } from 'vitest'

import type { HistoryEvent } from '../../../../worker/cli/replay/history-events.ts'
import type { LoadedJob } from '../../../../worker/cli/replay/load.ts'
import { jobRows } from '../../../../worker/cli/replay/job-rows.ts'
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
    expect(notes).toEqual(['the journal has no rows of this job: writes and events are not shown'])
  })

  it('states that an earlier history is missing', () => {
    const { notes } = replayedJob(of(run('b', 'a'), run('c', 'b')), [recording(1), recording(1)])
    expect(notes[0]).toMatch(/^the first passes of the job are missing: .* run a$/)
    expect(replayedJob(of(run('c', 'b')), [recording(1)]).notes[0]).toMatch(/ run b$/)
  })
})

describe('a run that was reset in Temporal', () => {
  const event = (eventType: string, ms: number, more = {}): HistoryEvent => ({
    eventType: `EVENT_TYPE_${eventType}`,
    eventTime: { seconds: String(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 },
    ...more,
  })
  const [started] = run('a', '').events
  const reset = (newRunId: string, ms: number) =>
    event('WORKFLOW_TASK_FAILED', ms, {
      workflowTaskFailedEventAttributes: { cause: 'WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW', newRunId },
    })
  const write = (run_id: string, pass: number, step: string) => ({ run_id, pass, step, object: 'o', verb: 'patch' })
  // Run a made passes 1 and 2; run b started again with pass 2; run c with pass 3.
  const writes = [
    ...[write('a', 1, 'kept'), write('a', 2, 'discarded'), write('b', 2, 'repeated')],
    ...[write('b', 3, 'discarded'), write('c', 3, 'repeated')],
  ]
  const job: LoadedJob = {
    ...JOB,
    events: [...(started === undefined ? [] : [started]), reset('b', 1500), reset('c', 2500)],
    earlier: [],
    rows: jobRows({ job: null, writes, events: [], cut: [] }),
  }
  const entries = [1000, 2000, 3000].map((atMs, index) => ({
    told: 'pass' as const,
    pass: index + 1,
    atMs,
    isOutside: false,
  }))

  it('shows the writes of the run that executed each pass', () => {
    const { passes, runID, notes } = replayedJob(job, [{ workflowId: 'w', entries }])
    expect(passes.map((pass) => pass.writes.map(({ runID: by, step }) => `${by} ${step}`))).toEqual([
      ['a kept'],
      ['b repeated'],
      ['c repeated'],
    ])
    expect(runID).toBe('c')
    expect(notes).toEqual([
      expect.stringMatching(/^an operator reset the run in Temporal at 1970-01-01T00:00:01\.500Z: /),
      expect.stringMatching(/ 1970-01-01T00:00:02\.500Z: /),
    ])
  })

  it('shows the writes of both runs for a pass that the reset interrupted', () => {
    const [first, second] = entries
    const late = { ...first, told: 'signal' as const, atMs: 1600, name: 'wake', input: {} }
    const recordingOf = { workflowId: 'w', entries: [first, late, second] as Recording['entries'] }
    const both = { ...job, rows: jobRows({ job: null, writes: [...writes, write('b', 1, 'continued')], events: [] }) }
    const { passes } = replayedJob(both, [recordingOf])
    expect(passes[0]?.writes.map(({ step }) => step)).toEqual(['kept', 'continued'])
  })
})
