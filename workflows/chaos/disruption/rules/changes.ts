// What may be changed of a Disruption that is there. Source: spec/chaos.md 1.8, 2.10 "Update checks".

import type { Problem } from '../../../kit/index.ts'
import { FINALIZER } from '../../contract.ts'
import { fieldsOf, listOf } from '../../json-fields.ts'
import { changedFields } from '../spec-hash.ts'

/** The spec stays, but for count with dynamic targeting. */
export function changeProblems(before: unknown, after: unknown): readonly Problem[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  const changed = changedFields(old['spec'], now['spec'])
  const isStatic = fieldsOf(old['spec'])['staticTargeting'] === true
  const expected = isStatic ? 'the spec as it was created' : 'the spec as it was created, but for count'
  return changed.length > 0 ? [{ field: 'spec', found: `another ${changed.join(', ')}`, expected }] : []
}

/** While chaos pods are there, nobody takes the finalizer off by hand. @param chaosPods their names. */
export function finalizerProblems(before: unknown, after: unknown, chaosPods: readonly string[]): readonly Problem[] {
  const [had, has] = [before, after].map((one) =>
    listOf(fieldsOf(fieldsOf(one)['metadata'])['finalizers']).includes(FINALIZER),
  )
  if (had !== true || has === true || chaosPods.length === 0) return []
  const expected = `${FINALIZER} while there are chaos pods: ${chaosPods.join(', ')}`
  return [{ field: 'metadata.finalizers', found: 'a finalizer taken off', expected }]
}
