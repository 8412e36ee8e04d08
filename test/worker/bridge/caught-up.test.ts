import { describe, expect, it } from 'vitest'

import { caughtUp, type Reflector } from '../../../worker/bridge/reflector.ts'

const reflector = (kind: string, state: () => string | undefined): Reflector => ({
  kind,
  run: () => Promise.resolve(),
  behind: state,
})

describe('the readiness of a bridge', () => {
  it('names the kinds that are not caught up, until they are', () => {
    let behind: string | undefined = 'listing'
    const { word, wrong } = caughtUp([reflector('Task', () => behind), reflector('Other', () => undefined)])
    expect([word, wrong()]).toEqual(['behind', { Task: 'listing' }])
    behind = undefined
    expect(wrong()).toEqual({})
  })
})
