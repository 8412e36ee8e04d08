import { describe, expect, it } from 'vitest'

import type { Report } from '../../../../workflows/chaos/node-agent/decide.ts'
import { type PodStatus, statusPatch } from '../../../../workflows/chaos/node-agent/pod-status.ts'

const PLACE = { hostIP: '10.0.0.1', podIP: '10.0.0.2', image: 'injector:1', containerID: 'pawl://uid' }
const timeOf = (ms: number) => `t${ms}`
const patch = (current: PodStatus, report: Report) => statusPatch(current, report, PLACE, { nowMs: 9, timeOf })

const runs: Report = { phase: 'Running', acceptedMs: 1, startedMs: 2, isReady: false }
const ready: Report = { ...runs, isReady: true }
const done: Report = {
  phase: 'Succeeded',
  acceptedMs: 1,
  startedMs: 2,
  finishedMs: 3,
  container: { exitCode: 0, reason: 'Completed' },
}
/** The object after a merge patch. */
const merged = (current: PodStatus, report: Report): PodStatus => ({ ...current, ...patch(current, report) })

describe('the status of a chaos pod', () => {
  it('contains the running state and the addresses', () => {
    expect(patch({ phase: 'Pending' }, runs)).toEqual({
      phase: 'Running',
      hostIP: '10.0.0.1',
      podIP: '10.0.0.2',
      startTime: 't1',
      conditions: [
        { type: 'Initialized', status: 'True', lastTransitionTime: 't9' },
        { type: 'Ready', status: 'False', reason: 'ContainersNotReady', lastTransitionTime: 't9' },
        { type: 'ContainersReady', status: 'False', reason: 'ContainersNotReady', lastTransitionTime: 't9' },
      ],
      containerStatuses: [
        {
          name: 'injector',
          image: 'injector:1',
          imageID: '',
          restartCount: 0,
          containerID: 'pawl://uid',
          ready: false,
          started: true,
          state: { running: { startedAt: 't2' } },
        },
      ],
    })
  })

  it('is not written again without a change', () => {
    for (const report of [runs, ready, done])
      expect(patch(merged({ phase: 'Pending' }, report), report)).toBeUndefined()
  })

  it('changes with readiness, and keeps other conditions and the times of unchanged ones', () => {
    const scheduled = { type: 'PodScheduled', status: 'True' }
    const initialized = { type: 'Initialized', status: 'True', lastTransitionTime: 't4' }
    const before = { ...merged({ phase: 'Pending' }, runs), startTime: 't0', conditions: [scheduled, initialized] }
    expect(patch(before, ready)).toMatchObject({
      startTime: 't0',
      conditions: [
        scheduled,
        initialized,
        { type: 'Ready', status: 'True', lastTransitionTime: 't9' },
        { type: 'ContainersReady', status: 'True', lastTransitionTime: 't9' },
      ],
      containerStatuses: [{ ready: true }],
    })
  })

  it('has the message of the injector: the simulation when it is ready, else the reason of the failure', () => {
    const injectorMessage = (isSimulated: boolean, message: string) => ({ injectorMessage: { isSimulated, message } })
    const condition = (report: Report) =>
      merged({ phase: 'Pending' }, report).conditions?.find(({ type }) => type === 'pawl.dev/injector')
    expect(condition({ ...ready, ...injectorMessage(true, 'simulated: x') })).toMatchObject({
      status: 'True',
      reason: 'Simulated',
      message: 'simulated: x',
    })
    const failing = { ...runs, ...injectorMessage(true, 'not injected: y') }
    expect(condition(failing)).toMatchObject({ status: 'False', reason: 'NotInjected', message: 'not injected: y' })
    expect(condition({ ...ready, ...injectorMessage(false, '') })).toBeUndefined()
    const told = merged({ phase: 'Pending' }, failing)
    expect(patch(told, failing)).toBeUndefined()
    expect(patch(told, { ...failing, ...injectorMessage(true, 'not injected: z') })).toBeDefined()
  })

  it('contains the end of the container', () => {
    const after = patch(merged({ phase: 'Pending' }, ready), done)
    expect(after).toMatchObject({ phase: 'Succeeded', startTime: 't1' })
    expect(after?.['containerStatuses']).toEqual([
      {
        name: 'injector',
        image: 'injector:1',
        imageID: '',
        restartCount: 0,
        containerID: 'pawl://uid',
        ready: false,
        started: false,
        state: {
          terminated: {
            exitCode: 0,
            reason: 'Completed',
            containerID: 'pawl://uid',
            startedAt: 't2',
            finishedAt: 't3',
          },
        },
      },
    ])
    expect(after?.['conditions']).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'PodCompleted' }),
    )
  })

  it('contains the reason of the pod', () => {
    const late: Report = { ...done, phase: 'Failed', reason: 'DeadlineExceeded', message: 'too long' }
    expect(patch({ phase: 'Running' }, late)).toMatchObject({ reason: 'DeadlineExceeded', message: 'too long' })
  })
})
