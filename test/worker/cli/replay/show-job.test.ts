import { describe, expect, it } from 'vitest'

import { nextState, type StepperState } from '../../../../worker/cli/replay/show-job.ts'

describe('the pager', () => {
  it.each([
    ['n', 1],
    ['nn', 2],
    ['nnnnn', 2],
    ['nnp', 1],
    ['p', 0],
    ['G', 2],
    ['Gg', 0],
    ['3\r', 2],
    ['2\r', 1],
    ['9\r', 0],
    ['n9\r', 1],
    ['n\r', 2],
    ['nx', 1],
  ])('shows with key %j page %d', (keys, at) => {
    expect(after(keys)).toEqual({ at, typed: '' })
  })

  it('collects digits until enter, and deletes them with backspace', () => {
    expect(after('1')).toEqual({ at: 0, typed: '1' })
    expect(after('12\u007f')).toEqual({ at: 0, typed: '1' })
  })

  it.each(['q', 'nq', '\u0003', '\u0004'])('quits with key %j', (keys) => {
    expect(after(keys)).toBeUndefined()
  })
})

/** The state after the keys, for three passes. */
function after(keys: string): StepperState | undefined {
  const names: Readonly<Record<string, string>> = { '\r': 'return', '\u007f': 'backspace' }
  let steps: StepperState | undefined = { at: 0, typed: '' }
  for (const sequence of keys) {
    const name = names[sequence] ?? sequence.toLowerCase()
    steps = steps && nextState(steps, { name, sequence }, [1, 2, 3])
  }
  return steps
}
