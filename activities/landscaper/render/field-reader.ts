// Reads fields of untyped maps as Go's JSON decoder does: absent and null are the zero value, unknown keys are ignored, a value of another type is a
// problem. It reports all problems and quotes no value.

import type { YamlPath } from '../../yaml/read-yaml.ts'
import { isFields } from '../../../workflows/kit/kind/json-fields.ts'

export type ReportProblem = (path: YamlPath, problem: string) => void
export type Fields = Readonly<Record<string, unknown>>

/** `exact` compares keys as written; `fold` ignores case unless a key matches exactly, as Go's JSON decoder does. */
export type KeyMatch = 'exact' | 'fold'

export interface FieldReader {
  /** Any value; undefined for absent and null. */
  raw(key: string): unknown
  text(key: string): string | undefined
  integer(key: string): number | undefined
  flag(key: string): boolean | undefined
  fields(key: string): Fields | undefined
  list(key: string): readonly unknown[] | undefined
  texts(key: string): readonly string[] | undefined
  textMap(key: string): Readonly<Record<string, string>> | undefined
}

/** The type of a value in the words of a YAML user. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  return typeof value === 'boolean' ? 'true or false' : `a ${typeof value}`
}

/** A reader for the fields of `value` at `path`. Reports anything else than a map, and reads it as an empty map. */
export function readFields(value: unknown, path: YamlPath, report: ReportProblem, match: KeyMatch): FieldReader {
  const expect = <T>(isRight: (found: unknown) => found is T, expected: string) => {
    return (found: unknown, at: YamlPath): T | undefined => {
      if (found === undefined || found === null || isRight(found)) return found ?? undefined
      report(at, `found ${typeName(found)}; expected ${expected}`)
      return undefined
    }
  }
  const asFields = expect(isFields, 'a map')
  const asList = expect(isList, 'a list')
  const asText = expect((found) => typeof found === 'string', 'text')
  const asFlag = expect((found) => typeof found === 'boolean', 'true or false')
  const asInteger = expect(isInteger, 'an integer')
  const owner = asFields(value, path) ?? {}
  const raw = (key: string) => owner[keyOf(owner, key, match)] ?? undefined
  return {
    raw,
    text: (key) => asText(raw(key), [...path, key]),
    integer: (key) => asInteger(raw(key), [...path, key]),
    flag: (key) => asFlag(raw(key), [...path, key]),
    fields: (key) => asFields(raw(key), [...path, key]),
    list: (key) => asList(raw(key), [...path, key]),
    texts: (key) =>
      asList(raw(key), [...path, key])?.flatMap((entry, index) => asText(entry, [...path, key, index]) ?? []),
    textMap(key) {
      const map = asFields(raw(key), [...path, key])
      if (map === undefined) return undefined
      const entries = Object.entries(map).map(([name, entry]) => [name, asText(entry, [...path, key, name]) ?? ''])
      return Object.fromEntries(entries) as Record<string, string>
    },
  }
}

function isList(found: unknown): found is readonly unknown[] {
  return Array.isArray(found)
}

function isInteger(found: unknown): found is number {
  return Number.isSafeInteger(found)
}

function keyOf(owner: Fields, key: string, match: KeyMatch): string {
  if (Object.hasOwn(owner, key) || match === 'exact') return key
  return Object.keys(owner).find((candidate) => candidate.toLowerCase() === key.toLowerCase()) ?? key
}

/** Formats a path, for example `spec.items[2].name`. */
export function printPath(path: YamlPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? part : `${text}.${part}`
  }, '')
}
