import { beforeEach, describe, expect, it } from 'vitest'
import { WriteIntents } from '../../../../activities/journal/write/write-intents.ts'
import type { NewAction } from '../../../../activities/journal/write/actions.ts'
import { later, NOW } from '../build-events.ts'

const action = (step: string, options: Partial<NewAction> = {}): NewAction => ({
  workflow_id: 'w',
  run_id: 'r',
  pass: 1,
  step,
  object: 'Task/ns/a',
  verb: 'patch',
  field_manager: 'f',
  started_at: NOW,
  ...options,
})

let holds: WriteIntents
beforeEach(() => {
  holds = new WriteIntents()
})

/** Begins the write, and marks its intent row as stored if it needs one. @returns whether it needs a row. */
function begin(row: NewAction, ms = 0): boolean {
  const needed = holds.begin([row], later(ms))
  holds.markStored(needed)
  return needed.length > 0
}

describe('a write needs its own intent row', () => {
  it('while no other write of its run holds the object', () => {
    expect(begin(action('first'))).toBe(true)
    expect(begin(action('of another object', { object: 'Task/ns/b' }))).toBe(true)
    expect(begin(action('of another run', { run_id: 'r2' }))).toBe(true)
    expect(begin(action('second'))).toBe(false)
  })

  it('after half of the hold time of the other write', () => {
    begin(action('first'))
    expect(begin(action('second', { started_at: later(499) }), 499)).toBe(false)
    expect(begin(action('third', { started_at: later(500) }), 500)).toBe(true)
  })

  it('when the intent of the other write is not stored yet, or was removed', () => {
    holds.begin([action('on its way')], NOW)
    expect(holds.begin([action('beside it')], NOW)).toHaveLength(1)
    holds.remove([action('on its way'), action('beside it')])
    expect(begin(action('after it'))).toBe(true)
  })

  it('when a flush has taken the end of the other write', () => {
    begin(action('first'))
    begin(action('covered'))
    expect(holds.takeUnstored([action('first')]).map(({ step }) => step)).toEqual(['covered'])
    expect(begin(action('meanwhile'))).toBe(true)
    holds.ended([action('first')])
    holds.markStored([action('covered')])
    expect(begin(action('after'))).toBe(false)
    expect(holds.takeUnstored([action('covered'), action('meanwhile')]).map(({ step }) => step)).toEqual(['after'])
  })
})
