import { describe, expect, it } from 'vitest'

import type { ContainerRun, PodFacts } from '../../../worker/node-agent/decide.ts'
import { statusPatch, type StatusInput } from '../../../worker/node-agent/pod-status.ts'
import type { PodStatus } from '../../../worker/node-agent/status-fields.ts'
import { agentPod, type PodOptions } from './pods.ts'

const time = (second: number) => `1970-01-01T00:00:0${second}Z`
const running = (isReady = false): ContainerRun => ({
  state: 'running',
  startedMs: 2000,
  isStarted: true,
  isReady,
  isUnhealthy: false,
})
const ended = (code: number) => ({
  state: 'ended' as const,
  startedMs: 2000,
  finishedMs: 3000,
  exit: { how: 'exited' as const, code },
})
const factsOf = (run: ContainerRun, more: object = {}): PodFacts => ({
  acceptedMs: 1000,
  ending: undefined,
  containers: { main: { run, restarts: 0, crashes: 0, ...more } },
})

function patch(run: ContainerRun | PodFacts, more: Partial<StatusInput> = {}, options: PodOptions = {}) {
  return statusPatch({
    pod: agentPod(options),
    facts: 'containers' in run ? run : factsOf(run),
    nowMs: 9000,
    decision: { end: undefined, backOff: {} },
    hostIP: '10.0.0.1',
    podIP: '127.64.0.1',
    waiting: {},
    ...more,
  }) as PodStatus | undefined
}
/** The options of the pod after the patch. */
const after = (status: PodStatus | undefined): PodOptions => ({ status: { ...status } })
const END = { decision: { end: { phase: 'Succeeded' as const }, backOff: {} } }

describe('the status of a pod', () => {
  it('contains the running state and the addresses', () => {
    const unready = { status: 'False', reason: 'ContainersNotReady', message: 'containers with unready status: [main]' }
    expect(patch(running())).toEqual({
      phase: 'Running',
      hostIP: '10.0.0.1',
      podIP: '127.64.0.1',
      startTime: time(1),
      hostIPs: [{ ip: '10.0.0.1' }],
      podIPs: [{ ip: '127.64.0.1' }],
      conditions: [
        { type: 'Initialized', status: 'True', lastTransitionTime: time(9) },
        { type: 'Ready', ...unready, lastTransitionTime: time(9) },
        { type: 'ContainersReady', ...unready, lastTransitionTime: time(9) },
      ],
      containerStatuses: [
        {
          name: 'main',
          image: 'i',
          imageID: '',
          restartCount: 0,
          containerID: 'pawl://uid-1/main',
          ready: false,
          started: true,
          state: { running: { startedAt: time(2) } },
        },
      ],
    })
  })

  it('is not written again without a change', () => {
    const end = (run: ContainerRun): Partial<StatusInput> => (run.state === 'ended' ? END : {})
    for (const run of [{ state: 'none' as const }, running(), running(true), ended(0)])
      expect(patch(run, { ...end(run), nowMs: 12_000 }, after(patch(run, end(run))))).toBeUndefined()
  })

  it('changes with readiness, and keeps other conditions and the times of unchanged ones', () => {
    const scheduled = { type: 'PodScheduled', status: 'True' }
    const initialized = { type: 'Initialized', status: 'True', lastTransitionTime: time(4) }
    const status = { ...patch(running()), startTime: time(0), conditions: [scheduled, initialized] }
    expect(patch(running(true), {}, { status })).toMatchObject({
      startTime: time(0),
      conditions: [
        scheduled,
        initialized,
        { type: 'Ready', status: 'True', lastTransitionTime: time(9) },
        { type: 'ContainersReady', status: 'True', lastTransitionTime: time(9) },
      ],
      containerStatuses: [{ ready: true }],
    })
  })

  it('contains the end of the container with its message, and the reason of the pod', () => {
    const late = { phase: 'Failed' as const, reason: 'DeadlineExceeded', message: 'too long' }
    const status = patch({ ...ended(1), message: 'because' }, { decision: { end: late, backOff: {} } })
    expect(status).toMatchObject({ ...late, containerStatuses: [{ ready: false, started: false }] })
    expect(status?.containerStatuses?.[0]?.state).toEqual({
      terminated: {
        exitCode: 1,
        reason: 'Error',
        message: 'because',
        containerID: 'pawl://uid-1/main',
        startedAt: time(2),
        finishedAt: time(3),
      },
    })
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', reason: 'PodFailed' }))
  })

  it.each([
    ['unstarted', { how: 'unstarted', message: 'm' }, { exitCode: 128, reason: 'StartError', message: 'm' }],
    ['lost', { how: 'lost' }, { exitCode: 137, reason: 'ContainerStatusUnknown' }],
  ] as const)('has the reasons of the kubelet for an end that is %s', (_, exit, terminated) => {
    const run: ContainerRun = { state: 'ended', startedMs: undefined, finishedMs: 3000, exit }
    expect(patch(run, END)?.containerStatuses?.[0]?.state).toMatchObject({ terminated })
  })

  it('has the lost containers of a pod without a record', () => {
    const lost: PodFacts = { acceptedMs: undefined, ending: undefined, containers: {} }
    const decision = { end: { phase: 'Failed' as const }, backOff: {} }
    expect(patch(lost, { decision }, { phase: 'Running' })?.containerStatuses?.[0]?.state).toMatchObject({
      terminated: { reason: 'ContainerStatusUnknown', exitCode: 137 },
    })
  })

  it('shows the wait of a crashed container, and the run before', () => {
    const status = patch(factsOf(ended(1), { restarts: 2 }), {
      decision: { end: undefined, backOff: { main: 10_000 } },
    })
    expect(status).toMatchObject({
      phase: 'Running',
      containerStatuses: [
        {
          restartCount: 2,
          state: {
            waiting: {
              reason: 'CrashLoopBackOff',
              message: 'back-off 10s restarting failed container=main pod=one_n(uid-1)',
            },
          },
          lastState: { terminated: { exitCode: 1 } },
        },
      ],
    })
    expect(patch(factsOf(running(), { restarts: 3, last: ended(1) }))?.containerStatuses).toMatchObject([
      { restartCount: 3, state: { running: {} }, lastState: { terminated: { exitCode: 1, reason: 'Error' } } },
    ])
  })

  it('is Pending until init containers have succeeded and all containers have started', () => {
    const options = { initContainers: [{ name: 'init', image: 'j' }] }
    const facts = (init: ContainerRun): PodFacts => ({
      ...factsOf({ state: 'none' }),
      containers: { init: { run: init, restarts: 0, crashes: 0 } },
    })
    expect(patch(facts(running()), {}, options)).toMatchObject({
      phase: 'Pending',
      conditions: [{ type: 'Initialized', status: 'False', reason: 'ContainersNotInitialized' }, {}, {}],
      initContainerStatuses: [{ name: 'init', state: { running: {} } }],
      containerStatuses: [{ state: { waiting: { reason: 'PodInitializing' } } }],
    })
    const waiting = { main: { reason: 'CreateContainerConfigError', message: 'no secret' } }
    expect(patch(facts(ended(0)), { waiting }, options)).toMatchObject({
      phase: 'Pending',
      initContainerStatuses: [{ ready: true, state: { terminated: { exitCode: 0 } } }],
      containerStatuses: [{ state: { waiting: waiting.main } }],
    })
  })

  it('has the additional conditions of its wing, and removes them', () => {
    const conditions = (status: string | undefined): Partial<StatusInput> => ({
      conditions: { types: ['x/y'], of: () => (status === undefined ? [] : [{ type: 'x/y', status }]) },
    })
    const before = patch(running(), conditions('True'))
    expect(before?.conditions).toContainEqual({ type: 'x/y', status: 'True', lastTransitionTime: time(9) })
    expect(patch(running(), conditions('True'), after(before))).toBeUndefined()
    const next = patch(running(), conditions(undefined), after(before))
    expect(next?.conditions?.map(({ type }) => type)).toEqual(['Initialized', 'Ready', 'ContainersReady'])
  })
})
