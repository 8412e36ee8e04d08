// A status counts for readiness only when it is of the current generation.

import { describe, expect, it } from 'vitest'

import { notReady } from '../../../../../../activities/landscaper/deploy/objects/readiness/default-checks.ts'
import {
  staleStatus,
  withoutStaleConditions,
} from '../../../../../../activities/landscaper/deploy/objects/readiness/generation.ts'

const object = (status?: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'x', generation: 3 },
  ...(status !== undefined && { status }),
})
const ready = (observedGeneration?: number) => ({
  type: 'Ready',
  status: 'True',
  ...(observedGeneration !== undefined && { observedGeneration }),
})

const UNSEEN = 'its controller has not seen the newest spec yet'

describe('a status', () => {
  it.each([
    ['of the current generation counts', { observedGeneration: 3 }, undefined, undefined],
    ['of the generation before does not', { observedGeneration: 2 }, UNSEEN, UNSEEN],
    ['whose generation is a text of the generation before does not', { observedGeneration: '2' }, UNSEEN, UNSEEN],
    ['with conditions of the generation before does not', { conditions: [ready(2)] }, UNSEEN, UNSEEN],
    ['with a current condition counts', { conditions: [ready(2), ready(3)] }, undefined, undefined],
    [
      'that names no generation counts unless this look has changed the object',
      { conditions: [ready()] },
      undefined,
      /moment ago/,
    ],
    ['that does not exist keeps no object waiting', undefined, undefined, undefined],
  ])('%s', (_, status, unchanged, changed) => {
    expect(staleStatus(object(status), false)).toBe(unchanged)
    if (changed instanceof RegExp) expect(staleStatus(object(status), true)).toMatch(changed)
    else expect(staleStatus(object(status), true)).toBe(changed)
  })

  it('loses its conditions of earlier generations, and no others', () => {
    const conditions = [ready(2), ready(3), ready()]
    expect(withoutStaleConditions(object({ conditions }))['status']).toEqual({ conditions: [ready(3), ready()] })
  })

  it.each([
    ['the generation before', { observedGeneration: 2, conditions: [ready()] }, false],
    ['a condition of the generation before', { observedGeneration: 3, conditions: [ready(2)] }, false],
    ['the current generation', { observedGeneration: 3, conditions: [ready(3)] }, true],
    ['no generation', { conditions: [ready()] }, true],
  ])('makes a Pod ready only by the current generation: it names %s', (_, status, isReady) => {
    expect(notReady(object(status)) === undefined).toBe(isReady)
  })
})
