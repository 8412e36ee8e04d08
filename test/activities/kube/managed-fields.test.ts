import { describe, expect, it } from 'vitest'
import {
  hasElements,
  isWhole,
  isWrittenByOthers,
  ownedFields,
  lastManagers,
  managerOf,
} from '../../../activities/kube/managed-fields.ts'

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

describe('the manager of the last write', () => {
  const now = new Date('2026-02-03T04:05:08Z')
  const wrote = (manager: string, second: number, subresource = '') => ({
    manager,
    time: `2026-02-03T04:05:0${second}Z`,
    subresource,
  })
  const [edit, apply] = [wrote('kubectl-edit', 7), wrote('kubectl-client-side-apply', 5)]
  const bug = wrote('pawl-website', 7, 'status')

  it.each([
    ['of the newest write', [apply, edit, null, { time: 7 }], false, 'kubectl-edit'],
    ['of the status', [edit, bug], true, 'pawl-website'],
    ['of other parts than the status', [edit, bug], false, 'kubectl-edit'],
    ['of another client in the same second as Pawl', [wrote('pawl-installation', 7), edit], false, 'kubectl-edit'],
    ['unknown after two clients in the same second', [wrote('argocd', 7), edit], false, undefined],
    ['unknown without a recent write', [{ ...edit, time: '2026-02-03T04:04:57Z' }], false, undefined],
    ['unknown without a list', 'x', false, undefined],
  ])('is that %s', (_, managedFields, isStatusChange, manager) => {
    expect(managerOf(lastManagers({ managedFields: managedFields as never }, now), isStatusChange)).toBe(manager)
  })

  it('is unknown if the deletion may be the last write', () => {
    const deleted = { managedFields: [edit], deletionTimestamp: '2026-02-03T04:05:07Z' }
    expect(lastManagers(deleted, now)).toEqual({})
  })
})
