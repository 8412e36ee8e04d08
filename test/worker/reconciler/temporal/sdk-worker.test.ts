import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'

import {
  controllerFields,
  isExpectedFailure,
  isControllerLog,
  temporalFields,
} from '../../../../worker/reconciler/temporal/sdk-worker.ts'

describe('a log line of Temporal', () => {
  // The run of a failed job ends with an error without a stack (workflows/kit/run/loop/loop.ts, L4).
  it('is about an expected failure if its error has an empty stack', () => {
    const failedJob = new Error('failed: db')
    failedJob.stack = ''
    expect([failedJob, structuredClone(failedJob)].map(isExpectedFailure)).toEqual([true, true])
    const bugs = [new TypeError('x is not a function'), undefined, 'text']
    expect(bugs.map(isExpectedFailure)).toEqual([false, false, false])
  })

  it('has type and message of an ApplicationFailure, and also the stack of another error', () => {
    const [type, message] = ['StateNotOwned', 'ConfigMap default/a is owned by nobody']
    const error = ApplicationFailure.nonRetryable(message, type)
    const fields = { activityType: 'observeLevel', part: 'temporal' }
    expect(temporalFields({ activityType: 'observeLevel', error })).toEqual({ ...fields, error: { type, message } })
    const bug = new TypeError('x is not a function')
    const logged = JSON.parse(JSON.stringify(temporalFields({ workflowId: 'website/u', error: bug }))) as object
    const loggedError = { type: 'TypeError', message: 'x is not a function', stack: bug.stack }
    expect(logged).toMatchObject({ workflowId: 'website/u', error: loggedError })
  })

  it('has the fields of the SDK and the field `part`', () => {
    expect(temporalFields({ taskQueue: 'pawl' })).toEqual({ taskQueue: 'pawl', part: 'temporal' })
    expect(temporalFields()).toEqual({ part: 'temporal' })
  })
})

describe('a log line of a controller', () => {
  it('is distinguished from log lines of the SDK', () => {
    const lines = ['workflow', 'activity', 'worker', 'core', undefined].map((sdkComponent) => ({ sdkComponent }))
    expect([...lines, undefined].map(isControllerLog)).toEqual([true, true, false, false, false, false])
  })

  it('has the fields of the controller and the workflow ID, and no redundant fields of the SDK', () => {
    const redundant = { sdkComponent: 'workflow', namespace: 'default', taskQueue: 'pawl' }
    const run = { runId: 'r', workflowType: 'shop' }
    const own = { object: 'Shop n/one', action: 'fetchQuote', price: 5, workflowId: 'shop/n/one/u' }
    expect(controllerFields({ ...redundant, ...run, ...own })).toEqual(own)
  })
})
