// The inside of the process that checks schemas: compiles one JSON schema and holds one value against it. What it answers names places,
// keywords and what the schema expects, never the value. Source: spec/landscaper.md 3.11.
//
// The validator makes code from the schema, whose author is a tenant: should it ever let text of his into that code, there is nothing to take
// where it runs (../bounded/sealed-process.ts).

import { readJson, writeJson } from '../../../workflows/kit/kind/exact-json.ts'
import { Ajv, type ErrorObject } from 'ajv'
import { typeName } from './field-reader.ts'
import { collectDocuments, type SchemaSources, type WantedSchema } from './schema-documents.ts'
import { addFormats } from './schema-formats.ts'
import { compareExactly, hasBigint, type Originals, withDoubles } from './schema-numbers.ts'
import { readPattern } from './schema-pattern.ts'
import { serveSealed } from '../bounded/sealed-process.ts'

/** As JSON text, one per message. */
export interface SchemaQuestion extends SchemaSources {
  readonly schema: unknown
  readonly value: unknown
}

export interface SchemaReport {
  /** What is wrong with the schema, or the value; empty when nothing is. */
  readonly problems: readonly string[]
  /** Resources of components that it refers to and that were not given: nothing else was looked at. */
  readonly wanted: readonly WantedSchema[]
}

const MAX_SHOWN = 20
const MAX_TEXT = 200

const patterns = Object.assign((pattern: string) => readPattern(pattern), { code: 'readPattern' })
const ajv = newAjv()

/** Draft 7. Keywords of later drafts mean nothing to it, as to the original, whatever `$schema` says. */
function newAjv(): Ajv {
  const created = new Ajv({
    strict: false,
    allErrors: true,
    verbose: true,
    logger: false,
    // As in drafts 4 to 7. They stay places that references may lead to.
    ignoreKeywordsWithRef: true,
    code: { regExp: patterns },
  })
  addFormats(created)
  return created
}

function check({ schema, value, ...sources }: SchemaQuestion): SchemaReport {
  const documents = collectDocuments(schema, sources)
  const { problems, wanted } = documents
  if (problems.length + wanted.length > 0) return { problems: problems.map(asSchemaProblem), wanted }
  const { root, referred } = documents
  if (hasBigint([value, root, ...referred.values()])) return checkExactly(documents, value)
  return validateBy(ajv, documents, value)
}

/** Slower: it makes a validator for one question. */
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
    return { problems: validate(value) ? [] : describe(validate.errors ?? []), wanted: [] }
  } finally {
    // All but the schemas of schemas.
    ajv.removeSchema()
  }
}

// Anything else than a map or a boolean is refused by the validator with a reason.
function asSchema(document: unknown): boolean | Record<string, unknown> {
  return document as boolean | Record<string, unknown>
}

function describe(errors: readonly ErrorObject[]): string[] {
  const shown = errors.slice(0, MAX_SHOWN).map((error) => {
    const place = error.instancePath === '' ? '' : `at ${shorten(error.instancePath)}: `
    return `${place}${error.keyword}: ${error.message ?? 'is not as the schema says'}${detailOf(error)}`
  })
  return errors.length > MAX_SHOWN ? [...shown, `and ${errors.length - MAX_SHOWN} more`] : shown
}

// Parameters come from the schema, or are names of fields.
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
    // Written by schema-thread.ts.
    return check(readJson(text) as SchemaQuestion)
  } catch (error) {
    if (error instanceof RangeError) {
      return { problems: ['nested too deeply, expected fewer levels in schema and value'], wanted: [] }
    }
    return { problems: [asSchemaProblem(complaintOf(error))], wanted: [] }
  }
}

// They quote nothing but the schema.
function complaintOf(error: unknown): string {
  if (error instanceof Ajv.MissingRefError) {
    const pointer = /^pawl:\/\/schema\/\d+(#.*)?$/.exec(error.missingRef)
    if (pointer !== null) return `the reference to ${shorten(pointer[1] ?? '')} leads nowhere`
    return `found a reference to ${shorten(error.missingRef)}, expected local://, blueprint://, cd:// or a place in the schema`
  }
  const message = error instanceof Error ? error.message : String(error)
  return shorten(message.replace(/^schema is invalid: /, '').replaceAll('data/', '/'))
}

// Compiles the schema of schemas before the first question is timed, and before the first cleaning.
ajv.compile({ type: 'object' })
ajv.removeSchema()
serveSealed(answer)
