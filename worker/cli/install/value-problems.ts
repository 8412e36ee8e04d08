// Validates the values of the chart against values.schema.json and describes each problem in Pawl's form.

import type { ErrorObject } from 'ajv'

const MAX_SHOWN = 60
const TYPES: Readonly<Record<string, string>> = {
  object: 'a map',
  array: 'a list',
  string: 'text',
  integer: 'an integer',
  boolean: 'true or false',
}

/** A line for each problem: `values: worker.replicas: found "two"; expected an integer`. Sorted, without duplicates. */
export async function valueProblems(schema: object, values: unknown): Promise<readonly string[]> {
  const { Ajv } = await import('ajv')
  const validate = new Ajv({ allErrors: true, verbose: true, strict: false }).compile(schema)
  if (validate(values)) return []
  // `if` reports that its `then` failed; the errors of `then` are in the list, too.
  const errors = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if')
  return [...new Set(errors.map((error) => problemOf(schema, error)))].sort()
}

function problemOf(schema: object, error: ErrorObject): string {
  const { instancePath, keyword, data } = error
  const params = error.params as Readonly<Record<string, string | undefined>>
  const steps = instancePath.split('/').slice(1)
  const path = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const at = (name = '') => ['values', [...path, name].filter(Boolean).join('.')].filter(Boolean).join(': ')
  if (keyword === 'additionalProperties')
    return `${at(params['additionalProperty'])}: the value does not exist; expected ${knownNames(error)}`
  if (keyword === 'required')
    return `${at(params['missingProperty'])}: the value is missing; expected ${typeOfMissing(error)}`
  const found = isSecret(schema, path) ? 'a value that is not shown' : shorten(data)
  return `${at()}: found ${found}; expected ${expectation(error)}`
}

function knownNames({ parentSchema }: ErrorObject): string {
  return Object.keys((parentSchema as SchemaNode).properties ?? {}).join(', ')
}

function typeOfMissing({ parentSchema, params }: ErrorObject): string {
  const { missingProperty } = params as { readonly missingProperty: string }
  return TYPES[(parentSchema as SchemaNode).properties?.[missingProperty]?.type ?? ''] ?? 'a value'
}

/** @see https://ajv.js.org/api.html#error-parameters for the parameters of each keyword. */
function expectation({ keyword, params, message = 'another value' }: ErrorObject): string {
  const { limit, type, pattern, allowedValues } = params as {
    readonly limit: number
    readonly type: string
    readonly pattern: string
    readonly allowedValues: readonly unknown[]
  }
  switch (keyword) {
    case 'enum':
      return `one of ${allowedValues.join(', ')}`
    case 'type':
      return TYPES[type] ?? type
    case 'pattern':
      return `text that matches ${pattern}`
    case 'minLength':
      return `at least ${limit} characters`
    case 'minimum':
      return `at least ${limit}`
    case 'minItems':
      return `at least ${limit} items`
    case 'uniqueItems':
      return 'each item once'
    default:
      return message
  }
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text
}

interface SchemaNode {
  readonly type?: string
  readonly writeOnly?: boolean
  readonly properties?: Readonly<Record<string, SchemaNode>>
}

/** Whether the schema marks the value with `writeOnly`: a password or a key. */
function isSecret(schema: SchemaNode, [step, ...rest]: readonly string[]): boolean {
  if (schema.writeOnly === true) return true
  const child = step === undefined ? undefined : schema.properties?.[step]
  return child !== undefined && isSecret(child, rest)
}
