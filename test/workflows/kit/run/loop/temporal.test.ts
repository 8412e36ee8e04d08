import { ActivityFailure, ApplicationFailure, CancelledFailure, RetryState, TimeoutFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { KubeError, laterFailure } from '../../../../../activities/kube/errors.ts'
import { DEADLINE_EXCEEDED, done } from '../../../../../workflows/kit/index.ts'
import { temporalRuntime } from '../../../../../workflows/kit/run/loop/temporal.ts'

const wrapped = (cause: Error) =>
  new ActivityFailure('Activity task failed', 'applyChildren', '4', RetryState.NON_RETRYABLE_FAILURE, 'worker', cause)

describe('a failure that reaches a workflow', () => {
  const final = ApplicationFailure.nonRetryable('spec.blueprint is missing', 'MissingBlueprint')
  const outcome = {
    ...done,
    faults: [{ code: 'MissingBlueprint', message: 'spec.blueprint is missing', retryable: false }],
  }

  it('becomes a fault when a regular activity throws it, inside of a wrapper', () => {
    expect(temporalRuntime.toOutcome(wrapped(final))).toEqual(outcome)
  })

  it('becomes the same fault when a local activity throws it, without a wrapper', () => {
    expect(temporalRuntime.toOutcome(final)).toEqual(outcome)
  })

  it.each(['wrapped', 'bare'])('becomes a retryable fault when an activity exceeded its time-out (%s)', (form) => {
    const timeout = new TimeoutFailure('activity StartToClose timeout', undefined, 'START_TO_CLOSE')
    expect(temporalRuntime.toOutcome(form === 'wrapped' ? wrapped(timeout) : timeout)).toEqual({
      ...done,
      faults: [{ code: 'Timeout', message: 'activity StartToClose timeout', retryable: true }],
    })
  })

  it('becomes a retryable fault when no time for another try was left in the task', () => {
    const failure = laterFailure(new KubeError('no answer', { status: 0, reason: 'Unreachable' }))
    expect(failure.nonRetryable).toBe(true)
    expect(temporalRuntime.toOutcome(failure)).toEqual({
      ...done,
      faults: [{ code: 'Unreachable', message: 'no answer', retryable: true }],
    })
  })

  it('becomes a retryable fault when the worker has ended a call at its deadline', () => {
    const failure = ApplicationFailure.nonRetryable('the timeout of the call has passed', DEADLINE_EXCEEDED)
    expect(temporalRuntime.toOutcome(failure)).toEqual({
      ...done,
      faults: [{ code: 'Timeout', message: 'the timeout of the call has passed', retryable: true }],
    })
  })

  it('is rethrown when it is a bug or a cancellation', () => {
    expect(
      [new TypeError('no'), new CancelledFailure('stop')].map((error) => temporalRuntime.toOutcome(error)),
    ).toEqual([undefined, undefined])
  })
})
