import { describe, expect, it } from 'vitest'

import {
  defineKind,
  type Field,
  flag,
  integer,
  intOrString,
  decimal,
  type KindVersion,
  list,
  mapOf,
  oneOf,
  record,
  required,
  text,
  versionsOf,
} from '../../../../workflows/kit/index.ts'

const names = { group: 'example.com', version: 'v1', kind: 'Shop', plural: 'shops', singular: 'shop', shortNames: [] }
const rest = { statusSubresource: true, printerColumns: [], description: 'Shop.', projection: [], workerVerbs: [] }
const shopWith = (field: Field, versions: readonly KindVersion[] = []) =>
  defineKind({ ...names, ...rest, schema: { spec: required(record('Spec.', { field })) }, versions })

describe('a contradiction in the definition of a kind', () => {
  it.each<readonly [Field, string]>([
    [integer('F.', { minimum: 5, maximum: 3 }), 'has minimum 5 and maximum 3; expected minimum not to be above'],
    [integer('F.', { minimum: 0.5 }), 'has minimum 0.5; expected a whole number'],
    [text('F.', { minLength: -1 }), 'has minLength -1; expected a whole number of at least 0'],
    [list('F.', text('I.'), { maxItems: 1.5 }), 'has maxItems 1.5; expected a whole number of at least 0'],
    [oneOf('F.', []), 'has an empty list of values; expected at least one value'],
    [oneOf('F.', ['a', 'a']), 'lists "a" twice; expected each value once'],
    [text('F.', { pattern: '(' }), 'has the pattern (; expected a valid regular expression'],
    [
      text('F.', { pattern: '^(?!x)' }),
      'has the pattern ^(?!x); expected a pattern without lookahead, lookbehind and backreferences',
    ],
    [text('F.', { rules: [{ rule: ' ', message: 'm' }] }), 'has a rule without text; expected one in CEL'],
    [text('F.', { rules: [{ rule: '1 < 2', message: 'm' }] }), 'has the rule 1 < 2; expected a rule about self'],
    [text('F.', { rules: [{ rule: 'self > 1', message: '' }] }), 'with the message ""; expected one line of text'],
    [
      record('F.', { a: text('A.') }, { rules: [{ rule: 'has(self.a)', message: 'm', fieldPath: '.b' }] }),
      'has the rule has(self.a) about .b; expected a field of this object',
    ],
    [required(flag('F.', { default: true })), 'is required and has a default; remove one of them'],
    [integer('F.', { default: 1.5 }), 'has the default 1.5; expected a whole number'],
    [integer('F.', { default: 0, minimum: 1 }), 'has the default 0; expected at least 1'],
    [intOrString('F.', { minimum: 5, maximum: 3 }), 'has minimum 5 and maximum 3; expected minimum not to be above'],
    [intOrString('F.', { default: 1.5 }), 'has the default 1.5; expected a whole number or a string'],
    [intOrString('F.', { default: 0, minimum: 1 }), 'has the default 0; expected at least 1'],
    [intOrString('F.', { default: '5', pattern: '%$' }), 'has the default "5"; expected a match of %$'],
    [integer('F.', { default: 9, maximum: 8 }), 'has the default 9; expected at most 8'],
    [text('F.', { default: 'X', pattern: '^[a-z]+$' }), 'has the default "X"; expected a match of ^[a-z]+$'],
    [text('F.', { default: '', minLength: 1 }), 'has the default ""; expected at least 1 characters'],
    [list('F.', integer('I.', { maximum: 2 }), { default: [1, 3] }), 'has the default [1,3]; expected at most 2'],
    [record('F.', { a: required(text('A.')) }, { default: {} }), 'has the default {}; expected a, which is required'],
  ])('is reported with the path of the field: %#', (field, message) => {
    expect(() => shopWith(field)).toThrow('kind Shop: spec.field ')
    expect(() => shopWith(field)).toThrow(message)
  })

  it('is found in nested fields', () => {
    const inner = record('F.', { all: mapOf('M.', integer('I.', { default: -1, minimum: 0 })) })
    expect(() => shopWith(list('L.', inner))).toThrow('kind Shop: spec.field[].all.* has the default -1')
  })

  it.each<readonly [KindVersion, string]>([
    [{ version: 'V2' }, 'it has the version "V2"; expected a name such as v1beta1'],
    [{ version: 'v1' }, 'it has the version v1 twice; expected each version once'],
    [
      { version: 'v1beta1', schema: { spec: record('S.', { field: integer('F.') }) } },
      'it serves spec.field as integer in v1beta1 and as string in v1, in which it is stored; expected the same',
    ],
    [
      { version: 'v1beta1', schema: { spec: record('S.', { old: text('F.') }) } },
      'it serves spec.old in v1beta1 and has no such field in v1, in which it is stored; expected the same',
    ],
    [
      { version: 'v1beta1', storage: true, schema: {} },
      'it serves spec in v1 and has no such field in v1beta1, in which it is stored; expected the same',
    ],
  ])('is found in versions: %j', (version, message) => {
    expect(() => shopWith(text('F.'), [version])).toThrow(`kind Shop: ${message}`)
  })

  it('is reported when no version or several versions are stored', () => {
    const stored = (version: string) => ({ version, storage: true })
    expect(() => shopWith(text('F.'), [stored('v2'), stored('v3')])).toThrow(
      'it is stored in v2 and v3; expected exactly one',
    )
  })
})

describe('a kind with limits, defaults and versions', () => {
  const kind = shopWith(decimal('F.', { minimum: 0.5, default: 1, rules: [{ rule: 'self < 9.0', message: 'm' }] }), [
    { version: 'v1beta1', deprecated: 'use v1', printerColumns: [] },
    { version: 'v1alpha1', served: false, schema: {} },
  ])

  it('has them in its schema', () => {
    const [own, beta, alpha] = versionsOf(kind)
    expect(own?.schema.properties?.['spec']?.properties?.['field']).toEqual({
      description: 'F.',
      type: 'number',
      minimum: 0.5,
      default: 1,
      'x-kubernetes-validations': [{ rule: 'self < 9.0', message: 'm' }],
    })
    expect(own).toMatchObject({ version: 'v1', served: true, storage: true })
    expect(beta).toMatchObject({ version: 'v1beta1', served: true, storage: false, deprecated: 'use v1' })
    expect(beta?.schema).toEqual(own?.schema)
    expect(alpha).toMatchObject({ served: false, schema: { properties: { metadata: {} } } })
  })

  it('makes fields with a default optional for users', () => {
    expect(versionsOf(kind)[0]?.schema.properties?.['spec']).not.toHaveProperty('required')
  })
})
