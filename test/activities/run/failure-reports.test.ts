import { describe, expect, it } from 'vitest'

import { bugReport, nondeterminismIn, problemReport, thrownAt } from '../../../activities/run/failure-reports.ts'

const FOLDER = '/home/me/shop'
const STACK = [
  "TypeError: Cannot read properties of undefined (reading 'found')",
  '    at found (/home/me/pawl/workflows/kit/run/loop/level-pass.ts:50:74)',
  '    at Script.runInContext (node:vm:149:12)',
  '    at vm.Script.runInContext (file:///home/me/pawl/worker/reconciler/temporal/lean-workflow-threads.ts:21:89)',
  '    at Proxy.<anonymous> (/home/me/shop/node_modules/@temporalio/worker/lib/workflow/reusable-vm.js:216:45)',
  '    at async /home/me/shop/actions/open-shop.ts:98:16',
  '    at async openShop (/home/me/shop/plan.ts:12:3)',
].join('\n')
const thrown = {
  subject: { group: 'example.com', kind: 'Shop', uid: 'u', namespace: 'n', name: 'shop' },
  jobID: '',
  isReplaying: false,
  name: 'TypeError',
  message: "reading 'found'",
  stack: STACK,
}

describe('the source location of a bug', () => {
  it.each([
    ['the first line in code of the author, relative to the folder', STACK, 'actions/open-shop.ts:98:16'],
    ['the whole path outside of the folder', '    at f (/lib/other.ts:1:2)', '/lib/other.ts:1:2'],
    [
      'the first line of all when no line is in code of the author',
      '    at f (/x/node_modules/y.js:1:2)',
      '/x/node_modules/y.js:1:2',
    ],
    ['undefined when the stack has no lines', 'TypeError: no', undefined],
  ])('is %s', (_, stack, place) => {
    expect(thrownAt(stack, FOLDER)).toBe(place)
  })
})

describe('an entry in the list of bugs', () => {
  it('contains the object, the error and its source location', () => {
    expect(problemReport(thrown, 'shop', FOLDER)).toBe(
      "shop n/shop: TypeError: reading 'found' (actions/open-shop.ts:98:16)",
    )
  })

  it('omits the message of a plain Error, because it may quote an object', () => {
    const told = { ...thrown, name: 'Error', message: 'the password is hunter2' }
    expect(problemReport(told, 'shop', FOLDER)).toBe('shop n/shop: Error (actions/open-shop.ts:98:16)')
  })
})

const REMEDY = 'fix the code and restart the worker ("pawl why shop/shop -n n" shows whether passes continue)'

describe('the report of a bug', () => {
  it('contains the controller, the step, the error, its source location and the remedy', () => {
    expect(bugReport({ ...thrown, step: 'openShop' }, 'shop', FOLDER)).toEqual({
      operation: 'Reconcile',
      reason: 'Bug',
      message: `controller "shop": step "openShop": TypeError: reading 'found' (actions/open-shop.ts:98:16); ${REMEDY}`,
    })
  })

  it('of a job omits a message that may quote a body', () => {
    const quoting = { ...thrown, jobID: 'j', name: 'SyntaxError', message: 'Unexpected token s in "secret"' }
    expect(bugReport(quoting, 'shop', FOLDER).message).toBe(
      `controller "shop": SyntaxError (actions/open-shop.ts:98:16); ${REMEDY}`,
    )
    expect(bugReport({ ...thrown, jobID: 'j' }, 'shop', FOLDER).message).toContain("TypeError: reading 'found'")
  })

  it('limits the length of the error message', () => {
    expect(bugReport({ ...thrown, message: 'x'.repeat(5000) }, 'shop', FOLDER).message.length).toBeLessThan(2200)
  })
})

describe('the nondeterminism error', () => {
  it('is extracted from the failure message of Temporal', () => {
    const told =
      'failed: Failure { message: "[TMPRL1100] Nondeterminism error: \\"applyLevel\\" is not \\"readLevel\\"", source: "" }'
    expect(nondeterminismIn(told)).toBe('"applyLevel" is not "readLevel"')
    expect(nondeterminismIn('something else')).toBe('something else')
  })
})
