// What is different between two states of an object as the journal keeps them. Pure.

import { writeJson } from '../../../workflows/kit/index.ts'
import type { Projection } from '../../../workflows/kit/index.ts'
import { shown } from './texts.ts'

/** One line a field, such as `status.phase: Init -> Progressing`, in the order of their names. */
export function changesBetween(before: Projection | undefined, after: Projection): readonly string[] {
  const [old, now] = [leaves(before ?? {}), leaves(after)]
  const fields = [...new Set([...old.keys(), ...now.keys()])].sort()
  return fields.flatMap((field) => {
    const [from, to] = [old.get(field), now.get(field)]
    if (from === to) return []
    if (from === undefined) return [`${field}: ${to ?? ''}`]
    return [`${field}: ${from} -> ${to ?? '(gone)'}`]
  })
}

// What names the object says nothing about a change, and every write of a spec raises the generation.
const NAMES: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace', 'metadata.uid'])

function leaves(projection: Projection): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const walk = (value: unknown, at: string): void => {
    if (isRecord(value) && Object.keys(value).length > 0)
      for (const [key, below] of Object.entries(value)) walk(below, at === '' ? keyText(key) : `${at}.${keyText(key)}`)
    else if (at !== '' && !NAMES.has(at) && !at.startsWith('metadata.ownerReferences')) found.set(at, valueText(value))
  }
  walk(projection, '')
  return found
}

function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : `"${shown(key)}"`
}

function valueText(value: unknown): string {
  return shown(typeof value === 'string' ? value : writeJson(value), 200)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
