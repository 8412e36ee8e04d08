import { describe, expect, it } from 'vitest'
import { hasElements, isWhole, isWrittenByOthers, ownedFields } from '../../../activities/kube/managed-fields.ts'

const entry = (manager: string, fieldsV1: object) => ({ manager, operation: 'Update', fieldsV1 }) as never
const all = () => true

describe('the fields that managers own', () => {
  it('are the union of what each of them owns', () => {
    const managedFields = [entry('a', { 'f:x': {} }), entry('b', { 'f:x': { 'f:y': {} }, 'f:z': { '.': {} } })]
    const set = ownedFields({ managedFields }, all)
    expect([...(set?.fields.keys() ?? [])]).toEqual(['x', 'z'])
    expect(set?.fields.get('x')).toMatchObject({ isOwned: true })
    expect(set?.fields.get('x')?.fields.get('y')).toMatchObject({ isOwned: true })
    expect(set?.isOwned).toBe(false)
  })

  it('are the fields of the chosen managers only', () => {
    const managedFields = [entry('a', { 'f:x': {} }), entry('b', { 'f:y': {} })]
    const set = ownedFields({ managedFields }, ({ manager }) => manager === 'b')
    expect([...(set?.fields.keys() ?? [])]).toEqual(['y'])
  })

  it('tell lists with keys, sets and whole values apart', () => {
    const managedFields = [
      entry('a', {
        'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} }, 'k:{"port":81}': { 'f:name': {} } },
        'f:finalizers': { 'v:"f"': {} },
        'f:args': {},
      }),
    ]
    const fields = ownedFields({ managedFields }, all)?.fields
    expect(fields?.get('ports')?.elements).toMatchObject([
      { key: { port: 80, protocol: 'TCP' }, set: { isOwned: true } },
      { key: { port: 81 }, set: { isOwned: false } },
    ])
    expect(fields?.get('finalizers')?.elements).toMatchObject([{ key: undefined, value: 'f' }])
    expect([fields?.get('ports'), fields?.get('args')].map(hasElements)).toEqual([true, false])
    expect([fields?.get('ports'), fields?.get('args')].map(isWhole)).toEqual([false, true])
  })

  it.each([
    ['no list', { x: 1 }],
    ['entries that are none', [null, 7, {}, { fieldsV1: 7 }]],
    ['keys that are no JSON', [{ fieldsV1: { 'f:a': { 'k:{': {}, 'v:': {}, 'k:7': {}, 'f:b': 7 } } }]],
    ['names of every object', [{ fieldsV1: { 'f:__proto__': { 'f:constructor': {} } } }]],
  ])('are read without failure where a server sends %s', (_, managedFields) => {
    expect(() => ownedFields({ managedFields: managedFields as never }, all)).not.toThrow()
  })
})

const status = (manager: string, field: string) => ({ manager, fieldsV1: { 'f:status': { [`f:${field}`]: {} } } })
const by = (...managedFields: readonly object[]) => ({ metadata: { managedFields } })

describe('a field of a status', () => {
  it.each([
    ['that another engine has written', by(status('landscaper-controller', 'importsHash')), true],
    ['that Pawl has written', by(status('pawl-installation', 'importsHash')), false],
    [
      'that both have',
      by(status('landscaper-controller', 'importsHash'), status('pawl-installation', 'importsHash')),
      false,
    ],
    ['beside which another one is somebody else’s', by(status('kubectl', 'phase')), false],
    ['of an object of which nothing is known', { metadata: {} }, false],
  ])('%s', (_, object, isOthers) => {
    expect(isWrittenByOthers(object, 'importsHash')).toBe(isOthers)
  })
})
