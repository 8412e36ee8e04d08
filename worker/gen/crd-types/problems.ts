// Mistakes in a file of CustomResourceDefinitions, as people read them: where, what was found, what was expected. All of a
// file at once.

import { writeJson } from '../../../workflows/kit/index.ts'

/** Keys and indexes from the root of a document. */
export type Path = readonly (string | number)[]

export interface Problem {
  /** Both count from 1; absent when the whole file is meant. */
  readonly line?: number
  readonly column?: number
  /** Counts from 1; absent when the whole file is meant. */
  readonly document?: number
  readonly path?: Path
  readonly message: string
}

/** Takes down one mistake of a document. */
export type Report = (path: Path, message: string) => void

/** `crds.yaml:12:7: document 2: spec.names.kind: found nothing, expected ...`. */
export function problemText(file: string, { line, column, document, path = [], message }: Problem): string {
  const place = line === undefined || column === undefined ? file : `${file}:${line}:${column}`
  return [
    place,
    ...(document === undefined ? [] : [`document ${document}`]),
    ...(path.length === 0 ? [] : [pathText(path)]),
    message,
  ].join(': ')
}

/** What stands where something else was expected; long texts are cut. */
export function found(value: unknown): string {
  if (value === undefined) return 'found nothing'
  if (Array.isArray(value)) return 'found a list'
  if (typeof value === 'object' && value !== null) return 'found an object'
  const text = writeJson(value)
  return `found ${text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}...` : text}`
}

const LONGEST_VALUE = 60

function pathText(path: Path): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    if (!/^[\w$-]+$/.test(key)) return `${text}[${JSON.stringify(key)}]`
    return text === '' ? key : `${text}.${key}`
  }, '')
}
