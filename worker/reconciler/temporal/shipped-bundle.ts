// The bundles of the built-in workflows that the npm package contains, and with it the image. A worker that uses one starts without the bundler, which takes
// some seconds of CPU and 300 MB.
//
//   S1. A bundle is used only if each of its input files has the same content in this installation, packages included, and no file exists that the bundler
//       looked for and did not find. Otherwise the worker reports the difference and builds a bundle.
//   S2. The result equals the bundle that this installation would build: source maps have the paths of this machine.

import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isAbsolute } from 'node:path'

import type { Logger } from '@temporalio/worker'

import type { BuiltBundle } from './bundle-cache.ts'
import { OWN, PackageFolders, type PackageImport, portableName } from './portable-names.ts'
import { modulePath } from '../../server/config.ts'

const SOURCE_MAP = '\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,'
/** Code that builds other bundles from the same files if it changes, with the bundler. */
const TOOLS = ['bundle', 'portable-bundle', 'portable-names'].map((name) =>
  modulePath(`reconciler/temporal/${name}.ts`),
)
const BUNDLER = '@temporalio/worker'
/** Precedes the name of a file among the sources of a source map. */
const FILE = 'file:'

/** Files have portable names. */
interface ShippedBundle {
  readonly imports: readonly PackageImport[]
  /** Hashes of the contents. */
  readonly files: Readonly<Record<string, string>>
  readonly missing: readonly string[]
  readonly code: string
  readonly map: SourceMap
}

interface SourceMap {
  readonly sources: readonly string[]
  /** Null: the content of the file. */
  readonly sourcesContent: readonly (string | null)[]
}

export function shippedBundlePath(isEncrypted: boolean): string {
  return modulePath(`reconciler/temporal/workflows${isEncrypted ? '-encrypted' : ''}.bundle.json`)
}

export interface TracedBundle extends BuiltBundle {
  /** @throws if a module is neither a file of Pawl nor of a package. */
  readonly imports: () => readonly PackageImport[]
}

/** @returns the content of the file. @throws if an input is neither a file of Pawl nor of a package. */
export async function describeBundle({ code, inputs, imports: importsOf }: TracedBundle): Promise<string> {
  const imports = [...importsOf(), [OWN, BUNDLER] as const]
  const folders = new PackageFolders(imports)
  const manifests = imports.map(([, imported]) => folders.path(`${imported}/package.json`))
  const contents = await readContents([...inputs.files, ...manifests, ...TOOLS])
  // Without the bundler's own files.
  const named = [...contents]
    .map(([path, content]) => [nameOf(path), content] as const)
    .filter(([name]) => folders.has(name))
  const names = new Map(named.sort(([one], [other]) => (one < other ? -1 : 1)))
  const missing = [...inputs.missing].filter((path) => isBelow(folders, path)).map(nameOf)
  const [text, map] = splitMap(code)
  const sources = map.sources.map((source) => (isAbsolute(source) ? FILE + nameOf(source) : source))
  const sourcesContent = map.sourcesContent.map((content, index) =>
    names.get(sources[index]?.slice(FILE.length) ?? '') === content ? null : content,
  )
  const files = Object.fromEntries([...names].map(([name, content]) => [name, hashOf(content)]))
  const bundle: ShippedBundle = {
    imports,
    files,
    missing: [...new Set(missing)].sort(),
    code: text,
    map: { ...map, sources, sourcesContent },
  }
  return `${JSON.stringify(bundle)}\n`
}

/** Undefined: a worker must build the bundle (S1); a checkout has none. */
export async function readShippedBundle(isEncrypted: boolean, logger: Logger): Promise<string | undefined> {
  const path = shippedBundlePath(isEncrypted)
  if (!existsSync(path)) return undefined
  try {
    return await useBundle(JSON.parse(await readFile(path, 'utf8')) as ShippedBundle)
  } catch (error) {
    logger.warn('the workflow bundle of the package does not fit; the worker builds another', { error, path })
    return undefined
  }
}

/** S1, S2. @throws with the first difference. */
async function useBundle({ imports, files, missing, code, map }: ShippedBundle): Promise<string> {
  const folders = new PackageFolders(imports)
  const contents = await readContents(Object.keys(files).map((name) => folders.path(name)))
  for (const [name, hash] of Object.entries(files)) {
    const path = folders.path(name)
    const content = contents.get(path)
    if (content === undefined || hashOf(content) !== hash) throw new Error(`file ${path} has changed`)
  }
  const added = missing.map((name) => folders.path(name)).find((path) => existsSync(path))
  if (added !== undefined) throw new Error(`file ${added} is new`)
  const sources = map.sources.map((source) =>
    source.startsWith(FILE) ? folders.path(source.slice(FILE.length)) : source,
  )
  const sourcesContent = map.sourcesContent.map(
    (content, index) => content ?? contents.get(sources[index] ?? '') ?? null,
  )
  return code + SOURCE_MAP + Buffer.from(JSON.stringify({ ...map, sources, sourcesContent })).toString('base64')
}

function splitMap(code: string): readonly [code: string, map: SourceMap] {
  const at = code.lastIndexOf(SOURCE_MAP)
  const text = Buffer.from(code.slice(at + SOURCE_MAP.length), 'base64').toString()
  return [code.slice(0, at), JSON.parse(text) as SourceMap]
}

/** Without folders and missing files: the entry of the bundle is a file in memory only. */
async function readContents(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const read = paths.map(async (path) => [path, await readFile(path, 'utf8').catch(ignoreNoFile)] as const)
  const found = await Promise.all(read)
  return new Map(found.flatMap(([path, content]) => (content === undefined ? [] : [[path, content] as const])))
}

function ignoreNoFile(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'EISDIR', 'ENOTDIR'].includes(error.code ?? '')) throw error
}

function nameOf(path: string): string {
  const name = portableName(path)
  if (name === undefined) throw new Error(`file "${path}" is in no package; remove its import`)
  return name
}

/** Whether the path is below the folder that its name means, and not below another copy of the package. */
function isBelow(folders: PackageFolders, path: string): boolean {
  const name = portableName(path)
  return name !== undefined && folders.has(name) && folders.path(name) === path
}

function hashOf(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}
