// Names of files in bundles that are equal on all machines: `pawl/workflows/index.js` for Pawl's own files, `long/index.js` for the files of packages.

import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'

import { modulePath } from '../../server/config.ts'

/** The folder of Pawl: its npm package, or the checkout. */
export const ROOT = realpathSync(modulePath('..'))
/** The name of Pawl's package. */
export const OWN = 'pawl'
const MODULES = 'node_modules'

/** Undefined: the file belongs neither to Pawl nor to a package. */
export function portableName(path: string): string | undefined {
  const own = relative(ROOT, path).split(sep)
  if (own[0] !== '..' && !own.includes(MODULES) && !isAbsolute(own.join(sep))) return [OWN, ...own].join('/')
  const words = path.split(sep)
  const start = words.lastIndexOf(MODULES) + 1
  return start === 0 || start === words.length ? undefined : words.slice(start).join('/')
}

/** The package of a name of `portableName`, such as `@temporalio/common`. */
export function packageOf(name: string): string {
  return name.split('/', name.startsWith('@') ? 2 : 1).join('/')
}

/** A package that a module of another package imports: `[importer, imported]`. */
export type PackageImport = readonly [importer: string, imported: string]

/** The folders of packages on this machine. */
export class PackageFolders {
  readonly #folders = new Map([[OWN, ROOT]])

  /** @throws if a package is missing, or if two importers use different copies of it. */
  constructor(imports: readonly PackageImport[]) {
    const owners = [OWN]
    for (const owner of owners)
      for (const [importer, imported] of imports) {
        if (importer !== owner) continue
        const folder = findPackage(this.#folders.get(owner), imported)
        const other = this.#folders.get(imported)
        if (folder === undefined) throw new Error(`package "${imported}" is missing, which "${owner}" imports`)
        if (other !== undefined && other !== folder)
          throw new Error(`package "${imported}" is in ${other} and in ${folder}`)
        if (other === undefined) owners.push(imported)
        this.#folders.set(imported, folder)
      }
  }

  has(name: string): boolean {
    return this.#folders.has(packageOf(name))
  }

  /** The path of a name of `portableName`. */
  path(name: string): string {
    const owner = packageOf(name)
    const folder = this.#folders.get(owner)
    if (folder === undefined) throw new Error(`file "${name}": package "${owner}" is no import of the bundle`)
    return join(folder, name.slice(owner.length + 1))
  }
}

/** Searches as Node does: in node_modules of the folder and of the folders above it. */
function findPackage(from: string | undefined, name: string): string | undefined {
  if (from === undefined) return undefined
  const folder = join(from, MODULES, name)
  if (basename(from) !== MODULES && existsSync(folder)) return realpathSync(folder)
  return dirname(from) === from ? undefined : findPackage(dirname(from), name)
}
