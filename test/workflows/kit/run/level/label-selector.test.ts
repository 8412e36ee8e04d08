import { describe, expect, it } from 'vitest'

import { labelSelectorText } from '../../../../../workflows/kit/index.ts'

const expressed = (...matchExpressions: object[]) => labelSelectorText({ matchExpressions })

describe('a label selector in an object', () => {
  it('is a map of labels, or an object with matchLabels and matchExpressions', () => {
    expect(labelSelectorText({ app: 'web', 'example.com/tier': 'front' })).toBe('app=web,example.com/tier=front')
    const matchExpressions = [
      { key: 'tier', operator: 'In', values: ['a', 'b'] },
      { key: 'zone', operator: 'NotIn', values: ['c'] },
      { key: 'on', operator: 'Exists' },
      { key: 'off', operator: 'DoesNotExist', values: [] },
    ]
    const text = 'app=web,tier in (a,b),zone notin (c),on,!off'
    expect(labelSelectorText({ matchLabels: { app: 'web' }, matchExpressions })).toBe(text)
    expect(labelSelectorText({ matchLabels: { app: 'web' } })).toBe('app=web')
  })

  it.each([undefined, null, 'app=web', [], {}, { matchLabels: {} }, { matchExpressions: [] }])(
    'selects nothing when it is none, or empty: %j',
    (value) => {
      expect(labelSelectorText(value)).toBeUndefined()
    },
  )

  it('selects nothing when a text in it is not a valid label', () => {
    expect(labelSelectorText({ app: 'a,b=c' })).toBeUndefined()
    expect(labelSelectorText({ 'a=b,c': 'd' })).toBeUndefined()
    expect(labelSelectorText({ app: 1 })).toBeUndefined()
    expect(expressed({ key: 'a', operator: 'In', values: ['b),!c'] })).toBeUndefined()
    expect(expressed({ key: 'a)', operator: 'Exists' })).toBeUndefined()
    for (const operator of ['constructor', 'Gt', undefined]) expect(expressed({ key: 'a', operator })).toBeUndefined()
    expect(expressed({ key: 'a', operator: 'In', values: [] })).toBeUndefined()
    expect(expressed({ key: 'a', operator: 'Exists', values: ['b'] })).toBeUndefined()
  })
})
