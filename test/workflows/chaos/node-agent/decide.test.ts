import { describe, expect, it } from 'vitest'

import type { ChaosPod, Ending, Exit, Run } from '../../../../workflows/chaos/node-agent/chaos-pod.ts'
import { decide, type Decision } from '../../../../workflows/chaos/node-agent/decide.ts'

const NOW = 100_000

const pod = (more: Partial<ChaosPod> = {}): ChaosPod => ({
  phase: 'Pending',
  deletion: undefined,
  graceMs: 60_000,
  activeDeadlineMs: undefined,
  problem: undefined,
  ...more,
})
const running = (more: Partial<Extract<Run, { state: 'running' }>> = {}): Run => ({
  state: 'running',
  acceptedMs: 1000,
  startedMs: 2000,
  isReady: false,
  ending: undefined,
  ...more,
})
const ended = (exit: Exit, ending?: Ending): Run => ({
  state: 'ended',
  acceptedMs: 1000,
  startedMs: 2000,
  finishedMs: 3000,
  exit,
  ending,
})
const ending = (more: Partial<Ending> = {}): Ending => ({
  why: 'deleted',
  sinceMs: NOW - 10_000,
  graceMs: 60_000,
  isKilled: false,
  ...more,
})
const exited = (code: number): Exit => ({ how: 'exited', code })

const absent: Run = { state: 'absent' }
const toGo = { deletion: { graceMs: 5000 } }
const live = { phase: 'Running' as const, acceptedMs: 1000, startedMs: 2000, isReady: false }
const over = { acceptedMs: 1000, startedMs: 2000, finishedMs: 3000 }
const never = { acceptedMs: NOW, startedMs: undefined, finishedMs: NOW }
const completed = { phase: 'Succeeded' as const, ...over, container: { exitCode: 0, reason: 'Completed' } }
const failed = (exitCode: number) => ({ phase: 'Failed' as const, ...over, container: { exitCode, reason: 'Error' } })

type Row = readonly [string, ChaosPod | undefined, Run, Partial<Decision>]

const ROWS: readonly Row[] = [
  ['a new pod is started', pod(), absent, { act: { do: 'start' } }],
  ['one that is on its way is let be', pod(toGo), { state: 'starting' }, {}],
  ['one that is to go before it began is let go', pod(toGo), absent, { release: true }],
  ['one with a grace of 0 goes by itself', pod({ deletion: { graceMs: 0 } }), absent, {}],
  [
    'one that cannot be started fails',
    pod({ problem: 'no container' }),
    absent,
    {
      report: {
        phase: 'Failed',
        ...never,
        container: { exitCode: 128, reason: 'StartError', message: 'no container' },
      },
    },
  ],
  ['one that runs is reported to run', pod(), running(), { report: live }],
  ['one that is ready is reported to be', pod(), running({ isReady: true }), { report: { ...live, isReady: true } }],
  [
    'the deadline is waited for',
    pod({ phase: 'Running', activeDeadlineMs: NOW }),
    running(),
    { report: live, againMs: 1000 },
  ],
  [
    'at the deadline the process is told to end',
    pod({ phase: 'Running', activeDeadlineMs: NOW - 1000 }),
    running(),
    { report: live, act: { do: 'terminate', why: 'deadline', graceMs: 60_000 } },
  ],
  [
    'a pod that is to go has its process told to end, in the time of the deletion',
    pod({ phase: 'Running', ...toGo }),
    running(),
    { report: live, act: { do: 'terminate', why: 'deleted', graceMs: 5000 } },
  ],
  [
    'it is told once',
    pod({ phase: 'Running', ...toGo }),
    running({ ending: ending() }),
    { report: live, againMs: 50_000 },
  ],
  [
    'it is killed when its grace is over',
    pod({ phase: 'Running', ...toGo }),
    running({ ending: ending({ graceMs: 10_000 }) }),
    { report: live, act: { do: 'kill' } },
  ],
  [
    'it is killed once',
    pod({ phase: 'Running', ...toGo }),
    running({ ending: ending({ graceMs: 10_000, isKilled: true }) }),
    { report: live },
  ],
  ['an end with 0 is a success', pod({ phase: 'Running', ...toGo }), ended(exited(0), ending()), { report: completed }],
  ['any other end is a failure', pod({ phase: 'Running' }), ended(exited(1)), { report: failed(1) }],
  [
    'a kill is a failure',
    pod({ phase: 'Running', ...toGo }),
    ended(exited(137), ending({ isKilled: true })),
    { report: failed(137) },
  ],
  [
    'an end at the deadline says so, even with 0',
    pod({ phase: 'Running', activeDeadlineMs: 1 }),
    ended(exited(0), ending({ why: 'deadline' })),
    {
      report: {
        ...completed,
        phase: 'Failed',
        reason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
      },
    },
  ],
  [
    'an end that nobody saw is a failure',
    pod({ phase: 'Running' }),
    ended({ how: 'lost' }),
    {
      report: {
        phase: 'Failed',
        ...over,
        container: {
          exitCode: 137,
          reason: 'ContainerStatusUnknown',
          message: 'the injector process ended, and its exit code is unknown',
        },
      },
    },
  ],
  [
    'a pod that ran without a trace of it here is one of those',
    pod({ phase: 'Running' }),
    absent,
    {
      report: {
        phase: 'Failed',
        ...never,
        container: {
          exitCode: 137,
          reason: 'ContainerStatusUnknown',
          message: 'the injector process ended, and its exit code is unknown',
        },
      },
    },
  ],
  ['what is over and told stays', pod({ phase: 'Failed' }), ended(exited(1)), {}],
  ['what is over, told and to go is let go', pod({ phase: 'Succeeded', ...toGo }), ended(exited(0)), { release: true }],
  ['also without a trace of it', pod({ phase: 'Succeeded', ...toGo }), absent, { release: true }],
  [
    'one whose end somebody else has told is ended',
    pod({ phase: 'Failed' }),
    running(),
    { act: { do: 'terminate', why: 'deleted', graceMs: 60_000 } },
  ],
  [
    'without its pod a process is ended',
    undefined,
    running(),
    { act: { do: 'terminate', why: 'gone', graceMs: 60_000 } },
  ],
  ['it has its time', undefined, running({ ending: ending({ why: 'gone' }) }), { againMs: 50_000 }],
  ['and no more', undefined, running({ ending: ending({ why: 'gone', graceMs: 1 }) }), { act: { do: 'kill' } }],
  ['then it is swept', undefined, ended(exited(0)), { act: { do: 'sweep' } }],
  ['so is what never ran', undefined, absent, { act: { do: 'sweep' } }],
  ['not while it is on its way', undefined, { state: 'starting' }, {}],
]

describe('the decision of a node agent', () => {
  it.each(ROWS)('%s', (_, given, run, expected) => {
    const nothing: Decision = { act: undefined, report: undefined, release: false, againMs: undefined }
    expect(decide(given, run, NOW)).toEqual({ ...nothing, ...expected })
  })

  const RUNS: readonly Run[] = [
    ...[absent, { state: 'starting' } as const, running(), running({ ending: ending() })],
    ...[running({ ending: ending({ graceMs: 0 }) }), ended(exited(0)), ended({ how: 'lost' })],
  ]
  const PODS = (['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'] as const).flatMap((phase) =>
    [undefined, { graceMs: 5000 }].map((deletion) => pod({ phase, deletion })),
  )

  it('releases no pod before it has reported its end, or while its process lives', () => {
    for (const given of PODS)
      for (const run of RUNS) {
        const { release, report } = decide(given, run, NOW)
        if (!release) continue
        expect(report).toBeUndefined()
        expect(['absent', 'ended']).toContain(run.state)
        expect(given.deletion).toBeDefined()
        if (run.state === 'ended') expect(['Succeeded', 'Failed']).toContain(given.phase)
      }
  })

  it('starts a process only for a new pending pod that is not being deleted', () => {
    for (const given of PODS)
      for (const run of RUNS) {
        if (decide(given, run, NOW).act?.do !== 'start') continue
        expect([given.phase, given.deletion, run.state]).toEqual(['Pending', undefined, 'absent'])
      }
  })
})
