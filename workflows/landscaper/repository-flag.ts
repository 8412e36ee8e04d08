// Parses the value of `--default-context-repository`: the repository context of Contexts, as JSON. Pure.

import { readJson, writeJson } from '../kit/index.ts'

export type RepositoryFields = Readonly<Record<string, unknown>>

/** The expected form, for messages. */
export const REPOSITORY = 'a repository context in JSON, such as {"type":"OCIRegistry","baseUrl":"ghcr.io/acme"}'

/** Undefined for an invalid text. */
export function readRepositoryContext(text: string): RepositoryFields | undefined {
  try {
    const value: unknown = readJson(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && typeof (value as RepositoryFields)['type'] === 'string' ? (value as RepositoryFields) : undefined
  } catch {
    return undefined
  }
}

/** The merge patch that turns `found` into `wanted`, with null for surplus fields; undefined if both are equal. */
export function replacing(found: unknown, wanted: RepositoryFields): RepositoryFields | undefined {
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return wanted
  const before = found as RepositoryFields
  const changes = Object.entries(wanted).flatMap(([key, value]): [string, unknown][] => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return writeJson(before[key]) === writeJson(value) ? [] : [[key, value]]
    const change = replacing(before[key], value as RepositoryFields)
    return change === undefined ? [] : [[key, change]]
  })
  const surplus = Object.keys(before).filter((key) => !Object.hasOwn(wanted, key))
  const all = [...changes, ...surplus.map((key): [string, unknown] => [key, null])]
  return all.length === 0 ? undefined : Object.fromEntries(all)
}
