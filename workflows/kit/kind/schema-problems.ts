// Finds contradictions in the schema of a kind that would make the API server reject its CRD or every object.
// `defineKind` reports them with the path of the field.

import { writeJson } from './exact-json.ts'
import type { JsonSchema, JsonValue } from './schema.ts'

/** Each problem is a sentence that starts with the field's path. */
export function schemaProblems(schema: JsonSchema, at: string): readonly string[] {
  const { properties = {}, items, additionalProperties, required = [] } = schema
  const own = problemsHere(schema).map((problem) => `${at} ${problem}`)
  const both = required.filter((name) => properties[name]?.default !== undefined)
  return [
    ...own,
    ...both.map((name) => `${at}.${name} is required and has a default; remove one of them`),
    ...Object.entries(properties).flatMap(([name, child]) => schemaProblems(child, `${at}.${name}`)),
    ...(items === undefined ? [] : schemaProblems(items, `${at}[]`)),
    ...(additionalProperties === undefined ? [] : schemaProblems(additionalProperties, `${at}.*`)),
  ]
}

function problemsHere(schema: JsonSchema): readonly string[] {
  return [
    ...rangeProblems(schema),
    ...listProblems(schema),
    ...patternProblems(schema),
    ...ruleProblems(schema),
  ].concat(
    // Defaults are checked against valid limits only.
    defaultProblems(schema),
  )
}

const RANGES = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
] as const

function rangeProblems(schema: JsonSchema): readonly string[] {
  const reversed = RANGES.flatMap(([low, high]) => {
    const [from, to] = [schema[low], schema[high]]
    return from === undefined || to === undefined || from <= to
      ? []
      : [`has ${low} ${from} and ${high} ${to}; expected ${low} not to be above`]
  })
  const counts = (['minLength', 'maxLength', 'minItems', 'maxItems', 'maxProperties'] as const).flatMap((name) => {
    const count = schema[name]
    return count === undefined || (Number.isInteger(count) && count >= 0)
      ? []
      : [`has ${name} ${count}; expected a whole number of at least 0`]
  })
  const bounds = (['minimum', 'maximum'] as const).flatMap((name) => {
    const bound = schema[name]
    return bound === undefined || Number.isInteger(bound) || (schema.type === 'number' && Number.isFinite(bound))
      ? []
      : [`has ${name} ${bound}; expected a ${schema.type === 'number' ? 'number' : 'whole number'}`]
  })
  return [...reversed, ...counts, ...bounds]
}

function listProblems({ enum: values }: JsonSchema): readonly string[] {
  if (values === undefined) return []
  if (values.length === 0) return ['has an empty list of values; expected at least one value']
  const twice = values.find((value, index) => values.indexOf(value) < index)
  return twice === undefined ? [] : [`lists "${twice}" twice; expected each value once`]
}

// Source: RE2's syntax, which the API server uses: it has no lookahead and no lookbehind.
const NOT_IN_RE2 = /\(\?(?:[=!]|<[=!])|\\[1-9]/

function patternProblems({ pattern }: JsonSchema): readonly string[] {
  if (pattern === undefined) return []
  if (NOT_IN_RE2.test(pattern))
    return [
      `has the pattern ${pattern}; expected a pattern without lookahead, lookbehind and backreferences, which the API server does not support`,
    ]
  try {
    new RegExp(pattern)
    return []
  } catch {
    return [`has the pattern ${pattern}; expected a valid regular expression`]
  }
}

function ruleProblems(schema: JsonSchema): readonly string[] {
  const rules = schema['x-kubernetes-validations'] ?? []
  return rules.flatMap(({ rule, message, fieldPath }) => {
    if (rule.trim() === '') return ['has a rule without text; expected one in CEL']
    if (!/\b(?:self|oldSelf)\b/.test(rule)) return [`has the rule ${rule}; expected a rule about self`]
    if (fieldPath !== undefined && !hasField(schema, fieldPath.slice(1).split('.')))
      return [`has the rule ${rule} about ${fieldPath}; expected a field of this object`]
    return message.trim() === '' || message.includes('\n')
      ? [`has the rule ${rule} with the message ${JSON.stringify(message)}; expected one line of text`]
      : []
  })
}

function hasField({ properties }: JsonSchema, [name = '', ...below]: readonly string[]): boolean {
  const field = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined
  return field !== undefined && (below.length === 0 || hasField(field, below))
}

function defaultProblems(schema: JsonSchema): readonly string[] {
  if (schema.default === undefined) return []
  const problem = valueProblem(schema, schema.default)
  return problem === undefined ? [] : [`has the default ${writeJson(schema.default)}; expected ${problem}`]
}

/** The expected value, if this one is invalid; undefined for a valid one. The API server checks CEL rules. */
function valueProblem(schema: JsonSchema, value: JsonValue): string | undefined {
  if (schema['x-kubernetes-int-or-string'] === true)
    return Number.isInteger(value) || typeof value === 'string'
      ? contentProblem(schema, value)
      : 'a whole number or a string'
  if (schema.type === undefined) return undefined
  if (!isOfType(schema.type, value))
    return schema.type === 'integer' ? 'a whole number' : `a value of type ${schema.type}`
  return contentProblem(schema, value)
}

/** The same for a value of the right type. */
function contentProblem(schema: JsonSchema, value: JsonValue): string | undefined {
  if (typeof value === 'string') return textProblem(schema, value)
  if (typeof value === 'number') return numberProblem(schema, value)
  if (Array.isArray(value)) return itemsProblem(schema, value as readonly JsonValue[])
  return typeof value === 'object' ? fieldsProblem(schema, value as Readonly<Record<string, JsonValue>>) : undefined
}

function isOfType(type: NonNullable<JsonSchema['type']>, value: JsonValue): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
  }
}

function textProblem(
  { enum: values, pattern, minLength = 0, maxLength }: JsonSchema,
  value: string,
): string | undefined {
  if (values !== undefined && !values.includes(value)) return `one of ${values.join(', ')}`
  const length = Array.from(value).length
  if (length < minLength) return `at least ${minLength} characters`
  if (maxLength !== undefined && length > maxLength) return `at most ${maxLength} characters`
  return pattern === undefined || new RegExp(pattern).test(value) ? undefined : `a match of ${pattern}`
}

function numberProblem({ minimum, maximum }: JsonSchema, value: number): string | undefined {
  if (minimum !== undefined && value < minimum) return `at least ${minimum}`
  return maximum !== undefined && value > maximum ? `at most ${maximum}` : undefined
}

function itemsProblem({ items, minItems = 0, maxItems }: JsonSchema, values: readonly JsonValue[]): string | undefined {
  if (values.length < minItems) return `at least ${minItems} items`
  if (maxItems !== undefined && values.length > maxItems) return `at most ${maxItems} items`
  return items === undefined ? undefined : values.map((value) => valueProblem(items, value)).find((one) => one)
}

function fieldsProblem(schema: JsonSchema, value: Readonly<Record<string, JsonValue>>): string | undefined {
  const { properties = {}, additionalProperties, required = [] } = schema
  const lacking = required.find((name) => !Object.hasOwn(value, name) || value[name] === undefined)
  if (lacking !== undefined) return `${lacking}, which is required`
  return Object.entries(value)
    .map(([name, child]) => {
      const known = (Object.hasOwn(properties, name) ? properties[name] : undefined) ?? additionalProperties
      if (known === undefined) return schema['x-kubernetes-preserve-unknown-fields'] ? undefined : `no field ${name}`
      return valueProblem(known, child)
    })
    .find((one) => one)
}
