// The files of a blueprint given in place, inside an Installation: nested maps are directories, text is a file.
// Source: spec/landscaper.md 1.2 and 3.1.

import { BlueprintError } from './blueprint-error.ts'
import type { FileContent } from './file-content.ts'
import { isFields, printPath, typeName } from './field-reader.ts'
import { YamlError, type YamlPath } from '../../yaml/read-yaml.ts'

const WHERE = 'spec.blueprint.inline.filesystem'
/** Of all files with their paths. */
export const MOST_BYTES = 8 * 1024 * 1024
/** Of directories. */
export const MOST_LEVELS = 64

/** Paths without a leading slash, e.g. `templates/items.yaml`. */
export type BlueprintFiles = Readonly<Record<string, FileContent>>

export interface FilesystemData {
  /** @throws YamlError */
  yaml(text: string, place?: string): Promise<unknown>
}

/**
 * Reads the `filesystem` field: a map, or one text that holds the map as YAML.
 *
 * @throws BlueprintError naming the file whose content is neither text nor a directory, or whose path leaves the blueprint.
 */
export async function readInlineFiles(data: FilesystemData, filesystem: unknown): Promise<BlueprintFiles> {
  const root = typeof filesystem === 'string' ? await parseFilesystem(data, filesystem) : filesystem
  if (!isFields(root)) throw problem([], `found ${typeName(root)}, expected a map of files and directories`)
  const files = listFiles(root, [])
  const bytes = files.reduce((sum, [path, content]) => sum + path.length + content.length, 0)
  if (bytes > MOST_BYTES) throw problem([], `found ${bytes} bytes, expected at most ${MOST_BYTES}`)
  return Object.fromEntries(files)
}

async function parseFilesystem(data: FilesystemData, text: string): Promise<unknown> {
  try {
    return await data.yaml(text, 'spec.blueprint.inline.filesystem')
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw problem([], `line ${error.line}, column ${error.column}: ${error.message}`)
  }
}

function listFiles(directory: Readonly<Record<string, unknown>>, parents: YamlPath): (readonly [string, string])[] {
  if (parents.length > MOST_LEVELS) throw problem(parents, `nested deeper than ${MOST_LEVELS} directories`)
  return Object.entries(directory).flatMap(([name, content]) => {
    const path = [...parents, ...segmentsOf(name, parents)]
    if (typeof content === 'string') return [[path.join('/'), content] as const]
    if (isFields(content)) return listFiles(content, path)
    throw problem([...parents, name], `found ${typeName(content)}, expected text (a file) or a map (a directory)`)
  })
}

// A key may be a path of its own: `templates/items.yaml: ...`.
function segmentsOf(name: string, parents: YamlPath): readonly string[] {
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.length > 0 && !segments.includes('..')) return segments
  throw problem([...parents, name], 'found a path that leaves the blueprint, expected a name of a file')
}

function problem(path: YamlPath, text: string): BlueprintError {
  const place = path.length === 0 ? WHERE : `${WHERE}, file ${printPath([path.join('/')])}`
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', `${place}: ${text}`)
}
