// The program of the process that checks schemas: compiles one JSON schema and validates one value. Its messages contain places, keywords and the
// expectation of the schema, never the value. Source: spec/landscaper.md 3.11.
//
// The validator generates code from a tenant's schema, so the process is sealed (../bounded/sealed-process.ts).

import { readJson, writeJson } from '../../../../workflows/kit/kind/exact-json.ts'
import { Ajv, type ErrorObject } from 'ajv'
import { typeName } from '../field-reader.ts'
import { collectDocuments, type SchemaSources, type SchemaReference } from './documents.ts'
import { addFormats, readPattern } from './formats.ts'
import { compareExactly, hasBigint, type Originals, withDoubles } from './numbers.ts'
import { serveSealed } from '../../bounded/sealed-process.ts'
import { shortenList } from '../../../../workflows/kit/kind/shorten-list.ts'

/** A request: one message of JSON text. */
export interface SchemaMessage extends SchemaSources {
  readonly schema: unknown
  readonly value: unknown
}

export interface SchemaReport {
  /** The problems of the schema or of the value. */
  readonly problems: readonly string[]
  /** Resources of components that are needed first; nothing was validated. */
  readonly missing: readonly SchemaReference[]
}

const MAX_SHOWN = 20
const MAX_TEXT = 200

const patterns = Object.assign((pattern: string) => readPattern(pattern), { code: 'readPattern' })
const ajv = newAjv()

/** Draft 7. Keywords of later drafts are ignored, as by Landscaper, whatever `$schema` is. */
function newAjv(): Ajv {
  const created = new Ajv({
    strict: false,
    allErrors: true,
    verbose: true,
    logger: false,
    // As in drafts 4 to 7. References may still lead to the ignored keywords.
    ignoreKeywordsWithRef: true,
    code: { regExp: patterns },
  })
  addFormats(created)
  return created
}

function check({ schema, value, ...sources }: SchemaMessage): SchemaReport {
  const documents = collectDocuments(schema, sources)
  const { problems, missing } = documents
  if (problems.length + missing.length > 0) return { problems: problems.map(asSchemaProblem), missing }
  const { root, referred } = documents
  if (hasBigint([value, root, ...referred.values()])) return checkExactly(documents, value)
  return validateBy(ajv, documents, value)
}

/** Slower, because it compiles a validator for one request. */
function checkExactly({ root, referred }: Documents, value: unknown): SchemaReport {
  const originals: Originals = new WeakMap()
  const exact = newAjv()
  compareExactly(exact, originals, () => value)
  const copied = new Map([...referred].map(([id, document]) => [id, withDoubles(document, originals)]))
  return validateBy(exact, { root: withDoubles(root, originals), referred: copied }, withDoubles(value, originals))
}

type Documents = Pick<ReturnType<typeof collectDocuments>, 'root' | 'referred'>

function validateBy(ajv: Ajv, { root, referred }: Documents, value: unknown): SchemaReport {
  try {
    for (const [id, document] of referred) ajv.addSchema(asSchema(document), id)
    const validate = ajv.compile(asSchema(root))
    return { problems: validate(value) ? [] : describe(validate.errors ?? []), missing: [] }
  } finally {
    // Removes all schemas except the meta schemas.
    ajv.removeSchema()
  }
}

// The validator refuses anything else than a map or a boolean with a message.
function asSchema(document: unknown): boolean | Record<string, unknown> {
  return document as boolean | Record<string, unknown>
}

function describe(errors: readonly ErrorObject[]): string[] {
  const texts = errors.map((error) => {
    const place = error.instancePath === '' ? '' : `at ${shorten(error.instancePath)}: `
    return `${place}${error.message ?? `violates "${error.keyword}" of the schema`}${detailOf(error)}`
  })
  return [...shortenList(texts, MAX_SHOWN)]
}

// The parameters come from the schema, or are names of fields.
function detailOf({ keyword, params, data }: ErrorObject): string {
  const { allowedValues, allowedValue, additionalProperty } = params as Record<string, unknown>
  switch (keyword) {
    case 'type':
      return `, found ${typeName(data)}`
    case 'enum':
      return `: ${shorten(writeJson(allowedValues).slice(1, -1))}`
    case 'const':
      return `: ${shorten(writeJson(allowedValue))}`
    case 'additionalProperties':
      return `, found ${shorten(writeJson(additionalProperty ?? ''))}`
    default:
      return ''
  }
}

function shorten(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}...` : text
}

function asSchemaProblem(problem: string): string {
  return `the schema is invalid: ${problem}`
}

function answer(text: string): SchemaReport {
  try {
    // The text was written by schema-process.ts.
    return check(readJson(text) as SchemaMessage)
  } catch (error) {
    if (error instanceof RangeError) {
      return { problems: ['nested too deeply; expected fewer levels in schema and value'], missing: [] }
    }
    return { problems: [asSchemaProblem(toMessage(error))], missing: [] }
  }
}

// These messages quote only the schema.
function toMessage(error: unknown): string {
  if (error instanceof Ajv.MissingRefError) {
    const pointer = /^pawl:\/\/schema\/\d+(#.*)?$/.exec(error.missingRef)
    if (pointer !== null) return `no place "${shorten(pointer[1] ?? '')}" in the schema; correct the $ref`
    return `$ref: found "${shorten(error.missingRef)}"; expected local://, blueprint://, cd:// or a place in the schema`
  }
  const message = error instanceof Error ? error.message : String(error)
  return shorten(message.replace(/^schema is invalid: /, '').replaceAll('data/', '/'))
}

// Compiles the meta schema before the first request, whose time is limited.
ajv.compile({ type: 'object' })
ajv.removeSchema()
serveSealed(answer)
