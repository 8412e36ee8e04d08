// Secrets of notifiers in files, as they are mounted into pods: read when they are used, for they are renewed.

import { readFileSync } from 'node:fs'

import { EXPECTED_HEADER, headerProblem } from '../../../workflows/chaos/notifier-config.ts'

/** A file of secrets that cannot be used: its message has the path, and nothing of what is in it. */
export class SecretFileError extends Error {}

/** @throws SecretFileError */
export function secretIn(path: string): string {
  const [found] = textIn(path).trim().split(/\s+/)
  if (found === undefined || found === '')
    throw new SecretFileError(`${path}: found nothing in it, expected one secret`)
  return found
}

/** Headers, one on each line. @throws as `secretIn`, with the number of the line. */
export function headersIn(path: string): readonly string[] {
  return textIn(path)
    .split(/\r?\n/)
    .flatMap((line, index) => {
      if (line.trim() === '') return []
      const problem = headerProblem(line)
      if (problem === undefined) return [line]
      throw new SecretFileError(`${path}: line ${index + 1}: found ${problem}, expected ${EXPECTED_HEADER}`)
    })
}

/** Names and values of `name: value`; a later one takes the place of one of its name. */
export function headerFields(headers: readonly string[]): Readonly<Record<string, string>> {
  const fields = headers
    .filter((header) => header !== '')
    .map((header) => {
      const colon = header.indexOf(':')
      return [header.slice(0, colon).trim().toLowerCase(), header.slice(colon + 1).trim()] as const
    })
  return Object.fromEntries(fields)
}

function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code = 'no such file' } = error as { readonly code?: string }
    throw new SecretFileError(`${path}: cannot be read (${code})`, { cause: error })
  }
}
