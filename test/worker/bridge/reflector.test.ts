import { describe, expect, it } from 'vitest'

import { reflectorReadiness, type Reflector } from '../../../worker/bridge/reflector.ts'

const reflector = (kind: string, state: () => string | undefined): Reflector => ({
  kind,
  run: () => Promise.resolve(),
  behind: state,
})

describe('the readiness of a bridge', () => {
  it('lists the kinds that are not caught up', () => {
    let behind: string | undefined = 'listing'
    const { field: word, failures: wrong } = reflectorReadiness([
      reflector('Task', () => behind),
      reflector('Other', () => undefined),
    ])
    expect([word, wrong()]).toEqual(['behind', { Task: 'listing' }])
    behind = undefined
    expect(wrong()).toEqual({})
  })
})
