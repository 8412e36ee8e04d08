// Validates a value against a JSON schema in a sealed child process (worker.ts).

import { writeJson } from '../../../../workflows/kit/index.ts'
import { isFields } from '../../../../workflows/kit/kind/json-fields.ts'
import { extname } from 'node:path'
import { BlueprintError, TemplateError } from '../render-errors.ts'
import { startProcess } from '../../bounded/bounded-process.ts'
import { ThreadEnded, type BoundedThread } from '../../bounded/bounded-thread.ts'
import type { SchemaReference, SchemaSources } from './documents.ts'
import type { SchemaMessage, SchemaReport } from './worker.ts'

export type { SchemaReport } from './worker.ts'

const WORKER_FILE = new URL(`./worker${extname(import.meta.filename)}`, import.meta.url)

export interface SchemaRequest extends SchemaSources {
  /** The name of the value in messages, e.g. `import a`. */
  readonly what: string
  readonly schema: unknown
  readonly value: unknown
}

/** The packages that the process imports. */
const PACKAGES = ['ajv', 'ajv-formats', 'yaml']

export function startSchemaProcess(): BoundedThread {
  return startProcess(WORKER_FILE, PACKAGES)
}

/**
 * Validates a value against a schema in a child process.
 *
 * @throws BlueprintError `SchemaValidationFailed` when the validation exceeds the limit for time or memory, TemplateError `TemplateCrashed`; the
 * process must not be used again.
 */
export async function validateInProcess(
  thread: BoundedThread,
  request: SchemaRequest,
  timeoutMs: number,
): Promise<SchemaReport> {
  const { what } = request
  const text = serializeMessage(request)
  try {
    return parseReport(await thread.run(text, timeoutMs))
  } catch (error) {
    if (!(error instanceof ThreadEnded)) throw error
    switch (error.reason) {
      case 'timeout':
        throw limitExceeded(`${what}: not checked within ${timeoutMs} ms; expected a simpler schema or value`)
      case 'memory':
        throw limitExceeded(
          `${what}: its check needed more memory than it may have; expected a simpler schema or value`,
        )
      case 'crash':
        throw new TemplateError('TemplateCrashed', `${what}: the process that checks its schema ${error.detail}`)
    }
  }
}

function serializeMessage({ what, schema, value, localTypes, files, resources = {} }: SchemaRequest): string {
  try {
    const message: SchemaMessage = { schema, value, localTypes, files: {}, resources }
    const text = writeJson(message)
    // Files are many and rarely needed.
    return text.includes('blueprint://') ? writeJson({ ...message, files }) : text
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw limitExceeded(`${what}: schema or value is nested too deeply; expected fewer levels`)
  }
}

// The process has run code generated from a tenant's text, so its reply is validated.
function parseReport(reply: unknown): SchemaReport {
  if (!isFields(reply)) throw new ThreadEnded('crash')
  const { problems, missing } = reply
  if (!isTexts(problems) || !Array.isArray(missing) || !missing.every(isSchemaReference)) throw new ThreadEnded('crash')
  return { problems, missing }
}

function isSchemaReference(value: unknown): value is SchemaReference {
  return isFields(value) && typeof value['from'] === 'string' && typeof value['uri'] === 'string'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

function limitExceeded(message: string): BlueprintError {
  return new BlueprintError('SchemaValidationFailed', message)
}
