// The modules that a program of the npm package imports, and the npm packages that they need: the contents of a slim image.

import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'

/** `import('x')`: only loaded when a command or a program needs it. */
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]/g

export interface ModuleGraph {
  /** Paths relative to the package, sorted. */
  readonly modules: readonly string[]
  /** Folders below node_modules, such as `@kubernetes/client-node` or `a/node_modules/b`, sorted. */
  readonly packages: readonly string[]
}

/**
 * @param root the unpacked npm package, with node_modules. @param starter the module that starts programs: its dynamic
 * imports are the other programs, which are left out. @param program the module of the program: all its imports count.
 */
export function graphOf(root: string, starter: string, program: string): ModuleGraph {
  const modules = new Set<string>()
  const names = new Set<string>()
  const queue = [
    { path: starter, dynamic: false },
    { path: program, dynamic: true },
  ]
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    if (modules.has(one.path)) continue
    modules.add(one.path)
    const text = readFileSync(join(root, one.path), 'utf8')
    const later = new Set(one.dynamic ? [] : [...text.matchAll(DYNAMIC)].map(([, name]) => name))
    for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
      if (later.has(fileName) || fileName.startsWith('node:')) continue
      if (fileName.startsWith('.')) queue.push({ path: posix.join(posix.dirname(one.path), fileName), dynamic: one.dynamic })
      else names.add(fileName.split('/', fileName.startsWith('@') ? 2 : 1).join('/'))
    }
  }
  return { modules: [...modules].sort(), packages: packagesOf(root, names) }
}

/** The packages and, transitively, their installed dependencies, where Node finds them. */
function packagesOf(root: string, names: ReadonlySet<string>): readonly string[] {
  const found = new Set<string>()
  const queue = [...names].map((name) => ({ name, from: '' }))
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    const folder = resolvePackage(root, one.name, one.from)
    if (folder === undefined || found.has(folder)) continue
    found.add(folder)
    const manifest = JSON.parse(readFileSync(join(root, 'node_modules', folder, 'package.json'), 'utf8')) as {
      readonly dependencies?: object
      readonly optionalDependencies?: object
      readonly peerDependencies?: object
    }
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = manifest
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
      queue.push({ name, from: folder })
  }
  return [...found].sort()
}

/** Searches node_modules of the package and of the folders above it. */
function resolvePackage(root: string, name: string, from: string): string | undefined {
  for (let at = from; ; at = at.includes('/node_modules/') ? at.slice(0, at.lastIndexOf('/node_modules/')) : '') {
    const folder = at === '' ? name : `${at}/node_modules/${name}`
    if (existsSync(join(root, 'node_modules', folder, 'package.json'))) return folder
    if (at === '') return undefined
  }
}
