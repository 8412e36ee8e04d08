// One question to the schema thread, and the ends that it can come to.

import { extname } from 'node:path'

import { BlueprintError } from './blueprint-error.ts'
import { ThreadEnded, startThread, type BoundedThread } from './bounded-thread.ts'
import type { SchemaSources } from './schema-documents.ts'
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

export function startSchemaThread(): BoundedThread {
  return startThread(WORKER_FILE)
}

/**
 * Holds a value against a schema.
 *
 * @throws BlueprintError `SchemaValidationFailed` when it takes too much time or memory, TemplateError `TemplateCrashed`; the thread is then dead.
 */
export async function checkOn(thread: BoundedThread, request: SchemaRequest, timeoutMs: number): Promise<SchemaReport> {
  const { what } = request
  const text = questionText(request)
  try {
    // Its messages are those of schema-worker.ts.
    return (await thread.run(text, timeoutMs)) as SchemaReport
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

function questionText({ what, schema, value, localTypes, files }: SchemaRequest): string {
  try {
    const question: SchemaQuestion = { schema, value, localTypes, files: {} }
    const text = JSON.stringify(question)
    // Files are many and seldom needed.
    return text.includes('blueprint://') ? JSON.stringify({ ...question, files }) : text
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw tooMuch(`${what}: schema or value is nested too deeply, expected fewer levels`)
  }
}

function tooMuch(message: string): BlueprintError {
  return new BlueprintError('SchemaValidationFailed', message)
}
