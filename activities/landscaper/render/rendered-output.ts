// Decodes the output of templates and explains failures to the author: the lines around the fault without rendered values, and the shape of the
// input. Source: spec/landscaper.md 3.7.

import { readJson, isFields } from '../../../workflows/kit/index.ts'
import { BlueprintError, TemplateError } from './render-errors.ts'
import { displayText } from './file-content.ts'
import { typeName, type Fields } from './field-reader.ts'
import { dumpShape, redactOutput } from './engine/redact.ts'
import type { TemplateEngine, TemplateRequest } from './engine/template-engine.ts'
import { YamlError } from '../../yaml/read-yaml.ts'

const NO_VALUE = '<no value>'
const LINES_AROUND = 5
const MAX_SHOWN_PLACES = 3
const MAX_LINE_LENGTH = 160
const MAX_DEPTH = 200

/**
 * The document that a template rendered; an empty output is an empty document.
 *
 * @throws BlueprintError `TemplatingFailed` when it is not YAML, or not a map.
 */
export async function decodeDocument(
  { data }: Pick<TemplateEngine, 'data'>,
  request: TemplateRequest,
  output: string,
): Promise<Fields> {
  const isSpiff = request.engine === 'Spiff'
  const value = (isSpiff ? decodeValue(request, output) : await parseOutput(data, request, output)) ?? {}
  if (isFields(value)) return value
  throw failed(`template "${request.name}": rendered ${typeName(value)}; expected a map`)
}

/** Decodes the output of Spiff. @throws BlueprintError `TemplatingFailed` when it is nested too deeply. */
export function decodeValue(request: TemplateRequest, output: string): unknown {
  // The output was written by the template engine.
  const value: unknown = readJson(output)
  if (!isDeeperThan(value, MAX_DEPTH)) return value
  throw failed(`template "${request.name}": rendered more than ${MAX_DEPTH} levels; expected fewer`)
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((entry) => isDeeperThan(entry, levels - 1))
}

async function parseOutput(data: TemplateEngine['data'], request: TemplateRequest, output: string): Promise<unknown> {
  try {
    const value = await data.yaml(output, `template "${request.name}"`)
    if (!isDeeperThan(value, MAX_DEPTH)) return value
    throw failed(`template "${request.name}": rendered more than ${MAX_DEPTH} levels; expected fewer`)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    const place = `line ${error.line}, column ${error.column}`
    const what = `template "${request.name}": the output is not valid YAML: ${place}: ${error.reason}`
    const shown = redactOutput(output, request)
    throw failed(`${what}\n${excerpt(shown, error.line)}\n${inputOf(request)}`)
  }
}

/** @throws BlueprintError `TemplatingFailed` for text that contains `<no value>`. */
export function refuseMissingValues(request: TemplateRequest, output: string): void {
  if (!output.includes(NO_VALUE)) return
  const lines = output.split('\n').flatMap((line, index) => (line.includes(NO_VALUE) ? [index + 1] : []))
  const shown = redactOutput(output, { ...request, template: `${displayText(request.template)} ${NO_VALUE}` })
  const places = lines.slice(0, MAX_SHOWN_PLACES).map((line) => excerpt(shown, line))
  const what = `template "${request.name}": rendered "no value" in line ${lines.slice(0, 20).join(', ')}; use only fields that have a value, or set a default`
  throw failed([what, ...places, inputOf(request)].join('\n'))
}

/**
 * Converts a failure to render into a BlueprintError with the lines of the template around the fault. A crash of the engine is not the author's
 * mistake and is returned unchanged.
 */
export function explainFailure(error: unknown, request: TemplateRequest): unknown {
  if (!(error instanceof TemplateError) || error.code === 'TemplateCrashed') return error
  if (error.code !== 'TemplateFailed') return failed(error.message, error)
  // Spiff's messages name the expression and its path, but not the template.
  if (request.engine === 'Spiff') {
    return failed(`template "${request.name}": ${error.message}\n${inputOf(request)}`, error)
  }
  const place = locateFault(error.message, request)
  const around = place === undefined ? [] : [`${place.file}:`, excerpt(place.source, place.line)]
  return failed([error.message, ...around, inputOf(request)].join('\n'), error)
}

// The innermost place with known source: the message names the including template first.
function locateFault(
  message: string,
  request: TemplateRequest,
): { file: string; source: string; line: number } | undefined {
  const places = [...message.matchAll(/template: (\S+?):(\d+)[: ]/g)].flatMap(([, file = '', line = '']) => {
    const source = file === request.name ? request.template : request.files[file]
    return source === undefined ? [] : [{ file, source: displayText(source), line: Number(line) }]
  })
  return places.at(-1)
}

function inputOf(request: TemplateRequest): string {
  return `input: ${dumpShape(request.binding)}`
}

/** Five lines before and after, numbered; the faulty line is marked. */
function excerpt(text: string, line: number): string {
  const lines = text.split('\n')
  const first = Math.max(1, line - LINES_AROUND)
  const width = String(Math.min(line + LINES_AROUND, lines.length)).length
  return lines
    .slice(first - 1, line + LINES_AROUND)
    .map((content, index) => {
      const mark = first + index === line ? '>' : ' '
      return `${mark} ${String(first + index).padStart(width)} | ${content.slice(0, MAX_LINE_LENGTH)}`
    })
    .join('\n')
}

function failed(message: string, cause?: unknown): BlueprintError {
  return new BlueprintError('TemplatingFailed', message, { cause })
}
