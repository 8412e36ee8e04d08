// A blueprint: its files and what blueprint.yaml says.

import { BlueprintError } from './blueprint-error.ts'
import { DEFINITION_FILE, type BlueprintDefinition } from './blueprint-definition.ts'
import { readInlineFiles, type BlueprintFiles } from './blueprint-files.ts'
import { isFields, typeName } from './field-reader.ts'

export type { ExportDefinition, TemplateExecutor } from './blueprint-definition.ts'

export interface Blueprint extends BlueprintDefinition {
  readonly files: BlueprintFiles
}

/** How its texts are read: see bounded/tenant-data.ts. */
export interface BlueprintData {
  /** @throws YamlError */
  yaml(text: string): Promise<unknown>
  /** @throws BlueprintError */
  definition(text: string): Promise<BlueprintDefinition>
}

/**
 * Reads the `spec.blueprint` of an Installation.
 *
 * @throws BlueprintError `NotSupported` for what Pawl cannot do yet, else `ERR_CONFIGURATION_PROBLEM` with all problems and their lines.
 */
export async function readBlueprint(data: BlueprintData, spec: unknown): Promise<Blueprint> {
  if (!isFields(spec)) throw invalid(`spec.blueprint: found ${typeName(spec)}, expected inline or ref`)
  const { ref, inline } = spec
  if (isFields(ref)) {
    throw new BlueprintError(
      'NotSupported',
      'spec.blueprint.ref: component references are not supported yet, expected inline',
    )
  }
  if (!isFields(inline)) throw invalid(`spec.blueprint.inline: found ${typeName(inline)}, expected a map`)
  const files = await readInlineFiles(data, inline['filesystem'])
  const text = files[DEFINITION_FILE]
  if (text === undefined)
    throw invalid(`spec.blueprint.inline.filesystem: found ${listed(files)}, expected a file ${DEFINITION_FILE}`)
  return { files, ...(await data.definition(text)) }
}

const MOST_LISTED = 5

/** The files by their names, for whoever has mistyped one. */
function listed(files: BlueprintFiles): string {
  const paths = Object.keys(files)
  const more = paths.length > MOST_LISTED ? ` and ${paths.length - MOST_LISTED} more` : ''
  return paths.length === 0 ? 'no file' : `${paths.slice(0, MOST_LISTED).join(', ')}${more}`
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
