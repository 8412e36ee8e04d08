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

describe('the place of a bug', () => {
  it.each([
    ['the first line of the author, below the folder', STACK, 'actions/open-shop.ts:98:16'],
    ['elsewhere, whole', '    at f (/lib/other.ts:1:2)', '/lib/other.ts:1:2'],
    [
      'the first line of all when none is the author’s',
      '    at f (/x/node_modules/y.js:1:2)',
      '/x/node_modules/y.js:1:2',
    ],
    ['nothing without lines', 'TypeError: no', undefined],
  ])('is %s', (_, stack, place) => {
    expect(thrownAt(stack, FOLDER)).toBe(place)
  })
})

describe('a bug in the list of those', () => {
  it('has the object, the error and its place', () => {
    expect(problemReport(thrown, 'shop', FOLDER)).toBe(
      "shop n/shop: TypeError: reading 'found' (actions/open-shop.ts:98:16)",
    )
  })

  it('has nothing that the author wrote into it, of whatever an object said', () => {
    const told = { ...thrown, name: 'Error', message: 'the password is hunter2' }
    expect(problemReport(told, 'shop', FOLDER)).toBe('shop n/shop: Error (actions/open-shop.ts:98:16)')
  })
})

describe('the report of a bug', () => {
  it('has the error, what it says, and its place', () => {
    expect(bugReport(thrown, FOLDER)).toEqual({
      operation: 'Reconcile',
      reason: 'Bug',
      message: "TypeError: reading 'found' (actions/open-shop.ts:98:16)",
    })
  })

  it('of a job leaves out what may quote a body', () => {
    const quoting = { ...thrown, jobID: 'j', name: 'SyntaxError', message: 'Unexpected token s in "secret"' }
    expect(bugReport(quoting, FOLDER).message).toBe('SyntaxError (actions/open-shop.ts:98:16)')
    expect(bugReport({ ...thrown, jobID: 'j' }, FOLDER).message).toContain("TypeError: reading 'found'")
  })

  it('is no longer than the API server takes', () => {
    expect(bugReport({ ...thrown, message: 'x'.repeat(5000) }, FOLDER).message.length).toBeLessThan(2100)
  })
})

describe('what does not fit', () => {
  it('is the sentence in what Temporal says', () => {
    const told =
      'failed: Failure { message: "[TMPRL1100] Nondeterminism error: \\"applyLevel\\" is not \\"readLevel\\"", source: "" }'
    expect(nondeterminismIn(told)).toBe('"applyLevel" is not "readLevel"')
    expect(nondeterminismIn('something else')).toBe('something else')
  })
})
