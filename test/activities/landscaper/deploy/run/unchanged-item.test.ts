// Tests which items a job skips because their spec is unchanged since their last success.
// Source: spec/landscaper.md 2.9 "updateOnChangeOnly".

import { describe, expect, it } from 'vitest'
import { isUnchanged } from '../../../../../activities/landscaper/deploy/run/item-status.ts'

type Job = Parameters<typeof isUnchanged>[0]

const job = (status: object, updateOnChangeOnly = true) =>
  ({
    object: { metadata: { name: 'i', generation: 2 }, spec: { type: 't', updateOnChangeOnly }, status },
  }) as unknown as Job
const SUCCESS = { phase: 'Succeeded', observedGeneration: 2 }

describe('an item that is deployed on change only', () => {
  it.each([
    ['its last success is of this spec', SUCCESS, true],
    ['its spec is another one', { ...SUCCESS, observedGeneration: 1 }, false],
    ['it has failed', { ...SUCCESS, phase: 'Failed' }, false],
    ['it was left out', { phase: 'Succeeded', conditions: [{ type: 'Skipped', status: 'True' }] }, false],
    ['a former build has left it out', { ...SUCCESS, conditions: [{ type: 'Skipped', status: 'True' }] }, false],
  ])('where %s', (_, status, isLeft) => {
    expect(isUnchanged(job(status))).toBe(isLeft)
    expect(isUnchanged(job(status, false))).toBe(false)
  })
})
