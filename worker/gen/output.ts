// Compares generated files with the disk, and writes those that differ.
//
//   G1. A write creates a temporary file and renames it, so that no process reads an incomplete file.
//   G2. A write removes other files from folders that belong to the generator.

import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'

/** Contents by path from the root, with forward slashes. */
export type GeneratedFiles = ReadonlyMap<string, string>

export interface Difference {
  readonly path: string
  readonly state: 'missing' | 'stale' | 'unwanted'
  /** The first difference. */
  readonly detail: string
}

/** The changes that `writeFiles` would make, ordered by path. @param owned folders that contain only generated files. */
export async function compareFiles(
  root: string,
  files: GeneratedFiles,
  owned: readonly string[],
): Promise<readonly Difference[]> {
  const differences: Difference[] = []
  for (const [path, expected] of files) {
    const found = await readIfPresent(join(root, path))
    if (found === undefined) differences.push({ path, state: 'missing', detail: 'not generated yet' })
    else if (found !== expected) differences.push({ path, state: 'stale', detail: firstDifference(found, expected) })
  }
  for (const folder of owned) {
    for (const name of await namesIn(join(root, folder))) {
      const path = `${folder}/${name}`
      if (!files.has(path)) differences.push({ path, state: 'unwanted', detail: 'no kind asks for it' })
    }
  }
  return differences.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** Writes and removes files (G1, G2). */
export async function writeFiles(
  root: string,
  files: GeneratedFiles,
  differences: readonly Difference[],
): Promise<void> {
  for (const { path } of differences) {
    const expected = files.get(path)
    if (expected === undefined) await remove(join(root, path))
    else await replaceFile(join(root, path), expected)
  }
}

/** Removes a file, and its folder when it is empty. */
async function remove(path: string): Promise<void> {
  await rm(path)
  if ((await readdir(dirname(path))).length === 0) await rmdir(dirname(path))
}

async function replaceFile(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    await writeFile(temporary, content)
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** The files below a folder, as relative paths with forward slashes. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => !entry.isDirectory())
    return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join('/'))
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

function firstDifference(found: string, expected: string): string {
  const [foundLines, expectedLines] = [found.split('\n'), expected.split('\n')]
  const index = expectedLines.findIndex((line, at) => line !== foundLines[at])
  const at = index === -1 ? expectedLines.length : index
  const quote = (line: string | undefined) => (line === undefined ? 'the end' : `"${line.trim()}"`)
  return `line ${at + 1} is ${quote(foundLines[at])}; expected ${quote(expectedLines[at])}`
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
