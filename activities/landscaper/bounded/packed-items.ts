// The items of an Execution in their packed form: base64 of gzipped JSON. Source: spec/landscaper.md 1.3.
//
//   P1. Little text may unpack to very much: who unpacks it says how much it may become.
//   P2. Little JSON may become very many values. They are counted before they are made: a thread that runs out of memory inside of JSON.parse takes the
//       process with it, whatever limit it has.

import { readJson } from '../../../workflows/kit/index.ts'
import { gunzipSync } from 'node:zlib'
import type { DeployItemTemplate } from '../../../workflows/landscaper/execution/kind.ts'

export type DecodedItems = { readonly items: readonly DeployItemTemplate[] } | UnreadItems

/** In words: all, and what was found. */
export interface UnreadItems {
  readonly problem: string
  readonly found: string
}

// An Execution holds at most 1.5 MiB (etcd); its items, unpacked, are bounded to what a hostile archive must not exceed.
export const MOST_UNPACKED_BYTES = 32 * 1024 * 1024
/** Values in the JSON: 200 for each of as many items as one may have. */
export const MOST_VALUES = 1_000_000

/** The items, or why they cannot be read; undefined: they take more than `mostBytes` (P1), where that is less than they may. */
export function unpackedItems(packed: string, mostBytes = MOST_UNPACKED_BYTES): DecodedItems | undefined {
  const json = unpack(packed, mostBytes)
  if (typeof json !== 'string') return json
  const items = parseJson(json)
  if (Array.isArray(items) && items.every(isTemplate)) return { items }
  // Neither the content nor the parser's message, which quotes it: configurations may be secret.
  const found =
    items === undefined ? 'no JSON' : Array.isArray(items) ? 'a list with other things' : 'JSON of another shape'
  const problem = `spec.deployItemsCompressed holds ${found}; expected a gzipped JSON list of deploy items with name and type`
  return { problem, found }
}

/** What the packed text says of its size when unpacked, in bytes; anybody may have written that. */
export function claimedBytes(packed: string): number {
  // RFC 1952, 2.3.1: the last four bytes, the least significant first.
  const end = Buffer.from(packed.slice(-8), 'base64')
  return end.length < 4 ? 0 : end.readUInt32LE(end.length - 4)
}

function unpack(packed: string, mostBytes: number): string | UnreadItems | undefined {
  try {
    const json = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: mostBytes })
    return hasMoreValues(json, MOST_VALUES) ? unreadable(`more than ${MOST_VALUES} values`) : json.toString('utf8')
  } catch (error) {
    const isLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    if (isLarge && mostBytes < MOST_UNPACKED_BYTES) return undefined
    const message = error instanceof Error ? error.message : String(error)
    return unreadable(isLarge ? `more than ${MOST_UNPACKED_BYTES} bytes when unpacked` : message)
  }
}

const [QUOTE, ESCAPE] = [0x22, 0x5c]
// Each value but the first stands behind one of these.
const BEFORE_VALUES: ReadonlySet<number> = new Set(Buffer.from('[{,:'))

/** P2 */
function hasMoreValues(json: Uint8Array, most: number): boolean {
  let values = 1
  let [isText, isEscaped] = [false, false]
  for (const byte of json) {
    if (isEscaped) isEscaped = false
    else if (byte === QUOTE) isText = !isText
    else if (isText) isEscaped = byte === ESCAPE
    else if (BEFORE_VALUES.has(byte) && ++values > most) return true
  }
  return false
}

/** @param found in words. */
export function unreadable(found: string): UnreadItems {
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

// The API server checks the plain form only.
function isTemplate(value: unknown): value is DeployItemTemplate {
  if (typeof value !== 'object' || value === null) return false
  const { name, type, dependsOn = [] } = value as Partial<Readonly<Record<keyof DeployItemTemplate, unknown>>>
  const isListOfNames = Array.isArray(dependsOn) && dependsOn.every((one) => typeof one === 'string')
  return typeof name === 'string' && typeof type === 'string' && isListOfNames
}
