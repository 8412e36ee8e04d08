import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'

import {
  controllerFields,
  isExpectedFailure,
  isControllerLog,
  temporalFields,
} from '../../../../worker/reconciler/temporal/sdk-worker.ts'

describe('a log line of Temporal', () => {
  it('has an expected error without a stack, and a bug with one', () => {
    const ended = new Error('failed: db')
    ended.stack = ''
    expect([ended, structuredClone(ended)].map(isExpectedFailure)).toEqual([true, true])
    const bugs = [new TypeError('x is not a function'), undefined, 'text']
    expect(bugs.map(isExpectedFailure)).toEqual([false, false, false])
  })

  it('has code and message of an activity failure, and the stack of an unexpected error', () => {
    const [type, message] = ['StateNotOwned', 'ConfigMap default/a is owned by nobody']
    const error = ApplicationFailure.nonRetryable(message, type)
    const fields = { activityType: 'observeLevel', part: 'temporal' }
    expect(temporalFields({ activityType: 'observeLevel', error })).toEqual({ ...fields, error: { type, message } })
    const bug = new TypeError('x is not a function')
    const told = JSON.parse(JSON.stringify(temporalFields({ workflowId: 'website/u', error: bug }))) as object
    const said = { type: 'TypeError', message: 'x is not a function', stack: bug.stack }
    expect(told).toMatchObject({ workflowId: 'website/u', error: said })
  })

  it('has its fields unchanged without an error', () => {
    expect(temporalFields({ taskQueue: 'pawl' })).toEqual({ taskQueue: 'pawl', part: 'temporal' })
    expect(temporalFields()).toEqual({ part: 'temporal' })
  })
})

describe('a log line of a controller', () => {
  it('is distinguished from log lines of the SDK', () => {
    const lines = ['workflow', 'activity', 'worker', 'core', undefined].map((sdkComponent) => ({ sdkComponent }))
    expect([...lines, undefined].map(isControllerLog)).toEqual([true, true, false, false, false, false])
  })

  it('has the given fields and the run ID, and no redundant fields of the SDK', () => {
    const place = { sdkComponent: 'workflow', namespace: 'default', taskQueue: 'pawl' }
    const run = { runId: 'r', workflowType: 'shop' }
    const own = { object: 'Shop n/one', action: 'fetchQuote', price: 5, workflowId: 'shop/n/one/u' }
    expect(controllerFields({ ...place, ...run, ...own })).toEqual(own)
  })
})
