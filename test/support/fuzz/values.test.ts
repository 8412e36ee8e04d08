// The generators are held against another reader of schemas: what they call valid, Ajv takes, and what they call invalid it refuses at that path.

import { fileURLToPath } from 'node:url'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { readKindFolders } from '../../../worker/server/kind-folders.ts'
import { type JsonSchema, type JsonValue, openApiSchema } from '../../../workflows/kit/index.ts'
import { invalidValue, UNKNOWN_FIELD } from './invalid-values.ts'
import { type FieldPath, fieldsOf, leanValue, pathText, withValue } from './schema-fields.ts'
import { validValue } from './valid-values.ts'

// Features of the schema builder that Pawl's kinds do not use.
const BOUNDED: JsonSchema = {
  type: 'object',
  required: ['mode', 'width'],
  properties: {
    mode: { type: 'string', enum: ['Slide', 'Swing'] },
    width: { type: 'integer', minimum: 1, maximum: 9 },
    share: { type: 'number', minimum: 0, maximum: 1 },
    color: { type: 'string', pattern: '^[a-z]+$', maxLength: 8 },
    code: { type: 'string', minLength: 2, maxLength: 3 },
    parts: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', minLength: 1 } },
    notes: { type: 'object', maxProperties: 1, additionalProperties: { type: 'string' } },
  },
}

const root = fileURLToPath(new URL('../../..', import.meta.url))
const folders = await readKindFolders(root)
const schemas: readonly (readonly [string, JsonSchema])[] = [
  ...folders.flatMap(({ kinds }) => kinds.map((kind) => [kind.kind, openApiSchema(kind)] as const)),
  ['a kind with bounds', BOUNDED],
]

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true, unicodeRegExp: true })
addFormats.default(ajv)

/** The schema as the API server reads it when it is strict. */
function strict(schema: JsonSchema): object {
  const { properties, items, additionalProperties, ...rest } = schema
  const embedded = schema['x-kubernetes-embedded-resource'] === true
  const identity = { apiVersion: { type: 'string' }, kind: { type: 'string' } }
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true || additionalProperties !== undefined
  return {
    ...rest,
    ...(isEither(schema) && { type: ['integer', 'string'] }),
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, child]) => [name, strict(child)])),
    }),
    ...(items && { items: strict(items) }),
    ...(additionalProperties && { additionalProperties: strict(additionalProperties) }),
    ...(embedded && { required: ['apiVersion', 'kind'], properties: identity }),
    ...(schema.type === 'object' && !isOpen && { additionalProperties: false }),
  }
}

function isEither(schema: JsonSchema): boolean {
  return schema['x-kubernetes-int-or-string'] === true
}

/** Where Ajv finds a mistake, as `pathText` writes it. */
function mistakes(validate: ValidateFunction, value: JsonValue): readonly string[] | undefined {
  if (validate(value)) return undefined
  return (validate.errors ?? []).map(({ instancePath, params }) => {
    const { missingProperty, additionalProperty } = params as Record<string, string | undefined>
    const names = [...instancePath.split('/').slice(1), missingProperty ?? additionalProperty]
    const textOf = (name: string) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`)
    const text = names.map((name) => (name === undefined ? '' : textOf(name))).join('')
    return text.replace(/^\./, '')
  })
}

describe.each(schemas)('values for %s', (_, schema) => {
  // metadata is the API server's own.
  const fields = fieldsOf(schema).filter(({ at: [top] }) => !['apiVersion', 'kind', 'metadata'].includes(top ?? ''))
  const validate = ajv.compile(strict(schema))
  const at = (path: FieldPath, value: JsonValue) => withValue(schema, undefined, path, value)

  it('are valid where they are said to be, for every field', () => {
    expect(fields.length).toBeGreaterThan(0)
    expect(mistakes(validate, leanValue(schema))).toBeUndefined()
    for (const { at: path, taken } of fields) {
      const isTaken = fc.property(validValue(taken), (value) => {
        expect(mistakes(validate, at(path, value)), pathText(path)).toBeUndefined()
      })
      fc.assert(isTaken, { numRuns: 20, seed: 1 })
    }
  })

  it('are invalid where they are said to be, for every field, and at that place', () => {
    for (const { at: path, schema: field } of fields) {
      const invalid = invalidValue(field)
      // Only what takes any JSON takes everything.
      expect(invalid === undefined, pathText(path)).toBe(field.type === undefined && !isEither(field))
      if (invalid === undefined) continue
      const isRefused = fc.property(invalid, ({ value, below, why }) => {
        expect(mistakes(validate, at(path, value)), `${why}: ${JSON.stringify(value)}`).toContain(
          pathText([...path, ...below]),
        )
      })
      fc.assert(isRefused, { numRuns: 30, seed: 1 })
    }
  })
})

describe('a value that has fields which are unknown', () => {
  it('is marked, because the API server without strict validation only prunes unknown fields', () => {
    const found = fc.sample(invalidValue(BOUNDED) ?? fc.constant(undefined), { numRuns: 200, seed: 1 })
    expect(new Set(found.map((one) => one?.why === UNKNOWN_FIELD))).toEqual(new Set([true, false]))
  })
})
