import { describe, expect, it } from 'vitest'

import { couldOwnByLabel, mayOwnByLabel, writesFor, checkWritePlace } from '../../../../../workflows/kit/index.ts'

const writes = [
  { kind: 'v1/ConfigMap', namespaces: ['shared'] },
  { kind: 'v1/Node', namespaces: [] },
]
const at = (kind: string, namespace: string, targetNamespace = 'targetNamespace') => ({
  kind,
  namespace,
  targetNamespace,
})

describe('the check of a write', () => {
  it.each([
    ['declared', at('v1/ConfigMap', 'targetNamespace')],
    ['declared', at('v1/ConfigMap', 'shared')],
    ['elsewhere', at('v1/ConfigMap', 'other')],
    ['declared', at('v1/Node', '')],
    ['undeclared', at('v1/Pod', 'targetNamespace')],
    ['declared', at('v1/ConfigMap', 'other', '')],
    ['undeclared', at('v1/Pod', 'other', '')],
  ])('returns %s for the declarations %o', (verdict, place) => {
    expect(checkWritePlace(writes, place)).toBe(verdict)
  })

  it("accepts the target's namespace without declarations, and any namespace for a cluster-scoped target", () => {
    expect(checkWritePlace([], at('v1/Pod', 'targetNamespace'))).toBe('declared')
    expect(checkWritePlace([], at('v1/Pod', 'other'))).toBe('elsewhere')
    expect(checkWritePlace([], at('v1/Node', ''))).toBe('elsewhere')
    expect(checkWritePlace([], at('v1/Pod', 'other', ''))).toBe('declared')
  })
})

describe('a namespace template in declared writes', () => {
  const declaredWrites = [{ kind: 'v1/Pod', namespaces: ['${target.status.place ?? settings.place}', 'fixed'] }]
  const pod = (namespace: string) => ({ group: '', kind: 'Pod', namespace, targetNamespace: 'targetNamespace' })
  const placesOf = (target: object, settings?: string) =>
    writesFor(declaredWrites, { target, settings: settings === undefined ? undefined : { place: settings } })[0]
      ?.namespaces

  it('matches the namespace that it is filled with, and no namespace while it is unfilled', () => {
    expect(placesOf({ status: { place: 'here' } }, 'there')).toEqual(['here', 'fixed'])
    expect(placesOf({}, 'there')).toEqual(['there', 'fixed'])
    expect(placesOf({})).toEqual(['fixed'])
  })

  it('allows ownership by label in its namespace, and nowhere while it is unfilled', () => {
    const filled = writesFor(declaredWrites, { target: {}, settings: { place: 'there' } })
    expect(['there', 'fixed', 'other'].map((one) => mayOwnByLabel(filled, pod(one)))).toEqual([true, true, false])
    expect(['there', 'fixed'].map((one) => mayOwnByLabel(declaredWrites, pod(one)))).toEqual([false, true])
  })

  it('allows any namespace when target and settings are unknown', () => {
    expect(couldOwnByLabel(declaredWrites, pod('other'))).toBe(true)
    expect(couldOwnByLabel([{ kind: 'v1/Pod', namespaces: ['fixed'] }], pod('other'))).toBe(false)
  })
})
