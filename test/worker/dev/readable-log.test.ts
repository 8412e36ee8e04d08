import { describe, expect, it } from 'vitest'

import { readableLog } from '../../../worker/dev/readable-log.ts'

const line = (fields: object) => JSON.stringify({ level: 50, time: 1_770_000_000_000, name: 'worker', ...fields })

describe('the log of a failed process', () => {
  it('is printed as text with the lines of a stack', () => {
    const err = { type: 'Error', message: 'no such module', stack: 'Error: no such module\n    at a.ts:1:2' }
    expect(readableLog(line({ err, msg: 'bundle failed', count: 2 })).split('\n')).toEqual([
      '02:40:00 error: bundle failed',
      '    err: Error: no such module',
      '          at a.ts:1:2',
      '    count: 2',
    ])
  })

  it("contains a bundler's errors, and only stack frames of the user's code", () => {
    const msg =
      'asset a.js\nmodules by path\n\nERROR in node:crypto\nnot handled\n    at /x/node_modules/webpack/lib/a.js:1:2'
    const text = [line({ msg }), 'Error: mine', '    at plan (/home/me/plan.ts:3:4)', '    at node:internal/a:1:2', '']
    expect(readableLog(text.join('\n')).split('\n')).toEqual([
      ...['02:40:00 error: ERROR in node:crypto', 'not handled', 'Error: mine', '    at plan (/home/me/plan.ts:3:4)'],
    ])
  })

  it('of another program stays unchanged', () => {
    const others = ['I0101 kube-apiserver', '{"level":"info","msg":"kwok"}', '{"level":', '    at a.ts:1:2']
    expect(readableLog(others.join('\n'))).toBe(others.join('\n'))
  })
})
