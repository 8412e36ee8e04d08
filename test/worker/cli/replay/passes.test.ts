import { describe, expect, it } from 'vitest'

import type { ReplayEntry } from '../../../../workflows/kit/index.ts'
import {
  replayable,
  openTaskFailure,
  replayObstacle,
  runIDOf,
  signalsAfter,
  howEnded,
} from '../../../../worker/cli/replay/history-events.ts'
import { jobRows } from '../../../../worker/cli/replay/job-rows.ts'
import { plainPaint } from '../../../../worker/cli/query/format.ts'
import { passText } from '../../../../worker/cli/replay/job-text.ts'
import { passesOf, objectsIn } from '../../../../worker/cli/replay/passes.ts'
import { replayError } from '../../../../worker/cli/replay/record.ts'
import { replayFailure } from '../../../../worker/cli/replay/show-job.ts'

const SUBJECT = { kind: 'Widget', uid: 'u', namespace: 'default', name: 'one' }
const EVENT = {
  seq: 7,
  at: '2026-01-01T00:00:00.000Z',
  kind: 'Part',
  namespace: 'default',
  name: 'p',
  resource_version: 12,
  type: 'MODIFIED',
  writer: null,
  manager: 'kubectl-edit',
  projection: { status: { phase: 'Ready' } },
}
const WRITE = {
  run_id: 'r',
  pass: 2,
  step: 'settle',
  object: 'Widget/default/one',
  verb: 'patchStatus',
  field_manager: 'f',
  resource_version: 13,
  error: null,
  started_at: '2026-01-01T00:00:00Z',
  finished_at: '2026-01-01T00:00:00.004Z',
}

const EXACT = { format: (at: Date) => at.toISOString(), isWide: true }

describe('the passes of a run', () => {
  const rows = jobRows({ job: null, writes: [WRITE, { ...WRITE, run_id: 'other' }], events: [EVENT], cut: [] })
  const CONTEXT = { rows, runIDsDuring: () => ['r'], times: EXACT }
  const passes = passesOf(course(), CONTEXT)

  it('show what woke each of them', () => {
    expect(passes.map(({ wokenBy }) => wokenBy)).toEqual([
      ['the start of the job: first seen'],
      [
        'Part default/p (event 7, version 12) changed by field manager kubectl-edit at 2026-01-01T00:00:00.000Z, phase Ready',
      ],
      ["the run's due time"],
      ['the end of a background activity'],
    ])
  })

  it('show events during the previous pass, which its settle returned', () => {
    const entries = course().map((entry) =>
      entry.told === 'answer' && entry.call === 3
        ? { ...entry, result: { result: 'settled', woken: true, wokenBy: [7, 9] } }
        : entry,
    )
    expect(passesOf(entries, CONTEXT)[1]?.wokenBy).toEqual([
      expect.stringMatching(/^Part default\/p \(event 7, .*, during the previous pass$/),
      'event 9 of the journal, during the previous pass',
      expect.stringMatching(/^Part .*Z, phase Ready$/),
    ])
  })

  it('show calls with their answers and the observed objects', () => {
    const [first] = passes
    expect(first?.calls).toEqual([
      {
        name: 'observeWidget',
        summary: 'observe widget',
        action: undefined,
        isLocal: true,
        answer: 'done',
        saw: [{ kind: 'Widget', name: 'one', version: '11', phase: 'Wait' }],
      },
      { name: 'longCall', summary: 'longCall', action: 'send', isLocal: false, answer: 'done', saw: [] },
      { name: 'settle', summary: 'settle', action: undefined, isLocal: true, answer: 'done', saw: [] },
    ])
    expect(passes[3]?.calls[0]?.answer).toEqual({ failure: { type: 'Forbidden', message: 'no' } })
  })

  it("show the journal's writes of this run only", () => {
    expect(passes.map(({ writes }) => writes.length)).toEqual([0, 1, 0, 0])
    expect(passes[1]?.writes[0]).toMatchObject({ verb: 'patchStatus', version: 13, error: undefined, tookMs: 4 })
  })

  it('show the end of the run in the last pass', () => {
    expect(passes.map(({ ended }) => ended)).toEqual([undefined, undefined, undefined, 'Done'])
  })
})

describe('the text of a pass', () => {
  it('has the end of a run in level mode as its result, because such a run ends without a settle', () => {
    const entries: readonly ReplayEntry[] = [
      { atMs: 0, told: 'pass', pass: 1, isOutside: false },
      { atMs: 1, told: 'call', call: 1, name: 'endLevel', summary: 'end: Converged', isLocal: true, input: {} },
      { atMs: 2, told: 'answer', call: 1 },
      { atMs: 3, told: 'ended', result: 'Converged' },
    ]
    const [pass] = passesOf(entries, { rows: undefined, runIDsDuring: () => [], times: EXACT })
    if (pass === undefined) throw new Error('no pass')
    const text = passText(pass, 1, { paint: plainPaint, isWide: false, now: new Date(0) })
    expect(text).toContain('result    end: Converged; no further pass is due\n')
  })
})

describe('the state of a job', () => {
  it.each([
    ['its result', [{ told: 'ended', result: 'Succeeded' }], [], 'Succeeded'],
    ['that it is unfinished', [], [], 'unfinished'],
    [
      'that somebody ended its run',
      [],
      [{ eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED' }],
      'the run was terminated',
    ],
    [
      'the phase that a run which failed has written',
      [
        { told: 'call', call: 1, name: 'settle', isLocal: true, input: { change: { phase: 'Failed' } } },
        { told: 'ended', failure: { type: 'children failed', message: '' } },
      ],
      [],
      'Failed',
    ],
    [
      'what a run which failed was closed with',
      [
        { told: 'call', call: 1, name: 'endRun', isLocal: true, input: { outcome: 'Superseded' } },
        { told: 'ended', failure: { type: 'Superseded', message: '' } },
      ],
      [],
      'Superseded',
    ],
  ] as const)('is %s', (_, entries, events, state) => {
    expect(
      howEnded(
        entries.map((entry) => ({ atMs: 0, ...entry })),
        events,
      ),
    ).toBe(state)
  })
})

const NO_OBSTACLE = { error: '', advice: '' }

describe('a history', () => {
  const task = (what: string) => ({ eventType: `EVENT_TYPE_WORKFLOW_TASK_${what}` })
  const signal = { eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED' }
  const whole = [
    { eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED' },
    task('SCHEDULED'),
    task('STARTED'),
    task('COMPLETED'),
  ]

  it('is replayed up to its last completed workflow task', () => {
    expect(replayable(whole)).toEqual(whole)
    expect(replayable([...whole, signal, task('SCHEDULED'), task('STARTED')])).toEqual([...whole, signal])
    expect(signalsAfter([...whole, signal, task('SCHEDULED'), signal])).toBe(2)
  })

  it('without a completed workflow task is not replayed, and says why', () => {
    const stackTrace = 'Error: boom\n    at fail (/srv/node_modules/x/y.js:1:2)\n    at plan (/srv/site/plan.ts:7:3)'
    const failed = {
      ...task('FAILED'),
      workflowTaskFailedEventAttributes: { failure: { message: 'boom', stackTrace } },
    }
    const begun = whole.slice(0, 3)
    expect(replayObstacle([...whole, failed])).toBeUndefined()
    expect([whole, [failed, ...whole], [...whole, failed]].map(openTaskFailure)).toEqual([
      undefined,
      undefined,
      'boom (/srv/site/plan.ts:7:3)',
    ])
    expect(replayFailure({ workflowId: 'w' }, replayObstacle([...begun, failed]) ?? NO_OBSTACLE).message).toBe(
      'run "w": its first workflow task failed: boom (/srv/site/plan.ts:7:3); fix the code and restart the worker, which retries the task; then repeat pawl replay',
    )
    expect(replayObstacle(begun)?.error).toBe('its first workflow task has not completed')
    expect(replayObstacle([...begun, { eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED' }])?.error).toBe(
      'the run was terminated before its first workflow task completed',
    )
  })

  it('of a controller that the build does not have names the controller and the flag', () => {
    const found =
      'ReplayError: message: "Failed to initialize workflow of type \'website\': no such function is exported by the workflow bundle"'
    expect(replayError(found)).toEqual({
      error: 'the run belongs to controller "website", which this build does not have',
      advice: 'pass the module of the controller with --controllers FILE, as for the worker',
    })
    expect(replayError('a message: "no such step" more')).toEqual({ error: 'no such step' })
  })

  it('contains its run ID', () => {
    expect(runIDOf([{ workflowExecutionStartedEventAttributes: { originalExecutionRunId: 'r' } }])).toBe('r')
    expect(runIDOf([])).toBe('')
  })
})

describe("an activity's answer", () => {
  it('is shown as names, versions and phases only', () => {
    const answer = {
      target: { version: '1', phase: 'Wait', secret: 'opensesame' },
      deployItems: [{ name: 'a', version: '2', config: { password: 'opensesame' } }],
      states: {
        part: {
          kind: 'Part',
          metadata: { name: 'p', resourceVersion: '3' },
          data: { name: 'x', version: 'opensesame' },
        },
      },
    }
    const seen = objectsIn(answer, SUBJECT)
    expect(seen).toEqual([
      { kind: 'Widget', name: 'one', version: '1', phase: 'Wait' },
      { kind: 'deployItem', name: 'a', version: '2', phase: undefined },
      { kind: 'Part', name: 'p', version: '3', phase: undefined },
    ])
  })
})

function course(): readonly ReplayEntry[] {
  const entries: readonly Omit<ReplayEntry, 'atMs'>[] = [
    { told: 'began', workflow: 'widget', input: { subject: SUBJECT, jobID: 'j', cause: 'first seen' } },
    { told: 'pass', pass: 1, isOutside: true },
    {
      told: 'call',
      call: 1,
      name: 'observeWidget',
      summary: 'observe widget',
      isLocal: true,
      input: { subject: SUBJECT },
    },
    { told: 'answer', call: 1, result: { target: { version: '11', phase: 'Wait' } } },
    { told: 'call', call: 2, name: 'longCall', action: 'send', isLocal: false, input: {} },
    ...settled(3),
    { told: 'signal', name: 'wake', input: { seq: 7 } },
    { told: 'pass', pass: 2, isOutside: true },
    ...settled(4),
    { told: 'signal', name: 'wake', input: { seq: 0 } },
    { told: 'pass', pass: 3, isOutside: false },
    ...settled(5),
    { told: 'answer', call: 2, result: {} },
    { told: 'pass', pass: 4, isOutside: false },
    { told: 'call', call: 6, name: 'applyWidget', isLocal: true, input: {} },
    { told: 'answer', call: 6, failure: { type: 'Forbidden', message: 'no' } },
    { told: 'ended', result: 'Done' },
  ] as readonly Omit<ReplayEntry, 'atMs'>[]
  return entries.map((entry, index) => ({ atMs: index, ...entry }) as ReplayEntry)
}

function settled(call: number): readonly object[] {
  return [
    { told: 'call', call, name: 'settle', isLocal: true, input: {} },
    { told: 'answer', call, result: { result: 'settled', woken: false } },
  ]
}
