// Reads the value of an import from a DataObject, Secret or ConfigMap. Source: spec/landscaper.md 3.10.
//
//   V1. Entries of Secrets and ConfigMaps, including `binaryData`, are YAML: `"42"` is a number.
//   V2. Size and depth of values are limited: aliases expand a short text to a large value.
//   V3. No message contains a value.

import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import type { KubeObject } from '../../kube/client.ts'
import { binaryEntriesOf, entriesOf } from '../../kube/core-kinds.ts'
import { storedAs } from '../../kube/object-views.ts'
import type { TenantData } from '../bounded/tenant-data.ts'
import { YamlError } from '../../yaml/read-yaml.ts'
import type { DataSource } from './import-sources.ts'

// Objects have at most 1.5 MB; a larger value is the result of aliases.
const MAX_VALUES = 1_000_000
const MAX_CHARACTERS = 4 * 1024 * 1024
const MAX_DEPTH = 500

/** An imported value, or the reason why it cannot be read. */
export type Imported =
  | { readonly value: unknown }
  /** The object has no such entry. */
  | { readonly missing: string }
  | { readonly problem: string }

/** The value of a source from its object. */
export async function importedValue(
  data: Pick<TenantData, 'yaml'>,
  { watched, key, place }: DataSource,
  object: KubeObject,
): Promise<Imported> {
  const read =
    watched.kind === dataObjectKind.kind
      ? { value: storedAs(dataObjectKind, object).data ?? null }
      : await entryOf(data, object, { kind: watched.kind, key, place })
  if (!('value' in read)) return read
  const excess = excessOf(read.value)
  return excess === undefined ? read : { problem: excess }
}

async function entryOf(
  reader: Pick<TenantData, 'yaml'>,
  object: KubeObject,
  { kind, key, place }: { kind: string; key: string | undefined; place: string },
): Promise<Imported> {
  const texts = textsOf(object, kind)
  if (key !== undefined) {
    const text = texts.get(key)
    return text === undefined ? { missing: `key "${key}"` } : await parseEntry(reader, { key, place }, text())
  }
  const entries: [string, unknown][] = []
  for (const [name, text] of texts) {
    const parsed = await parseEntry(reader, { key: name, place }, text())
    if (!('value' in parsed)) return parsed
    entries.push([name, parsed.value])
  }
  return { value: Object.fromEntries(entries) }
}

/** Decoders by key; only requested entries are decoded. The API server allows a key in only one of the two maps of a ConfigMap. */
function textsOf(object: KubeObject, kind: string): ReadonlyMap<string, () => string> {
  const decoded = (base64: string) => () => Buffer.from(base64, 'base64').toString('utf8')
  const data = Object.entries(entriesOf(object) ?? {})
  if (kind === 'Secret') return new Map(data.map(([key, base64]) => [key, decoded(base64)]))
  const binary = Object.entries(binaryEntriesOf(object) ?? {})
  return new Map([
    ...data.map(([key, text]) => [key, () => text] as const),
    ...binary.map(([key, base64]) => [key, decoded(base64)] as const),
  ])
}

async function parseEntry(
  reader: Pick<TenantData, 'yaml'>,
  { key, place }: { readonly key: string; readonly place: string },
  text: string,
): Promise<Imported> {
  try {
    return { value: (await reader.yaml(text, `${place}, key ${key}`)) ?? null }
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    return { problem: `key "${key}" is not valid YAML: line ${error.line}, column ${error.column}: ${error.reason}` }
  }
}

/** Measures the value as if it were serialized: shared parts count each time. Stops at the first limit. */
function excessOf(value: unknown): string | undefined {
  let values = 0
  let characters = 0
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    values++
    if (typeof next.value === 'string') characters += next.value.length
    if (values > MAX_VALUES || characters > MAX_CHARACTERS) {
      return `is too large; expected at most ${MAX_VALUES} values with ${MAX_CHARACTERS} characters`
    }
    if (next.depth > MAX_DEPTH) return `is nested too deeply; expected at most ${MAX_DEPTH} levels`
    if (typeof next.value !== 'object' || next.value === null) continue
    for (const [key, child] of Object.entries(next.value)) {
      characters += Array.isArray(next.value) ? 0 : key.length
      pending.push({ value: child, depth: next.depth + 1 })
    }
  }
  return undefined
}
