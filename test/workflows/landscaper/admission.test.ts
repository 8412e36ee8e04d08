// Tests each admission rule of spec/landscaper.md 5.3: the objects that it accepts, and the problems (field, found,
// expected) of the objects that it rejects.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { ADMISSIONS } from '../../../workflows/admission.gen.ts'
import { type AdmissionOperation, openApiSchema, problemText } from '../../../workflows/kit/index.ts'
import { MAX_ITEMS } from '../../../workflows/landscaper/item-rules.ts'
import { expectCpuBelow } from '../../support/costs/cpu-limit.ts'
import { strangeJson } from '../../support/fuzz/strange.ts'
import { validValue } from '../../support/fuzz/valid-values.ts'

const [DEPLOY_ITEM, EXECUTION, INSTALLATION, TARGET] = ['DeployItem', 'Execution', 'Installation', 'Target'] as const
const USER = { name: 'somebody', groups: [] }

interface Asked {
  readonly operation?: AdmissionOperation
  readonly metadata?: object
  readonly old?: object
}

/** The messages for an object of this kind. */
function problems(kind: string, spec: unknown, { operation = 'CREATE', metadata, old }: Asked = {}): readonly string[] {
  const admission = (ADMISSIONS['landscaper'] ?? []).find((one) => one.kind.kind === kind)
  if (admission === undefined) throw new Error(`${kind} has no rules`)
  const object = { metadata: { name: 'it', ...metadata }, spec }
  return [...admission.validate({ operation, object, old, user: USER })].map(problemText)
}

const CONFIG = { apiVersion: 'x/v1', kind: 'X' }
const item = (name: string, more: object = {}) => ({ name, type: 't', config: CONFIG, ...more })
const INLINE = { blueprint: { inline: { filesystem: {} } } }
const install = (more: object) => ({ ...INLINE, ...more })

describe('the rules of a Target', () => {
  it.each([
    { config: {} },
    { secretRef: { name: 's' } },
    {},
    { config: 'text' },
    { config: null, secretRef: { name: 's' } },
  ])('accept %j', (spec) => {
    expect(problems(TARGET, { type: 't', ...spec })).toEqual([])
  })

  it('refuse a spec with both config and secretRef', () => {
    expect(problems(TARGET, { type: 't', config: {}, secretRef: { name: 's' } })).toEqual([
      'spec: found config and secretRef; expected one of them',
    ])
  })
})

describe('the rules of a DeployItem', () => {
  it.each([{}, { target: { name: 'a', namespace: 'b' } }])('accept %j', (more) => {
    expect(problems(DEPLOY_ITEM, { type: 't', ...more })).toEqual([])
  })

  it('refuse a DeployItem without a type', () => {
    expect(problems(DEPLOY_ITEM, { type: '' })).toEqual([
      'spec.type: found nothing; expected the type, which selects the deployer',
    ])
  })

  it('refuse a target without name or namespace', () => {
    expect(problems(DEPLOY_ITEM, { type: 't', target: { name: '' } })).toEqual([
      'spec.target.name: found nothing; expected the name of a Target',
      'spec.target.namespace: found nothing; expected the namespace of a Target',
    ])
  })

  it('refuse a change of the type', () => {
    const old = { spec: { type: 'before' } }
    expect(problems(DEPLOY_ITEM, { type: 'after' }, { operation: 'UPDATE', old })).toEqual([
      'spec.type: found "after"; expected "before", which cannot be changed',
    ])
    expect(problems(DEPLOY_ITEM, { type: 'before' }, { operation: 'UPDATE', old })).toEqual([])
  })
})

describe('the rules of an Execution', () => {
  const refused = (...deployItems: readonly object[]) => problems(EXECUTION, { deployItems })

  it.each([
    {},
    { deployItemsCompressed: 'H4sI' },
    { deployItems: [item('a'), item('b', { dependsOn: ['a'] }), item('c', { dependsOn: ['a', 'b'] })] },
    { deployItems: [item('a', { target: { name: 'x', namespace: 'y' }, labels: { 'example.org/tier': 'web' } })] },
  ])('accept %j', (spec) => {
    expect(problems(EXECUTION, spec)).toEqual([])
  })

  it('refuse items without name or type, and duplicate names', () => {
    expect(refused(item(''), item('a'), { ...item('a'), type: '' })).toEqual([
      'spec.deployItems[0].name: found nothing; expected a name',
      'spec.deployItems[2].name: found "a", which an item before it has; expected unique names',
      'spec.deployItems[2].type: found nothing; expected the type, which selects the deployer',
    ])
  })

  it('refuse a target without name or namespace', () => {
    expect(refused(item('a', { target: { name: 'x' } }))).toEqual([
      'spec.deployItems[0].target.namespace: found nothing; expected the namespace of a Target',
    ])
  })

  it('refuse labels with an invalid key or value', () => {
    expect(refused(item('a', { labels: { 'a b': 'x', tier: 'a b' } }))).toEqual([
      'spec.deployItems[0].labels.a b: found an invalid label key; expected a name such as tier or example.org/tier',
      'spec.deployItems[0].labels.tier: found an invalid label value; expected at most 63 letters, digits, dots, dashes and underscores',
    ])
  })

  it('refuse dependencies on missing items, and list the existing items', () => {
    expect(refused(item('a'), item('b', { dependsOn: ['c'] }))).toEqual([
      'spec.deployItems[1].dependsOn: found "c", which is not in the list; expected names of a, b',
    ])
  })

  it.each([
    [[item('a', { dependsOn: ['a'] })], 'a -> a'],
    [[item('a'), item('b', { dependsOn: ['c', 'a'] }), item('c', { dependsOn: ['b'] })], 'b -> c -> b'],
  ])('refuse a cycle with its path', (deployItems, path) => {
    expect(refused(...deployItems)).toEqual([
      `spec.deployItems: found items that depend on each other: ${path}; expected no cycle`,
    ])
  })

  it('report a cycle of 5000 items by its first items', () => {
    const ring = Array.from({ length: 5000 }, (_, index) =>
      item(`i${index}`, { dependsOn: [`i${(index + 1) % 5000}`] }),
    )
    const [told = '', ...more] = refused(...ring)
    expect(more).toEqual([])
    expect(told).toContain('i0 -> i1 -> i2')
    expect(told).toContain('-> ... (5000 items)')
    expect(told.length).toBeLessThan(400)
  })
})

describe('the rules of a large Execution', () => {
  const large = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      item(`i${index}`, { dependsOn: Array.from({ length: 20 }, (_, other) => `none-${index}-${other}`) }),
    )

  it('report 100,000 mistakes in less than 10 s of CPU time', () => {
    // Takes minutes if each check searches all items.
    const found = expectCpuBelow(10_000, () => problems(EXECUTION, { deployItems: large(MAX_ITEMS) }))
    expect(found).toHaveLength(MAX_ITEMS * 20)
  }, 300_000)

  it('refuse more than 5000 items without checking the items', () => {
    expect(problems(EXECUTION, { deployItems: large(MAX_ITEMS + 1) })).toEqual([
      'spec.deployItems: found 5001 deploy items; expected at most 5000',
    ])
  })

  it('report a duplicate dependency once', () => {
    expect(problems(EXECUTION, { deployItems: [item('a', { dependsOn: ['b', 'b', 'c'] })] })).toEqual([
      'spec.deployItems[0].dependsOn: found "b", which is not in the list; expected names of a',
      'spec.deployItems[0].dependsOn: found "c", which is not in the list; expected names of a',
    ])
  })
})

describe('the rules of an Installation', () => {
  const data = (...entries: readonly object[]) => problems(INSTALLATION, install({ imports: { data: entries } }))
  const targets = (...entries: readonly object[]) => problems(INSTALLATION, install({ imports: { targets: entries } }))

  it.each([
    INLINE,
    { blueprint: { ref: { resourceName: 'b' } }, componentDescriptor: { ref: { componentName: 'c', version: '1' } } },
    install({ componentDescriptor: { inline: {} } }),
    install({
      imports: {
        data: [
          { name: 'a', dataRef: 'a' },
          { name: 'b', secretRef: { name: 's', key: 'k' } },
        ],
        targets: [
          ...[
            { name: 'c', target: 't' },
            { name: 'd', targets: [] },
            { name: 'e', targetMap: {} },
          ],
          ...[
            { name: 'f', targetListRef: 'l' },
            { name: 'g', targetMapRef: 'm' },
            { name: 'h', targetMap: { 'a.b-c': 't' } },
          ],
        ],
      },
      exports: { data: [{ name: 'a', dataRef: 'a' }], targets: [{ name: 'b', target: 'b' }] },
      automaticReconcile: { succeededReconcile: { cronSpec: '0 * * * *' }, failedReconcile: { interval: '5m' } },
    }),
  ])('accept %j', (spec) => {
    expect(problems(INSTALLATION, spec)).toEqual([])
  })

  it.each([
    ['a.b', 'metadata.name: found "a.b"; expected lower-case letters and digits, with dashes between them'],
    ['a'.repeat(59), 'metadata.name: found 59 characters; expected at most 58'],
  ])('refuse the name %s', (name, told) => {
    expect(problems(INSTALLATION, INLINE, { metadata: { name } })).toEqual([told])
    expect(problems(INSTALLATION, INLINE, { metadata: { name }, operation: 'UPDATE', old: {} })).toEqual([])
  })

  it('accept a name of 58 characters, and refuse a generateName of more than 53 characters', () => {
    expect(problems(INSTALLATION, INLINE, { metadata: { name: 'a'.repeat(58) } })).toEqual([])
    expect(problems(INSTALLATION, INLINE, { metadata: { generateName: 'a'.repeat(53) } })).toEqual([])
    expect(problems(INSTALLATION, INLINE, { metadata: { generateName: 'a'.repeat(54) } })).toEqual([
      'metadata.generateName: found 54 characters; expected at most 53',
    ])
  })

  it.each([
    [{ blueprint: {} }, 'spec.blueprint: found none; expected one of ref, inline'],
    [
      { blueprint: { ref: { resourceName: 'x' }, inline: { filesystem: {} } } },
      'spec.blueprint: found ref and inline; expected one of ref, inline',
    ],
    [
      install({ componentDescriptor: { inline: {}, ref: { componentName: 'c', version: '1' } } }),
      'spec.componentDescriptor: found ref and inline; expected one of them',
    ],
    [
      install({ componentDescriptor: { ref: { componentName: '', version: '1' } } }),
      'spec.componentDescriptor.ref.componentName: found nothing; expected a text that is not empty',
    ],
    [
      install({ componentDescriptor: { ref: { componentName: 'c' } } }),
      'spec.componentDescriptor.ref.version: found nothing; expected a text that is not empty',
    ],
  ])('refuse %j', (spec, told) => {
    expect(problems(INSTALLATION, spec)).toEqual([told])
  })

  it('refuse data imports without exactly one source', () => {
    const sources = 'expected one of dataRef, secretRef, configMapRef'
    expect(data({ name: 'a' }, { name: 'b', dataRef: 'x', configMapRef: { name: 'y' } })).toEqual([
      `spec.imports.data[0]: found none; ${sources}`,
      `spec.imports.data[1]: found dataRef and configMapRef; ${sources}`,
    ])
    expect(data({ name: 'a', secretRef: { name: '' } })).toEqual([
      'spec.imports.data[0].secretRef.name: found nothing; expected a text that is not empty',
    ])
  })

  it('refuse target imports without exactly one source, with empty names, or with invalid keys', () => {
    expect(targets({ name: 'a' }, { name: 'b', target: 'x', targets: [] })).toEqual([
      'spec.imports.targets[0]: found none; expected one of target, targets, targetListRef, targetMap, targetMapRef',
      'spec.imports.targets[1]: found target and targets; expected one of target, targets, targetListRef, targetMap, targetMapRef',
    ])
    expect(targets({ name: 'a', target: '' }, { name: 'b', target: '', targets: ['x', ''] })).toEqual([
      'spec.imports.targets[0]: found none; expected one of target, targets, targetListRef, targetMap, targetMapRef',
      'spec.imports.targets[1].targets[1]: found nothing; expected a text that is not empty',
    ])
    expect(targets({ name: 'a', targetMap: { Key: 'x', fine: '' } })).toEqual([
      'spec.imports.targets[0].targetMap: found the key "Key"; expected keys of at most 63 lower-case letters and digits, with dots and dashes between them',
      'spec.imports.targets[0].targetMap.fine: found nothing; expected a text that is not empty',
    ])
  })

  it('refuse duplicate names across data and targets', () => {
    const imports = { data: [{ name: 'a', dataRef: 'x' }], targets: [{ name: 'a', target: 't' }] }
    const exports = { data: [{ name: 'b', dataRef: 'x' }], targets: [{ name: 'b', target: 't' }] }
    expect(problems(INSTALLATION, install({ imports, exports }))).toEqual([
      'spec.imports.targets[0].name: found "a", which spec.imports.data[0] has; expected unique names over data and targets',
      'spec.exports.targets[0].name: found "b", which spec.exports.data[0] has; expected unique names over data and targets',
    ])
  })

  it('refuse exports without a name or without a reference', () => {
    const exports = { data: [{ name: '', dataRef: '' }], targets: [{ name: 'x', target: '' }] }
    expect(problems(INSTALLATION, install({ exports }))).toEqual([
      'spec.exports.data[0].name: found nothing; expected a text that is not empty',
      'spec.exports.data[0].dataRef: found nothing; expected a text that is not empty',
      'spec.exports.targets[0].target: found nothing; expected a text that is not empty',
    ])
  })

  it('refuse invalid cron specifications', () => {
    const automaticReconcile = { succeededReconcile: { cronSpec: 'soon' }, failedReconcile: { cronSpec: '61 * * * *' } }
    const expected = 'expected minute, hour, day of month, month and day of week, or one such as @daily'
    expect(problems(INSTALLATION, install({ automaticReconcile }))).toEqual([
      `spec.automaticReconcile.succeededReconcile.cronSpec: found 1 field; ${expected}`,
      `spec.automaticReconcile.failedReconcile.cronSpec: found no value of the field minute; ${expected}`,
    ])
  })
})

describe('the operation annotation', () => {
  const warnings = (kind: string, value: string) => {
    const admission = ADMISSIONS['landscaper']?.find((one) => one.kind.kind === kind)
    const object = { metadata: { name: 'a', annotations: { 'landscaper.gardener.cloud/operation': value } } }
    const request = { operation: 'UPDATE', object, old: undefined, user: { name: 'x', groups: [] } } as const
    return [...(admission?.metadata?.warnings?.(request) ?? [])]
  }

  it.each([
    ['Installation', 'Reconcile', 'found "Reconcile", which starts nothing; expected "reconcile" or "interrupt"'],
    ['Installation', 'force-reconcile', 'expected "reconcile" or "interrupt"'],
    ['Execution', 'abort', 'expected "interrupt" or "reconcile"'],
    ['DeployItem', 'reconcile', 'found "reconcile", which starts nothing; expected "retry"'],
  ])('of a %s with the value %s causes a warning', (kind, value, expected) => {
    expect(warnings(kind, value)).toEqual([expect.stringContaining(expected) as string])
  })

  it.each([
    ['Installation', 'reconcile'],
    ['Installation', 'interrupt'],
    ['Execution', 'interrupt'],
    ['DeployItem', 'retry'],
    ['Installation', ''],
  ])('of a %s with the value "%s" causes no warning', (kind, value) => {
    expect(warnings(kind, value)).toEqual([])
  })
})

describe('no rule', () => {
  it.each((ADMISSIONS['landscaper'] ?? []).map((one) => [one.kind.kind, one] as const))(
    'of %s throws for any object, and each problem has a field, a found and an expected text',
    (_, admission) => {
      const objects = fc.oneof(
        validValue(openApiSchema(admission.kind), { isServer: true }),
        strangeJson.map((spec) => ({ spec })),
        strangeJson,
      )
      fc.assert(
        fc.property(objects, objects, (object, old) => {
          const asked = {
            operation: 'UPDATE',
            object: Object(object) as object,
            old: Object(old) as object,
            user: USER,
          } as const
          for (const { field, found, expected } of admission.validate(asked)) {
            expect(field).toMatch(/^(?:spec|metadata)/)
            expect(found).not.toBe('')
            expect(expected).not.toBe('')
          }
        }),
        { numRuns: 300 },
      )
    },
  )
})
