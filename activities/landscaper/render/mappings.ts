// importDataMappings and exportDataMappings: each is a Spiff document of its own. Source: spec/landscaper.md 3.9.

import { writeJson } from '../../../workflows/kit/index.ts'
import { BlueprintError } from './blueprint-error.ts'
import type { Fields } from './field-reader.ts'
import { decodeValue, explainFailure } from './rendered-output.ts'
import type { TemplateEngine, TemplateRequest } from './template-engine.ts'

/** Each may take as long as a template may. */
export const MOST_MAPPINGS = 1000

/**
 * Renders each mapping by itself; none sees the result of another. They have Spiff's own functions only, and no files.
 *
 * @param field for messages, e.g. `importDataMappings`.
 * @param variables what the expressions can refer to, by name.
 * @throws BlueprintError `TemplatingFailed`, and `ERR_CONFIGURATION_PROBLEM` for very many.
 */
export async function renderMappings(
  engine: TemplateEngine,
  field: string,
  mappings: Fields,
  variables: Fields,
): Promise<Fields> {
  const count = Object.keys(mappings).length
  if (count > MOST_MAPPINGS) {
    const problem = `spec.${field}: found ${count} entries, expected at most ${MOST_MAPPINGS}`
    throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', problem)
  }
  const results: [string, unknown][] = []
  for (const [name, mapping] of Object.entries(mappings)) {
    const source = { engine: 'Spiff', form: 'json', name: `${field}.${name}`, files: {} } as const
    const request: TemplateRequest = { ...source, template: writeJson(mapping), binding: variables }
    results.push([name, await renderValue(engine, request)])
  }
  return Object.fromEntries(results)
}

async function renderValue(engine: TemplateEngine, request: TemplateRequest): Promise<unknown> {
  try {
    return decodeValue(request, (await engine.render(request)).output)
  } catch (error) {
    throw explainFailure(error, request)
  }
}
