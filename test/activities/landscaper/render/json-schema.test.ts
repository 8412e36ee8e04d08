// Schemas of blueprints: values, errors, limits, and the formats and keywords of Landscaper's validator (xeipuuv/gojsonschema v1.2.0).

import { afterAll, describe, expect, it } from 'vitest'
import type { BlueprintError } from '../../../../activities/landscaper/render/render-errors.ts'
import type { FileContent } from '../../../../activities/landscaper/render/file-content.ts'
import { findViolations } from '../../../../activities/landscaper/render/schema/validation.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'

const CANARY = 'canary-9931fe'
const engine = createTemplateEngine({ threads: 1, schemaTimeoutMs: 1000 })
afterAll(() => engine.close())

interface Sources {
  localTypes?: Record<string, unknown>
  files?: Record<string, FileContent>
}

describe('a value validated against a schema', () => {
  it.each<[string, unknown, unknown, Sources?]>([
    ['a type', { type: 'string' }, 'a'],
    ['a schema that allows all', true, { a: 1 }],
    ['an unknown format', { type: 'string', format: 'shoe-size' }, 'a'],
    ['an unknown keyword', { type: 'string', color: 'red' }, 'a'],
    [
      'other dialects',
      { $schema: 'http://json-schema.org/draft-04/schema#', id: 'x', minimum: 0, exclusiveMinimum: true },
      1,
    ],
    ['patterns of Go', { type: 'string', pattern: '(?i)\\A[[:alpha:]\\_]+\\z' }, 'Abc_'],
    ['a local type', { $ref: 'local://port' }, 80, { localTypes: { port: { type: 'integer' } } }],
    [
      'a place in a local type',
      { $ref: 'local://net#/definitions/a~1b' },
      80,
      { localTypes: { net: { definitions: { 'a/b': { type: 'integer' } } } } },
    ],
    [
      'a file that refers to a local type and to itself',
      { $ref: 'blueprint://schemas/a.json' },
      { port: 1, next: { port: 2 } },
      {
        localTypes: { port: { type: 'integer' } },
        files: {
          'schemas/a.json':
            '{"properties":{"port":{"$ref":"local://port"},"next":{"$ref":"blueprint://schemas/a.json"}}}',
        },
      },
    ],
    ['a file with its slash in front', { $ref: 'blueprint:///a.json#/x' }, 1, { files: { 'a.json': '{"x":true}' } }],
    ['a type that contains itself', { $ref: 'local://n' }, { n: { n: {} } }, { localTypes: { n: node() } }],
    ['references below data', { const: { $ref: 'local://none' } }, { $ref: 'local://none' }],
    ['a property of that name', { properties: { $ref: { type: 'string' }, id: { type: 'string' } } }, { id: 'a' }],
    ['names of JavaScript object properties', JSON.parse('{"properties":{"__proto__":{},"constructor":{}}}'), { a: 1 }],
  ])('passes a schema with %s', async (_, schema, value, sources) => {
    expect(await violations(schema, value, sources)).toEqual([])
  })

  it.each<[unknown, unknown, string[], Sources?]>([
    [{ type: 'string' }, 5, ['import "a": must be string, found a number']],
    [
      {
        type: 'object',
        required: ['b'],
        properties: { c: { type: 'integer', minimum: 3 } },
        additionalProperties: false,
      },
      { c: 1, d: 1 },
      [
        `import "a": must have required property 'b'`,
        'import "a": must NOT have additional properties, found "d"',
        'import "a": at /c: must be >= 3',
      ],
    ],
    [{ enum: ['x', 'y'] }, CANARY, ['import "a": must be equal to one of the allowed values: "x","y"']],
    [{ minimum: 5, exclusiveMinimum: true }, 5, ['import "a": must be > 5']],
    [{ type: 'string', format: 'ipv4' }, CANARY, ['import "a": must match format "ipv4"']],
    [{ pattern: '^b' }, CANARY, ['import "a": must match pattern "^b"']],
    [
      { $ref: 'local://n' },
      { n: { n: 'text' } },
      ['import "a": at /n/n: must be object, found a string'],
      { localTypes: { n: node() } },
    ],
  ])('fails with every violation, but without the value: %j', async (schema, value, expected, sources) => {
    const found = await violations(schema, value, sources)
    expect([...found].sort()).toEqual([...expected].sort())
  })

  it('fails with a limited number of violations', async () => {
    const found = await violations(
      { items: { type: 'string' } },
      Array.from({ length: 1000 }, () => 1),
    )
    expect([found.length, found.at(-1)]).toEqual([21, 'import "a": and 980 more'])
  })

  it('gets a result that does not depend on earlier validations', async () => {
    const first = { $id: 'https://example.org/a', definitions: { x: { $id: '#x', type: 'string' } }, $ref: '#x' }
    const second = { ...first, definitions: { x: { $id: '#x', type: 'number' } } }
    expect(await violations(first, 'a')).toEqual([])
    expect(await violations(second, 1)).toEqual([])
    expect(await violations(first, 1)).toHaveLength(1)
  })
})

describe('an integer beyond 2^53', () => {
  const LARGE = 9_007_199_254_740_993n
  const BELOW = 9_007_199_254_740_992n

  it.each<[string, unknown, unknown, string]>([
    ['const', { const: LARGE }, BELOW, 'must be equal to constant: 9007199254740993'],
    ['enum', { enum: [1, LARGE] }, BELOW, 'must be equal to one of the allowed values: 1,9007199254740993'],
    ['maximum', { maximum: BELOW }, LARGE, 'must be <= 9007199254740992'],
    ['minimum', { minimum: LARGE }, BELOW, 'must be >= 9007199254740993'],
    ['exclusiveMaximum', { exclusiveMaximum: LARGE }, LARGE, 'must be < 9007199254740993'],
    ['multipleOf', { multipleOf: 2 }, LARGE, 'must be multiple of 2'],
    ['a field', { properties: { a: { const: LARGE } } }, { a: BELOW }, 'at /a: must be equal to constant'],
    ['type', { type: 'string' }, LARGE, 'must be string, found a number'],
  ])('is compared with all digits: %s', async (_, schema, value, expected) => {
    const [found = '', ...more] = await violations(schema, value)
    expect(more).toEqual([])
    expect(found).toContain(expected)
  })

  it.each<[string, unknown, unknown]>([
    ['const', { const: LARGE }, LARGE],
    ['enum of maps', { enum: [{ a: [LARGE] }] }, { a: [LARGE] }],
    ['bounds', { type: 'integer', minimum: BELOW, exclusiveMaximum: 2 ** 60 }, LARGE],
    ['multipleOf', { multipleOf: 3 }, LARGE],
    ['a list', { items: { exclusiveMinimum: BELOW } }, [LARGE]],
  ])('is accepted when it satisfies the schema: %s', async (_, schema, value) => {
    expect(await violations(schema, value)).toEqual([])
  })
})

describe('the failure of a schema check', () => {
  it.each<[string, unknown, string, Sources?]>([
    ['a type that does not exist', { type: 'any' }, '/type must be equal to one of the allowed values'],
    ['something else', 'text', 'schema must be object or boolean'],
    ['a broken pattern', { pattern: '(' }, 'Invalid regular expression: /(/'],
    ['a type that is not there', { $ref: 'local://none' }, 'local://none: no such type in localTypes'],
    ['a file that is not there', { $ref: 'blueprint://none' }, 'blueprint://none: no such file'],
    [
      'a file that is no text',
      { $ref: 'blueprint://a' },
      'blueprint://a: found 2 bytes that are not UTF-8; expected text',
      { files: { a: { base64: '//4=' } } },
    ],
    ['a file that is no JSON', { $ref: 'blueprint://a' }, 'line 1, column 2', { files: { a: '"' } }],
    [
      'a file with two documents',
      { $ref: 'blueprint://a' },
      'blueprint://a: found more than one YAML document; expected JSON',
      { files: { a: '{}\n---\n{}' } },
    ],
    ['a place that is not there', { $ref: '#/nowhere' }, '$ref: found "#/nowhere"'],
    ['a place that is not there', { $ref: 'local://a#/b' }, 'no place "#/b" in the schema', { localTypes: { a: {} } }],
    ['the network', { $ref: 'http://127.0.0.1:1/a' }, '$ref: found "http://127.0.0.1:1/a"; expected local://'],
    ['a broken type it refers to', { $ref: 'local://a' }, '/type must be', { localTypes: { a: { type: 'any' } } }],
  ])('gives the reason why the schema is invalid: %s', async (_, schema, expected, sources) => {
    const [found = '', ...more] = await violations(schema, CANARY, sources)
    expect(more).toEqual([])
    expect(found).toContain('import "a": the schema is invalid: ')
    expect(found).toContain(expected)
    expect(found).not.toContain(CANARY)
  })

  it('reports that the installation has no component descriptor for a reference to a component', async () => {
    const failure = await rejection(violations({ $ref: 'cd://resources/a' }, 1))
    expect(failure).toMatchObject({
      code: 'ERR_CONFIGURATION_PROBLEM',
      message:
        'import "a": the schema refers to "cd://resources/a": the installation has no spec.componentDescriptor; add it',
    })
  })

  it('has the code InvalidDefaultValue when the value is a default', async () => {
    const check = { what: 'default of import "a"', schema: { type: 'string' }, value: 1, isDefault: true }
    const failure = await rejection(findViolations(engine, { localTypes: {}, files: {} }, [check]))
    expect(failure.code).toBe('InvalidDefaultValue')
    expect(failure.message).toBe('default of import "a": must be string, found a number')
  })
})

describe('a schema that exceeds a limit', () => {
  const wide = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, index) => [`p${index}`, { pattern: `^${index}` }]),
  )

  it.each<[string, unknown, unknown, string]>([
    ['time by its pattern', { pattern: '^(a+)+$' }, `${'a'.repeat(50)}!`, 'import "a": not checked within 1000 ms'],
    ['time or memory by its size', { properties: wide }, {}, 'import "a": '],
    ['depth', nested(100_000), [], 'import "a": schema or value is nested too deeply'],
    ['depth of a value', { $ref: '#' }, nested(100_000), 'import "a": schema or value is nested too deeply'],
  ])('fails its check, and the next check works: %s', async (_, schema, value, message) => {
    const failure = await rejection(violations(schema, value))
    expect(failure.code).toBe('SchemaValidationFailed')
    expect(failure.message).toContain(message)
    expect(await violations({ type: 'string' }, 'a')).toEqual([])
  })

  it('is reported when it refers only to itself', async () => {
    const found = await violations({ $ref: 'local://a' }, 1, { localTypes: { a: { $ref: 'local://a' } } })
    expect(found).toEqual(['import "a": nested too deeply; expected fewer levels in schema and value'])
  })
})

/** What gojsonschema v1.2.0, the validator of Landscaper, accepts and refuses. */
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
  it.each(TABLE)('%s accepts the values that the Go implementation accepts', async (format, valid, invalid) => {
    const schema = { items: { type: 'string', format } }
    expect(await violations(schema, valid)).toEqual([])
    expect(await violations(schema, invalid)).toEqual(
      invalid.map((_, index) => `import "a": at /${index}: must match format "${format}"`),
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
    ['dependencies', { dependencies: { a: ['b'] } }, { a: 1 }, 'must have property b when property a is present'],
    ['contains', { contains: { type: 'string' } }, [1], 'must contain at least 1 valid item(s)'],
    [
      'contains, whatever minContains says',
      { contains: { type: 'string' }, minContains: 0 },
      [1],
      'must contain at least 1 valid item(s)',
    ],
    ['if and then', { if: { minimum: 1 }, then: { maximum: 2 } }, 3, 'must be <= 2'],
    ['propertyNames', { propertyNames: { maxLength: 1 } }, { ab: 1 }, 'must NOT have more than 1 characters'],
    ['items and additionalItems', { items: [true], additionalItems: false }, [1, 2], 'must NOT have more than 1 items'],
    [
      '$defs that are referred to',
      { $defs: { a: { type: 'string' } }, properties: { a: { $ref: '#/$defs/a' } } },
      { a: 1 },
      'must be string, found a number',
    ],
  ])('of drafts 4 to 7 holds: %s', async (_, schema, value, expected) => {
    expect((await violations(schema, value)).join()).toContain(expected)
  })

  it.each<[string, unknown]>([
    ['in the schema', { definitions: { text: { type: 'string' } }, $ref: '#/definitions/text', maxLength: 3 }],
    ['of a local type', { $ref: 'local://text', maxLength: 3, enum: ['b'] }],
    ['that leads beside it', { $ref: '#/properties/text', type: 'object', properties: { text: { type: 'string' } } }],
  ])('beside a reference means nothing: %s', async (_, schema) => {
    const localTypes = { text: { type: 'string' } }
    expect(await violations(schema, 'long text', { localTypes })).toEqual([])
    expect((await violations(schema, 5, { localTypes })).join()).toContain('must be string')
  })
})

function node(): unknown {
  return { type: 'object', properties: { n: { $ref: 'local://n' } } }
}

function nested(levels: number): unknown {
  let value: unknown = {}
  for (let level = 0; level < levels; level++) value = { items: value }
  return value
}

async function violations(schema: unknown, value: unknown, { localTypes = {}, files = {} }: Sources = {}) {
  return await findViolations(engine, { localTypes, files }, [{ what: 'import "a"', schema, value }])
}

async function rejection(checked: Promise<unknown>): Promise<BlueprintError> {
  const outcome = await checked.then(
    () => new Error('found no failure; expected one'),
    (error: unknown) => error,
  )
  return outcome as BlueprintError
}
