// The value of `--default-context-repository`: a repository context as Contexts have it, in JSON. Pure.

import { readJson, writeJson } from '../kit/index.ts'

export type RepositoryFields = Readonly<Record<string, unknown>>

/** What it looks like, for people. */
export const REPOSITORY = 'a repository context in JSON, such as {"type":"OCIRegistry","baseUrl":"ghcr.io/acme"}'

/** Undefined for a text that is none. */
export function readRepositoryContext(text: string): RepositoryFields | undefined {
  try {
    const value: unknown = readJson(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && typeof (value as RepositoryFields)['type'] === 'string' ? (value as RepositoryFields) : undefined
  } catch {
    return undefined
  }
}

/** What to merge into what is there, so that it becomes what is wanted: null for what is too much. Undefined: it is that already. */
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
