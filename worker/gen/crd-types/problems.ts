// Problems of a file of CustomResourceDefinitions, with place, found value and expected value. A user gets all problems of the file at once.

import { writeJson } from '../../../workflows/kit/index.ts'

/** Keys and indexes from the root of a document. */
export type Path = readonly (string | number)[]

export interface Problem {
  /** Line and column count from 1. Undefined: the problem concerns the file. */
  readonly line?: number
  readonly column?: number
  /** The number of the document, from 1. */
  readonly document?: number
  readonly path?: Path
  readonly message: string
}

/** Adds one problem of a document. */
export type Report = (path: Path, message: string) => void

/** `crds.yaml:12:7: document 2: spec.names.kind: found nothing; expected ...`. */
export function problemText(file: string, { line, column, document, path = [], message }: Problem): string {
  const place = line === undefined || column === undefined ? file : `${file}:${line}:${column}`
  return [
    place,
    ...(document === undefined ? [] : [`document ${document}`]),
    ...(path.length === 0 ? [] : [pathText(path)]),
    message,
  ].join(': ')
}

/** A description of a wrong value. Long strings are cut. */
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
