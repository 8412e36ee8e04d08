import { describe, expect, it } from 'vitest'

import { defineLevel, type LevelDefinition, levelKinds, nop } from '../../../../../workflows/kit/index.ts'

const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const define = (change: Partial<LevelDefinition<Record<string, unknown>, unknown>> = {}) =>
  defineLevel({ name: 'shop', target, queries: {}, plan: nop, ...change })
const many = (kind: string) => ({ queries: { some: { kind, many: true as const } } })
const pluralOf = (kind: string, change: object = {}) =>
  levelKinds(define({ ...many(kind), ...change })).find((known) => `${known.apiVersion}/${known.kind}` === kind)?.plural

describe('the definition of a controller in level mode', () => {
  it.each([
    ['v1/Pod', 'pods'],
    ['v1/Endpoints', 'endpoints'],
    ['networking.k8s.io/v1/Ingress', 'ingresses'],
    ['networking.k8s.io/v1/NetworkPolicy', 'networkpolicies'],
    ['storage.k8s.io/v1/StorageClass', 'storageclasses'],
    ['batch/v1/CronJob', 'cronjobs'],
  ])('returns the resource of %s: %s', (kind, plural) => {
    expect(pluralOf(kind)).toBe(plural)
  })

  it('uses given plurals', () => {
    expect(pluralOf('example.com/v1/Goose', { plurals: { 'example.com/v1/Goose': 'geese' } })).toBe('geese')
  })

  it.each(['example.com/v1/Goose', 'v1/Podd', 'apps/v1/Pod', 'constructor/v1/Pod'])(
    'refuses the kind %s, whose plural nobody told',
    (kind) => {
      expect(() => define(many(kind))).toThrow(
        `controller shop: the plural of kind ${kind} is unknown; add it to \`plurals\``,
      )
    },
  )

  it.each(['Shop', '', 'a/b', 'shop-keeper', '1shop'])('rejects the name "%s"', (name) => {
    expect(() => define({ name })).toThrow(`controller "${name}": the name is invalid; expected letters and digits`)
  })

  it('rejects a finalizer without a domain, and onDelete without a finalizer', () => {
    expect(() => define({ finalizer: 'mine' })).toThrow('finalizer: found "mine"; expected domain/name')
    expect(() => define({ onDelete: nop })).toThrow('found onDelete without finalizer')
    expect(() => define({ needsFinalizer: () => true })).toThrow('found needsFinalizer without finalizer')
    const target = { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', isReadOnly: true as const }
    expect(() => define({ target, finalizer: 'example.com/mine' })).toThrow(
      'remove it, because the target is read-only',
    )
    expect(define({ finalizer: 'example.com/mine', onDelete: nop }).finalizer).toBe('example.com/mine')
  })

  it('normalizes declared writes, with their namespaces', () => {
    const writes = ['v1/ConfigMap', { kind: 'apps/v1/Deployment', namespaces: ['x'] }]
    expect(define({ writes }).writes).toEqual([
      { kind: 'v1/ConfigMap', namespaces: [] },
      { kind: 'apps/v1/Deployment', namespaces: ['x'] },
    ])
    expect(define().writes).toEqual([])
  })

  it.each([
    [
      ['ConfigMap'],
      'controller shop: `writes`: found "ConfigMap"; expected group/version/Kind, such as apps/v1/Deployment or v1/Secret',
    ],
    [['example.com/v1/Goose'], 'the plural of kind example.com/v1/Goose is unknown; add it to `plurals`'],
    [['v1/Secret', { kind: 'v1/Secret' }], '`writes` has v1/Secret twice; expected each kind once'],
    [
      [{ kind: 'v1/Secret', namespaces: [] }],
      'has an empty list of namespaces for v1/Secret; add a namespace, or remove the field',
    ],
    [[{ kind: 'v1/Secret', namespaces: ['*'] }], 'has the namespace "*" for v1/Secret; expected a valid name'],
    [[{ kind: 'v1/Secret', verbs: [] }], 'has an empty list of verbs for v1/Secret; add a verb, or remove the field'],
    [[{ kind: 'v1/Node', namespaces: ['x'] }], 'has namespaces for v1/Node; remove them'],
  ])('rejects the declared write %j', (writes, message) => {
    expect(() => define({ writes })).toThrow(message)
  })
})
