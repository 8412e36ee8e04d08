// Formats and keywords of JSON schemas: what the original's validator accepts, and what means nothing to it. Source: xeipuuv/gojsonschema v1.2.0.

import { afterAll, describe, expect, it } from 'vitest'
import { findViolations } from '../../../../activities/landscaper/render/schema/validation.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'

const engine = createTemplateEngine({ threads: 1 })
afterAll(() => engine.close())

async function violations(schema: unknown, value: unknown, localTypes: Record<string, unknown> = {}) {
  return await findViolations(engine, { localTypes, files: {} }, [{ what: 'import a', schema, value }])
}

const TABLE: readonly [format: string, valid: readonly string[], invalid: readonly string[]][] = [
  ['date', ['2024-02-29', '0004-02-29'], ['2023-02-29', '2024-13-01', '2024-00-10', '2024-01-00', '24-01-01']],
  [
    'time',
    ['15:04:05', '5:04:05', '15:04:05.25', '15:04:05Z', '15:04:05+07:00'],
    ['24:00:00', '15:04', '15:04:60', '15:04:05z'],
  ],
  [
    'date-time',
    ['15:04:05', '15:04:05-07:00', '2006-01-02', '2006-01-02T15:04:05Z', '2006-01-02T15:04:05.999999999+07:00'],
    ['2006-01-02T15:04:05', '2006-02-30T15:04:05Z', '2006-01-02 15:04:05Z', 'today'],
  ],
  ['hostname', ['localhost', 'a-b.example.com'], ['a_b', '-a', 'a..b', `${'a.'.repeat(130)}a`]],
  ['email', ['root@localhost', 'a.b@example.com', 'Some Body <a@b.c>', ' a@b '], ['nobody', 'a@', '@b', 'a b@c']],
  ['idn-email', ['\u00fc@b\u00fccher.example'], ['nobody']],
  ['ipv4', ['192.0.2.1'], ['192.0.2', '192.0.2.256', '::1']],
  ['ipv6', ['::1', '2001:db8::1'], ['192.0.2.1', ':::']],
  [
    'uri',
    ['https://example.com:80/a b?c#d', 'urn:a:b%', 'cd://resources/a'],
    ['/a', 'a', 'https://a\\b', 'https://a b/', 'a:/%zz'],
  ],
  ['uri-reference', ['/a', 'a/b:c', '//host/a', '', '?a'], ['a\\b', 'a%', '1:b']],
  ['iri', ['https://b\u00fccher.example/\u00e4'], ['b\u00fccher']],
  ['iri-reference', ['\u00e4/b'], ['\\']],
  ['uri-template', ['/a/{b}', 'https://example.com/{a}{?b}', '/a b/{c}'], ['/a/{b', 'https://exa mple/']],
  ['uuid', ['123e4567-e89b-12d3-a456-426614174000'], ['123e4567']],
  ['regex', ['^a$', '(?P<a>b)'], ['(']],
  ['json-pointer', ['', '/a/~0b'], ['a', '/~2']],
  ['relative-json-pointer', ['0', '1/a', '0#'], ['/a', '-1']],
]

describe('a format', () => {
  it.each(TABLE)('%s takes what the original takes', async (format, valid, invalid) => {
    const schema = { items: { type: 'string', format } }
    expect(await violations(schema, valid)).toEqual([])
    expect(await violations(schema, invalid)).toEqual(
      invalid.map((_, index) => `import a: at /${index}: format: must match format "${format}"`),
    )
  })

  it.each([
    ...['duration', 'byte', 'binary', 'password', 'iso-time', 'iso-date-time', 'url', 'idn-hostname'],
    ...['int32', 'int64', 'float', 'double', 'json-pointer-uri-fragment'],
  ])('%s means nothing', async (format) => {
    expect(await violations({ items: { format } }, ['\u0000!', -1.5, 1e300])).toEqual([])
  })

  it('takes no longer for a long text than it has to', async () => {
    const long = 'a'.repeat(100_000)
    const texts = [
      `${long}@`,
      `"${long}@b`,
      `<${long}`,
      ' '.repeat(100_000),
      `{${'{}'.repeat(50_000)}`,
      `${'a.'.repeat(50_000)}_`,
    ]
    for (const format of ['email', 'hostname', 'date-time', 'uri'])
      expect(await violations({ items: { format } }, texts)).toHaveLength(texts.length)
    expect(await violations({ items: { format: 'uri-template' } }, [`{${'{}'.repeat(50_000)}{`])).toHaveLength(1)
  })
})

describe('a keyword', () => {
  it.each<[string, unknown, unknown]>([
    ['unevaluatedProperties', { properties: { a: true }, unevaluatedProperties: false }, { b: 1 }],
    ['unevaluatedItems', { items: [true], unevaluatedItems: false }, [1, 2]],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, { a: 1 }],
    ['dependentSchemas', { dependentSchemas: { a: { required: ['b'] } } }, { a: 1 }],
    ['minContains', { contains: { type: 'string' }, minContains: 2 }, ['a']],
    ['maxContains', { contains: { type: 'string' }, maxContains: 1 }, ['a', 'b']],
    ['minContains that is none', { minContains: 'many' }, []],
    ['formatMinimum', { format: 'date', formatMinimum: '2024-01-01' }, '2020-01-01'],
  ])('of later drafts means nothing: %s', async (_, schema, value) => {
    expect(await violations(schema, value)).toEqual([])
  })

  it.each<[string, unknown, unknown, string]>([
    ['dependencies', { dependencies: { a: ['b'] } }, { a: 1 }, 'dependencies'],
    ['contains', { contains: { type: 'string' } }, [1], 'contains'],
    ['contains, whatever minContains says', { contains: { type: 'string' }, minContains: 0 }, [1], 'contains'],
    ['if and then', { if: { minimum: 1 }, then: { maximum: 2 } }, 3, 'maximum'],
    ['propertyNames', { propertyNames: { maxLength: 1 } }, { ab: 1 }, 'maxLength'],
    ['items and additionalItems', { items: [true], additionalItems: false }, [1, 2], 'additionalItems'],
    [
      '$defs that are referred to',
      { $defs: { a: { type: 'string' } }, properties: { a: { $ref: '#/$defs/a' } } },
      { a: 1 },
      'type',
    ],
  ])('of drafts 4 to 7 holds: %s', async (_, schema, value, keyword) => {
    expect((await violations(schema, value)).join()).toContain(`${keyword}: must`)
  })

  it.each<[string, unknown]>([
    ['in the schema', { definitions: { text: { type: 'string' } }, $ref: '#/definitions/text', maxLength: 3 }],
    ['of a local type', { $ref: 'local://text', maxLength: 3, enum: ['b'] }],
    ['that leads beside it', { $ref: '#/properties/text', type: 'object', properties: { text: { type: 'string' } } }],
  ])('beside a reference means nothing: %s', async (_, schema) => {
    const localTypes = { text: { type: 'string' } }
    expect(await violations(schema, 'long text', localTypes)).toEqual([])
    expect((await violations(schema, 5, localTypes)).join()).toContain('type: must be string')
  })
})
