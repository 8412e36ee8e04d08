import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  labelSelectorText,
  mayMatch,
  type RoutedEvent,
  type Selection,
  indexKeysOf,
  withIndexKeys,
} from '../../../../../workflows/kit/index.ts'
import { requiredIndexKeys } from '../../../../../workflows/kit/run/level/index-keys.ts'

type Labels = Readonly<Record<string, string>>

const labelled = (labels: Labels | undefined, rest: object = {}) => ({ metadata: { name: 'x', labels }, ...rest })
const kept = (labels: Labels | undefined, fields: readonly string[] = []) =>
  withIndexKeys({}, { fields }, labelled(labels))
const event = (type: RoutedEvent['type'], now: object, previous?: object) =>
  indexKeysOf({ type, projection: { ...now }, previous: previous && { ...previous } })
const selection = (labelSelector: string, fromFields: Labels = {}): Selection => ({
  namespace: 'ns',
  name: undefined,
  labelSelector,
  fieldSelector: '',
  controller: undefined,
  fromFields,
})

describe('the index keys of an object', () => {
  it('are its labels and the fields of queries, in the projection of kinds with selectors', () => {
    const object = labelled({ b: '2', 'a.b/c': '' }, { involvedObject: { name: 'web', port: 1 } })
    const fields = ['involvedObject.name', 'involvedObject.port', 'missing']
    expect(withIndexKeys({ kept: true }, { fields }, object)).toEqual({
      kept: true,
      'pawl.dev/traits': ['.involvedObject.name=web', 'a.b/c=', 'b=2'],
    })
    expect(withIndexKeys({}, undefined, object)).toEqual({})
    expect(kept(undefined)).toEqual({ 'pawl.dev/traits': [] })
  })

  it('are not stored for many or long labels, because each event would repeat them', () => {
    const many = (count: number, length = 1) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v'.repeat(length)]))
    expect(kept(many(64))).not.toEqual({})
    expect(kept(many(65))).toEqual({})
    expect(kept(many(64, 63))).toEqual({})
  })

  it('include the current and the previous keys', () => {
    const has = (...args: Parameters<typeof event>) => event(...args)?.has
    expect(has('MODIFIED', kept({ app: 'b' }), kept({ app: 'a', old: 'x' }))).toEqual([
      ...['app=b', 'app=a', 'old=x'],
      ...['app', 'old'],
    ])
    expect(has('ADDED', kept({ app: 'a' }))).toEqual(['app=a', 'app'])
    expect(has('DELETED', kept({ app: 'a' }), kept({ app: 'a' }))).toEqual(['app=a', 'app'])
  })

  it('match any value of a field that only one of two releases stores, or whose value is not a string', () => {
    const about = (name: unknown, fields = ['about.name']) =>
      withIndexKeys({}, { fields }, labelled({}, { about: { name } }))
    const may = (value: string, ...[now, before]: readonly object[]) =>
      mayMatch(event('MODIFIED', now ?? {}, before), [`.about.name=${value}`])
    expect(may('web', about('web'), about('web'))).toBe(true)
    expect(may('web', about('api'), about('web'))).toBe(true)
    expect(may('web', about('api'), about('api'))).toBe(false)
    expect(may('web', about('api'), about('api', []))).toBe(true)
    expect(may('web', about('api', []), about('api'))).toBe(true)
    expect(may('3', about(3), about(3))).toBe(true)
    expect(may('', about(undefined), about(undefined))).toBe(true)
    expect(mayMatch(undefined, ['app=web'])).toBe(true)
  })

  it('are unknown for objects that another release has stored without keys', () => {
    expect(event('MODIFIED', kept({ app: 'a' }), {})).toBeUndefined()
    expect(event('MODIFIED', {}, kept({ app: 'a' }))).toBeUndefined()
    expect(event('MODIFIED', kept({ app: 'a' }))).toBeUndefined()
    expect(event('ADDED', {})).toBeUndefined()
  })
})

describe('the required index keys of a selector', () => {
  it.each([
    ['', []],
    ['app=web,tier=', ['app=web', 'tier=']],
    ['zone notin (a,b),!off,tier!=canary', []],
    ['on,tier in (a),kind in (x,y),app=web', ['app=web', 'tier=a', 'kind', 'on']],
  ])('for "%s" are %j', (selector, demanded) => {
    expect(requiredIndexKeys(selection(selector))).toEqual(demanded)
  })

  it('start with fields and are limited to the size of an index row', () => {
    const fields = { 'involvedObject.name': 'web-1', long: 'x'.repeat(400), wide: '\u00e4' }
    const demanded = requiredIndexKeys(selection('e=1,d=1,c=1,b=1,a=1', fields))
    expect(demanded).toEqual(['.involvedObject.name=web-1', 'a=1', 'b=1', 'c=1'])
  })

  // A missed change would leave a Disruption or another object in its old state forever.
  it('are always keys of the selected objects', () => {
    const [key, value] = [fc.constantFrom('a', 'b', 'x.y/c'), fc.constantFrom('', '1', '2', 'in', 'notin')]
    const expression = fc.record({
      key,
      operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist'),
      values: fc.array(value, { minLength: 1, maxLength: 3 }),
    })
    const selector = fc.record({ matchLabels: fc.dictionary(key, value), matchExpressions: fc.array(expression) })
    fc.assert(
      fc.property(selector, fc.dictionary(key, value), ({ matchLabels, matchExpressions }, labels) => {
        const all = [
          ...Object.entries(matchLabels).map(([of, only]) => ({ key: of, operator: 'In', values: [only] })),
          ...matchExpressions,
        ]
        fc.pre(all.every((one) => SELECTS[one.operator]?.(labels[one.key], one.values) === true))
        const expressions = matchExpressions.map(({ values, ...one }) =>
          /In$/.test(one.operator) ? { ...one, values } : one,
        )
        const text = labelSelectorText({ matchLabels, matchExpressions: expressions })
        const demanded = requiredIndexKeys(selection(text ?? ''))
        const traits = event('ADDED', kept(labels))
        expect(demanded.filter((one) => !mayMatch(traits, [one]))).toEqual([])
        const lost = event('MODIFIED', kept({}), kept(labels))
        expect(demanded.filter((one) => !mayMatch(lost, [one]))).toEqual([])
      }),
    )
  })
})

// As Kubernetes has it.
const SELECTS: Readonly<Record<string, (found: string | undefined, values: readonly string[]) => boolean>> = {
  In: (found, values) => found !== undefined && values.includes(found),
  NotIn: (found, values) => found === undefined || !values.includes(found),
  Exists: (found) => found !== undefined,
  DoesNotExist: (found) => found === undefined,
}
