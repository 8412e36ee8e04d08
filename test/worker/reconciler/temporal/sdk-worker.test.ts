import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'

import {
  controllerFields,
  isExpectedFailure,
  isControllerLog,
  temporalFields,
} from '../../../../worker/reconciler/temporal/sdk-worker.ts'

describe('an error in a log line of Temporal', () => {
  it('is expected without a stack, and a bug with one', () => {
    const ended = new Error('failed: db')
    ended.stack = ''
    expect([ended, structuredClone(ended)].map(isExpectedFailure)).toEqual([true, true])
    expect([new TypeError('x is not a function'), undefined, 'text'].map(isExpectedFailure)).toEqual([
      false,
      false,
      false,
    ])
  })
})

describe('the fields of a log line of Temporal', () => {
  it('contain code and message of an activity failure', () => {
    const error = ApplicationFailure.nonRetryable('ConfigMap default/a is owned by nobody', 'StateNotOwned')
    const told = { type: 'StateNotOwned', message: 'ConfigMap default/a is owned by nobody' }
    expect(temporalFields({ activityType: 'observeLevel', error })).toEqual({
      activityType: 'observeLevel',
      part: 'temporal',
      error: told,
    })
  })

  it('contain the stack of an unexpected error', () => {
    const error = new TypeError('x is not a function')
    const told = JSON.parse(JSON.stringify(temporalFields({ workflowId: 'website/u', error }))) as object
    expect(told).toMatchObject({
      workflowId: 'website/u',
      error: { type: 'TypeError', message: 'x is not a function' },
    })
    expect(told).toHaveProperty('error.stack', error.stack)
  })

  it('stay unchanged without an error', () => {
    expect(temporalFields({ taskQueue: 'pawl' })).toEqual({ taskQueue: 'pawl', part: 'temporal' })
    expect(temporalFields()).toEqual({ part: 'temporal' })
  })
})

describe('a log line of a controller', () => {
  it('is distinguished from log lines of the SDK', () => {
    const components = ['workflow', 'activity', 'worker', 'core', undefined]
    expect(components.map((sdkComponent) => isControllerLog({ sdkComponent }))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ])
    expect(isControllerLog(undefined)).toBe(false)
  })

  it('has the given fields and the run ID, and no redundant fields of the SDK', () => {
    const added = {
      sdkComponent: 'workflow',
      namespace: 'default',
      taskQueue: 'pawl',
      runId: 'r',
      workflowType: 'shop',
    }
    const own = { object: 'Shop n/one', action: 'fetchQuote', price: 5 }
    expect(controllerFields({ ...added, ...own, workflowId: 'shop/n/one/u' })).toEqual({
      ...own,
      workflowId: 'shop/n/one/u',
    })
  })
})
