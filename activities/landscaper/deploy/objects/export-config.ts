// `exports.exports[]` of a deploy item's configuration. Source: spec/landscaper.md 4.5.

import type { JsonPath } from './json-path.ts'
import { FieldReader, type Fields } from './readiness/field-reader.ts'
import { readPath, readReference } from './readiness/readiness-config.ts'
import type { ObjectReference } from '../target/read-object.ts'

export interface ResourceExport {
  /** `a.b.c` builds nested maps. */
  readonly key: string
  readonly path: JsonPath
  readonly pathText: string
  /** Absent: the path is evaluated on the values of a chart. */
  readonly from: ObjectReference | undefined
  /** If set, this path finds `{name, namespace}` of the object on which the path of the export is evaluated. */
  readonly objectRef:
    | { readonly apiVersion: string; readonly kind: string; readonly path: JsonPath; readonly pathText: string }
    | undefined
  /** Another Target of the item's namespace. */
  readonly targetName: string | undefined
}

/** Per item. */
export const MOST_EXPORTS = 500

/**
 * Parses `exports`, a map with the list `exports`; absent: none. Mistakes are added to `mistakes`; the result must not be used then.
 *
 * @param hasValues whether exports without `fromResource` are allowed: they read the values of a chart.
 */
export function readExportsConfig(
  value: unknown,
  field: string,
  { mistakes, hasValues }: { mistakes: string[]; hasValues: boolean },
): ResourceExport[] {
  const reader = new FieldReader(mistakes)
  const list = reader.list(reader.map(value, field)?.['exports'], `${field}.exports`)
  if (list.length > MOST_EXPORTS) {
    reader.refuse(`${field}.exports`, `a list of ${list.length}`, `at most ${MOST_EXPORTS} exports`)
    return []
  }
  return list.flatMap((one, index) => {
    const at = `${field}.exports[${index}]`
    const entry = reader.requiredMap(one, at)
    if (entry === undefined) return []
    const key = readKey(reader, entry['key'], `${at}.key`)
    return readEntry(reader, { entry, key, field: at, hasValues })
  })
}

// Each part is a map in a map.
const LONGEST_KEY = 253
const MOST_PARTS = 20

function readKey(reader: FieldReader, value: unknown, field: string): string {
  const key = reader.text(value, field)
  const expected = `at most ${LONGEST_KEY} characters and ${MOST_PARTS} parts`
  if (key.length > LONGEST_KEY) {
    reader.refuse(field, `a text of ${key.length} characters`, expected)
    return ''
  }
  if (key.split('.').length > MOST_PARTS) reader.refuse(field, `a text of ${key.split('.').length} parts`, expected)
  if (key.includes('..') || key.startsWith('.') || key.endsWith('.')) {
    reader.refuse(field, 'a text with an empty part', 'a key such as a.b')
  }
  return key
}

interface Entry {
  readonly entry: Fields
  readonly key: string
  readonly field: string
  readonly hasValues: boolean
}

function readEntry(reader: FieldReader, { entry, key, field, hasValues }: Entry): ResourceExport[] {
  const path = readPath(reader, entry['jsonPath'], `${field}.jsonPath`)
  const source = entry['fromResource']
  const isOfValues = hasValues && (source === undefined || source === null)
  const from = isOfValues ? undefined : readReference(reader, source, `${field}.fromResource`)
  const objectRef = readObjectRef(reader, entry['fromObjectRef'], `${field}.fromObjectRef`)
  if (isOfValues && objectRef !== undefined)
    reader.refuse(`${field}.fromResource`, 'absent', 'a map, because fromObjectRef is set')
  const targetName = reader.optionalText(entry['targetName'], `${field}.targetName`)
  if (path === undefined) return []
  return [{ key, path, pathText: entry['jsonPath'] as string, from, objectRef, targetName }]
}

function readObjectRef(reader: FieldReader, value: unknown, field: string): ResourceExport['objectRef'] {
  const reference = reader.map(value, field)
  if (reference === undefined) return undefined
  const path = readPath(reader, reference['jsonPath'], `${field}.jsonPath`)
  const apiVersion = reader.text(reference['apiVersion'], `${field}.apiVersion`)
  const kind = reader.text(reference['kind'], `${field}.kind`)
  return path === undefined ? undefined : { apiVersion, kind, path, pathText: reference['jsonPath'] as string }
}
