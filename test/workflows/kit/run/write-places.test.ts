import { describe, expect, it } from 'vitest'

import { writeVerdict } from '../../../../workflows/kit/index.ts'

const writes = [
  { kind: 'v1/ConfigMap', namespaces: ['shared'] },
  { kind: 'v1/Node', namespaces: [] },
]
const at = (kind: string, namespace: string, home = 'home') => ({ kind, namespace, home })

describe('where an action may write', () => {
  it.each([
    ['declared', at('v1/ConfigMap', 'home')],
    ['declared', at('v1/ConfigMap', 'shared')],
    ['elsewhere', at('v1/ConfigMap', 'other')],
    ['declared', at('v1/Node', '')],
    ['undeclared', at('v1/Pod', 'home')],
    ['declared', at('v1/ConfigMap', 'other', '')],
    ['undeclared', at('v1/Pod', 'other', '')],
  ])('is %s of what the controller declares: %o', (verdict, place) => {
    expect(writeVerdict(writes, place)).toBe(verdict)
  })

  it("is the target's namespace where it declares nothing, and anywhere for a target that is in none", () => {
    expect(writeVerdict([], at('v1/Pod', 'home'))).toBe('declared')
    expect(writeVerdict([], at('v1/Pod', 'other'))).toBe('elsewhere')
    expect(writeVerdict([], at('v1/Node', ''))).toBe('elsewhere')
    expect(writeVerdict([], at('v1/Pod', 'other', ''))).toBe('declared')
  })
})
