// One question to the process that checks schemas, and the ends that it can come to.

import { writeJson } from '../../../workflows/kit/index.ts'
import { extname } from 'node:path'

import { BlueprintError } from './blueprint-error.ts'
import { startProcess } from '../bounded/bounded-process.ts'
import { ThreadEnded, type BoundedThread } from '../bounded/bounded-thread.ts'
import { isFields } from './field-reader.ts'
import type { SchemaSources, WantedSchema } from './schema-documents.ts'
import type { SchemaQuestion, SchemaReport } from './schema-worker.ts'
import { TemplateError } from './template-error.ts'

export type { SchemaReport } from './schema-worker.ts'

const WORKER_FILE = new URL(`./schema-worker${extname(import.meta.filename)}`, import.meta.url)

export interface SchemaRequest extends SchemaSources {
  /** Names the value in messages, e.g. `import a`. */
  readonly what: string
  readonly schema: unknown
  readonly value: unknown
}

/** What it imports beside our own code. */
const PACKAGES = ['ajv', 'ajv-formats', 'yaml']

export function startSchemaProcess(): BoundedThread {
  return startProcess(WORKER_FILE, PACKAGES)
}

/**
 * Holds a value against a schema.
 *
 * @throws BlueprintError `SchemaValidationFailed` when it takes too much time or memory, TemplateError `TemplateCrashed`; the process is then dead.
 */
export async function checkOn(thread: BoundedThread, request: SchemaRequest, timeoutMs: number): Promise<SchemaReport> {
  const { what } = request
  const text = questionText(request)
  try {
    return reportOf(await thread.run(text, timeoutMs))
  } catch (error) {
    if (!(error instanceof ThreadEnded)) throw error
    switch (error.reason) {
      case 'timeout':
        throw tooMuch(`${what}: not checked within ${timeoutMs} ms, expected a simpler schema or value`)
      case 'memory':
        throw tooMuch(`${what}: its check needed more memory than it may have, expected a simpler schema or value`)
      case 'crash':
        throw new TemplateError('TemplateCrashed', `${what}: the schema checker died while checking it`)
    }
  }
}

function questionText({ what, schema, value, localTypes, files, resources = {} }: SchemaRequest): string {
  try {
    const question: SchemaQuestion = { schema, value, localTypes, files: {}, resources }
    const text = writeJson(question)
    // Files are many and seldom needed.
    return text.includes('blueprint://') ? writeJson({ ...question, files }) : text
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw tooMuch(`${what}: schema or value is nested too deeply, expected fewer levels`)
  }
}

// What has run in the process was made from a tenant's text, so its word is not taken for it.
function reportOf(reply: unknown): SchemaReport {
  if (!isFields(reply)) throw new ThreadEnded('crash')
  const { problems, wanted } = reply
  if (!isTexts(problems) || !Array.isArray(wanted) || !wanted.every(isWanted)) throw new ThreadEnded('crash')
  return { problems, wanted }
}

function isWanted(value: unknown): value is WantedSchema {
  return isFields(value) && typeof value['from'] === 'string' && typeof value['uri'] === 'string'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

function tooMuch(message: string): BlueprintError {
  return new BlueprintError('SchemaValidationFailed', message)
}
