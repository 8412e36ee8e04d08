// Decompresses the items of an Execution: base64 of gzipped JSON. Source: spec/landscaper.md 1.3.
//
//   P1. A short text may decompress to a very long one, so the caller limits the decompressed size.
//   P2. Short JSON may hold very many values. They are counted before JSON.parse, because a thread that runs out of memory inside of JSON.parse ends
//       the whole process, whatever its memory limit is.

import { type Problem, readJson } from '../../../workflows/kit/index.ts'
import { gunzipSync } from 'node:zlib'
import type { DeployItemTemplate } from '../../../workflows/landscaper/execution/kind.ts'

export type DecodedItems = { readonly items: readonly DeployItemTemplate[] } | UnreadableItems

/** `problem` is a whole sentence, `found` only describes the content. */
export interface UnreadableItems {
  readonly problem: string
  readonly found: string
}

// An Execution holds at most 1.5 MiB (etcd); this limits a hostile archive.
export const MAX_DECOMPRESSED_BYTES = 32 * 1024 * 1024
/** Limit for the values in the JSON: 200 for each of the maximum number of items. */
export const MAX_VALUES = 1_000_000

/** The items, or the reason why they cannot be read. Undefined: they exceed `mostBytes` (P1), when that is lower than the general limit. */
export function decompressItems(packed: string, mostBytes = MAX_DECOMPRESSED_BYTES): DecodedItems | undefined {
  const json = decompress(packed, mostBytes)
  if (typeof json !== 'string') return json
  const items = parseJson(json)
  if (Array.isArray(items) && items.every(isTemplate)) return { items }
  // The message contains neither the content nor the parser's message, which quotes it: configurations may be secret.
  let found = 'JSON of another shape'
  if (items === undefined) found = 'no JSON'
  else if (Array.isArray(items)) found = 'a list with other things'
  const problem = `spec.deployItemsCompressed holds ${found}; expected a gzipped JSON list of deploy items with name and type`
  return { problem, found }
}

/** The decompressed size in bytes that the text claims. The author may have written any number. */
export function claimedSize(packed: string): number {
  // RFC 1952, 2.3.1: the last four bytes, least significant first.
  const end = Buffer.from(packed.slice(-8), 'base64')
  return end.length < 4 ? 0 : end.readUInt32LE(end.length - 4)
}

function decompress(packed: string, mostBytes: number): string | UnreadableItems | undefined {
  try {
    const json = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: mostBytes })
    return hasMoreValues(json, MAX_VALUES) ? unreadableItems(`more than ${MAX_VALUES} values`) : json.toString('utf8')
  } catch (error) {
    const isLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    if (isLarge && mostBytes < MAX_DECOMPRESSED_BYTES) return undefined
    const message = error instanceof Error ? error.message : String(error)
    return unreadableItems(isLarge ? `more than ${MAX_DECOMPRESSED_BYTES} bytes when unpacked` : message)
  }
}

const [QUOTE, ESCAPE] = [0x22, 0x5c]
// Each value except the first follows one of these characters.
const CHARACTERS_BEFORE_VALUES: ReadonlySet<number> = new Set(Buffer.from('[{,:'))

/** Implements P2. */
function hasMoreValues(json: Uint8Array, most: number): boolean {
  let values = 1
  let [isText, isEscaped] = [false, false]
  for (const byte of json) {
    if (isEscaped) isEscaped = false
    else if (byte === QUOTE) isText = !isText
    else if (isText) isEscaped = byte === ESCAPE
    else if (CHARACTERS_BEFORE_VALUES.has(byte) && ++values > most) return true
  }
  return false
}

export function unreadableItems(found: string): UnreadableItems {
  const problem = `spec.deployItemsCompressed cannot be read (${found}); expected base64 of a gzipped JSON list of deploy items`
  return { problem, found }
}

function parseJson(json: string): unknown {
  try {
    return readJson(json)
  } catch {
    return undefined
  }
}

// The API server validates only the uncompressed form.
function isTemplate(value: unknown): value is DeployItemTemplate {
  if (typeof value !== 'object' || value === null) return false
  const { name, type, dependsOn = [] } = value as Partial<Readonly<Record<keyof DeployItemTemplate, unknown>>>
  const isListOfNames = Array.isArray(dependsOn) && dependsOn.every((one) => typeof one === 'string')
  return typeof name === 'string' && typeof type === 'string' && isListOfNames
}

export const COMPRESSED_FIELD = 'spec.deployItemsCompressed'

export function compressedItemsProblem(found: string): Problem {
  return {
    field: COMPRESSED_FIELD,
    found,
    expected: 'base64 of a gzipped JSON list of deploy items with name and type',
  }
}
