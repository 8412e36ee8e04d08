// What work on somebody's data costs, known before it is done: cheap work is done where it is asked for, since the way to a thread and back costs more.
// One unit is what a fifteenth of a microsecond does; measured on json-p3 and yaml, generously.
//
//   E1. To estimate costs no more than what it says is cheap.

import { claimedBytes } from './packed-items.ts'
import { excessOf } from '../../yaml/yaml-effort.ts'

/** About ten milliseconds. */
export const MOST_EFFORT = 150_000

const PER_TOKEN = 150
const CHEAP_TEXT = 64 * 1024
const CHEAP_YAML = { maxTokens: MOST_EFFORT / PER_TOKEN, maxOpenBrackets: 100, maxAliases: 3 }

/** What reading a YAML text costs; `Infinity` is more than is done where it is asked for. */
export function yamlEffort(text: string): number {
  if (text.length > CHEAP_TEXT || excessOf(text, CHEAP_YAML) !== undefined) return Infinity
  // A token has a character at least.
  return Math.min(MOST_EFFORT, text.length * PER_TOKEN)
}

/** What is unpacked where it is asked for. */
export const CHEAP_UNPACKED_BYTES = 64 * 1024

/** What reading packed items costs, as they themselves say. */
export function packedEffort(packed: string): number {
  const bytes = Math.max(packed.length, claimedBytes(packed))
  return bytes > CHEAP_UNPACKED_BYTES ? Infinity : bytes
}

/** What paths may find together where they are followed where it is asked for: each node of it is visited. */
export const CHEAP_FOUND = { nodes: 10_000, characters: 64 * 1024 }

/** The nodes of a JSON value; at most `most` are counted. */
export function countNodes(value: unknown, most: number): number {
  let count = 0
  const open: unknown[] = [value]
  while (open.length > 0 && count + open.length <= most) {
    const next = open.pop()
    count++
    if (typeof next !== 'object' || next === null) continue
    for (const inner of Object.values(next) as readonly unknown[]) open.push(inner)
  }
  return Math.min(most, count + open.length)
}
