// Parses the tests that a page names. The form is: `path of the file`: "name of a test", "name of another test".

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../', import.meta.url)
const NAMED = /`(test\/[^`]+\.test\.ts)`: ("[^"]+"(?:, "[^"]+")*)/g

export interface NamedTest {
  readonly file: string
  readonly name: string
}

export function namedTests(page: string): readonly NamedTest[] {
  return groupsOf(page).flatMap(([, file = '', names = '']) =>
    [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => ({ file, name })),
  )
}

/** Counts how often a page names tests of a file. */
export function namedFiles(page: string): number {
  return groupsOf(page).length
}

/** The list items and table rows of a page, without table headers. */
export function entriesOf(page: string): readonly string[] {
  const text = page.replaceAll(/^```[^]*?^```$/gm, '')
  const bullets = text.match(/^- .*(?:\n {2,}\S.*)*/gm) ?? []
  const tables = text.match(/(?:^\|.*\n?)+/gm) ?? []
  return [...bullets, ...tables.flatMap((table) => table.trim().split('\n').slice(2))]
}

/** Returns the entries that neither name a test nor give a reason for the missing test. */
export function unproven(page: string): readonly string[] {
  return entriesOf(page).filter((entry) => namedFiles(entry) === 0 && !/\(untested: [^)]{10,}\)/.test(entry))
}

function groupsOf(page: string) {
  return [...page.replaceAll(/\s+/g, ' ').matchAll(NAMED)]
}

/** Whether the file contains the name as a whole string: as the title of a test, or in a table of tests. */
export async function isThere({ file, name }: NamedTest): Promise<boolean> {
  const text = await readFile(fileURLToPath(new URL(file, ROOT)), 'utf8').catch(() => '')
  return [`'${name}'`, `"${name}"`, `\`${name}\``].some((quoted) => text.includes(quoted))
}
