// What the modules of a controller use and passes do not have, told when its module is generated: it would be told with the first start of a worker
// otherwise. Documents are not wrong for it, so it keeps nothing from being generated.

import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

import { sandboxProblems, findUnavailableNames } from '../../server/sandbox-check.ts'

const MODULE = /\.[cm]?[jt]s$/
const TYPESCRIPT = /\.[cm]?ts$/
// Tests run in Node.
const TEST = /\.(test|spec)\.[cm]?[jt]s$/

/**
 * One line for each place, in the modules of these folders that use the generated module, such as its plan, and in what they import by path.
 *
 * @param target the path of the generated module, which need not be there yet.
 */
export async function sandboxNotes(target: string, folders: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all([...new Set(folders.map((folder) => resolve(folder)))].map(modulesIn))
  const users = found.flat().filter((file) => isUserOf(file, resolve(target)))
  return sandboxProblems(users)
}

async function modulesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    // Modules may be generated into a folder that is made for them.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  })
  return names
    .filter((name) => MODULE.test(name) && !TEST.test(name))
    .sort()
    .map((name) => join(folder, name))
}

/** Whether it imports more than types of the generated module. */
function isUserOf(file: string, target: string): boolean {
  const text = readFileSync(file, 'utf8')
  if (file === target || !text.includes(basename(target))) return false
  const imports = findUnavailableNames(text, TYPESCRIPT.test(file))?.imports ?? []
  return imports.some((source) => source.startsWith('.') && resolve(dirname(file), source) === target)
}
