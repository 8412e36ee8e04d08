// Reads the secrets of notifiers from mounted files, for each use, because mounted secrets may change.

import { readFileSync } from 'node:fs'

import { EXPECTED_HEADER, headerProblem } from '../../../workflows/chaos/notifier-config.ts'

/** An unusable file of secrets: the message contains the path but none of the content. */
export class SecretFileError extends Error {}

/** @throws SecretFileError */
export function secretIn(path: string): string {
  const [found] = textIn(path).trim().split(/\s+/)
  if (found === undefined || found === '') throw new SecretFileError(`${path}: the file is empty; expected one secret`)
  return found
}

/** Headers, one on each line. @throws like `secretIn`, with the line number. */
export function headersIn(path: string): readonly string[] {
  return textIn(path)
    .split(/\r?\n/)
    .flatMap((line, index) => {
      if (line.trim() === '') return []
      const problem = headerProblem(line)
      if (problem === undefined) return [line]
      throw new SecretFileError(`${path}: line ${index + 1}: found ${problem}; expected ${EXPECTED_HEADER}`)
    })
}

/** Splits `name: value` into fields; the last header of a name counts. */
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
