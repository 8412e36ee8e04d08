// A status counts for readiness only when it describes the current generation, which is 3 in these tests.

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

const UNSEEN = 'its controller has not observed the latest spec'

describe('a status', () => {
  // The last two columns: the reason why the status does not count, if this attempt has not changed the object, and if it has.
  it.each([
    ['of the current generation counts', { observedGeneration: 3 }, undefined, undefined],
    ['of the previous generation does not', { observedGeneration: 2 }, UNSEEN, UNSEEN],
    ['whose generation is the previous one, as a string, does not', { observedGeneration: '2' }, UNSEEN, UNSEEN],
    ['with conditions of the previous generation does not', { conditions: [ready(2)] }, UNSEEN, UNSEEN],
    ['with a current condition counts', { conditions: [ready(2), ready(3)] }, undefined, undefined],
    [
      'that names no generation counts unless this attempt has changed the object',
      { conditions: [ready()] },
      undefined,
      /moment ago/,
    ],
    ['that does not exist is not waited for', undefined, undefined, undefined],
  ])('%s', (_, status, reasonIfUnchanged, reasonIfChanged) => {
    expect(staleStatus(object(status), false)).toBe(reasonIfUnchanged)
    if (reasonIfChanged instanceof RegExp) expect(staleStatus(object(status), true)).toMatch(reasonIfChanged)
    else expect(staleStatus(object(status), true)).toBe(reasonIfChanged)
  })

  it('loses its conditions of earlier generations, and no others', () => {
    const conditions = [ready(2), ready(3), ready()]
    expect(withoutStaleConditions(object({ conditions }))['status']).toEqual({ conditions: [ready(3), ready()] })
  })

  it.each([
    ['the previous generation', { observedGeneration: 2, conditions: [ready()] }, false],
    ['the previous generation, in a condition', { observedGeneration: 3, conditions: [ready(2)] }, false],
    ['the current generation', { observedGeneration: 3, conditions: [ready(3)] }, true],
    ['no generation', { conditions: [ready()] }, true],
  ])('makes a Pod ready unless it names an earlier generation: it names %s', (_, status, isReady) => {
    expect(notReady(object(status)) === undefined).toBe(isReady)
  })
})
