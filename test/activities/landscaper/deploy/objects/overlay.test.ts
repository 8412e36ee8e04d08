import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { filledFields, overriddenFields } from '../../../../../activities/landscaper/deploy/objects/merge-maps.ts'
import { covers, overlaid } from '../../../../../activities/landscaper/deploy/objects/overlay.ts'

const LIVE = {
  spec: {
    replicas: 1,
    containers: [
      { name: 'app', image: 'a', pullPolicy: 'Always', resources: { limits: { cpu: '1', memory: '512Mi' } } },
      { name: 'sidecar', image: 's' },
    ],
    ports: [{ port: 80, protocol: 'TCP' }],
    args: ['x', 'y'],
    labels: { limits: '1' },
  },
}

describe('a live object covers a wanted one', () => {
  it.each([
    ['nothing', {}],
    ['some of its fields', { spec: { replicas: 1 } }],
    ['named elements beside which others stand', { spec: { containers: [{ name: 'app', image: 'a' }] } }],
    ['elements without their defaults', { spec: { ports: [{ port: 80 }] } }],
    [
      'quantities in another notation',
      { spec: { containers: [{ name: 'app', resources: { limits: { cpu: '1000m', memory: '0.5Gi' } } }] } },
    ],
    ['a quantity written as number', { spec: { containers: [{ name: 'app', resources: { limits: { cpu: 1 } } }] } }],
  ])('when that is %s', (_, wanted) => {
    expect(covers(LIVE, wanted)).toBe(true)
  })

  it.each([
    ['another value', { spec: { replicas: 2 } }],
    ['a field that it has not', { spec: { paused: true } }],
    ['an empty text that it does not have', { spec: { note: '' } }],
    ['an empty map that it does not have', { spec: { strategy: {} } }],
    ['an empty list that it does not have', { spec: { volumes: [] } }],
    ['false where it has nothing', { spec: { paused: false } }],
    ['null where it has a value', { spec: { replicas: null } }],
    ['named elements in another order', { spec: { containers: [{ name: 'sidecar' }, { name: 'app' }] } }],
    ['a text that would be the same amount elsewhere', { spec: { labels: { limits: '1000m' } } }],
    ['a field that every map of the language has', { spec: { constructor: {} } }],
    ['zero instead of a value', { spec: { replicas: 0 } }],
    [
      'another value in one of several named elements',
      {
        spec: {
          containers: [
            { name: 'app', image: 'a' },
            { name: 'sidecar', image: 'x' },
          ],
        },
      },
    ],
    ['an element of another name', { spec: { containers: [{ name: 'other' }] } }],
    ['another list of texts', { spec: { args: ['x'] } }],
    ['texts in another order', { spec: { args: ['y', 'x'] } }],
    ['an element less without names', { spec: { ports: [] } }],
    ['another quantity', { spec: { containers: [{ name: 'app', resources: { limits: { cpu: '2' } } }] } }],
    ['a notation that only quantities share', { spec: { args: ['1000m', 'y'] } }],
    ['a map instead of a list', { spec: { args: { x: 1 } } }],
    ['a text instead of a number', { spec: { replicas: '1' } }],
  ])('not when that is %s', (_, wanted) => {
    expect(covers(LIVE, wanted)).toBe(false)
  })
})

const leaf = fc.oneof(
  fc.constantFrom('x', 'y', '1', ''),
  fc.integer({ min: 0, max: 3 }),
  fc.boolean(),
  fc.constant(null),
)
const json = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('value'), { maxLength: 3 }), tie('map'), tie('named')),
  map: fc.dictionary(fc.constantFrom('a', 'b', 'limits', 'name'), tie('value'), { maxKeys: 3 }),
  named: fc.uniqueArray(fc.record({ name: fc.constantFrom('n', 'm', 'o'), v: tie('value') }), {
    selector: ({ name }) => name,
    maxLength: 3,
  }),
}))

describe('overlay and cover', () => {
  it('agree: a merged value is covered, and merging it again changes nothing', () => {
    fc.assert(
      fc.property(json.map, json.map, (live, wanted) => {
        const whole = overlaid(live, wanted)
        expect(covers(whole, wanted)).toBe(true)
        expect(overlaid(whole, wanted)).toEqual(whole)
      }),
    )
  })

  it('agree that a value covers itself', () => {
    fc.assert(fc.property(json.map, (value) => covers(value, value)))
  })
})

describe('the map merges', () => {
  const live = { a: 1, empty: '', zero: 0, list: [1, 2], map: { x: 1, gone: null }, only: 'live' }
  const wanted = { a: 2, empty: 'filled', zero: 5, list: [3], map: { x: 2, gone: 'back', y: 3 }, extra: true, only: '' }

  it('fill missing and empty fields, live values win', () => {
    expect(filledFields(live, wanted)).toEqual({
      a: 1,
      empty: 'filled',
      zero: 5,
      list: [1, 2],
      map: { x: 1, gone: 'back', y: 3 },
      only: 'live',
      extra: true,
    })
  })

  it('override fields, except with empty values; lists as a whole', () => {
    expect(overriddenFields(live, wanted)).toEqual({
      a: 2,
      empty: 'filled',
      zero: 5,
      list: [3],
      map: { x: 2, gone: 'back', y: 3 },
      only: 'live',
      extra: true,
    })
    expect(overriddenFields(live, { a: 0, list: [], map: {}, only: null })).toEqual(live)
  })
})
