// What a process has to be allowed to read so that Node finds the modules of a program: the folders in which it looks for packages, through
// all links that lead to them. Nothing of them is ours or a tenant's.

import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve, sep } from 'node:path'

/**
 * Paths of files and of whole folders, none of them inside another one.
 *
 * @param modules folders and files of Pawl's own code that the program imports.
 * @throws Error when a package is not installed.
 */
export function modulePaths(file: string, modules: readonly string[], packages: readonly string[]): readonly string[] {
  const homes = packages.flatMap((name) => stations(placeOf(name, file)))
  const looked = [file, ...modules, ...homes].flatMap((home) =>
    above(home).flatMap((folder) => [join(folder, 'node_modules'), join(folder, 'package.json')]),
  )
  return outermost([file, ...modules.map((module) => resolve(module)), ...looked])
}

// Node 24 takes a folder's own permission away when one is given for something inside it.
function outermost(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].filter((path) => !paths.some((other) => path.startsWith(other + sep)))
}

function placeOf(name: string, file: string): string {
  const places = createRequire(file).resolve.paths(name) ?? []
  const found = places.map((folder) => join(folder, name)).find((place) => existsSync(place))
  if (found === undefined) throw new Error(`package ${name}: found none above ${file}, expected it to be installed`)
  return found
}

/** The path, and what it becomes with one link after the other followed: Node looks at each. */
function stations(path: string): readonly string[] {
  const parts = path.split(sep)
  for (let length = 2; length <= parts.length; length++) {
    const prefix = parts.slice(0, length).join(sep)
    if (!lstatSync(prefix).isSymbolicLink()) continue
    const target = resolve(dirname(prefix), readlinkSync(prefix))
    return [path, ...stations(join(target, ...parts.slice(length)))]
  }
  return [path]
}

function above(path: string): readonly string[] {
  const folder = dirname(path)
  return folder === path ? [] : [folder, ...above(folder)]
}
