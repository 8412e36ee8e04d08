// From `.cm` files to the modules that they generate: reads them, looks at the kinds that they bind, compiles. Writes nothing.

import { readFile } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

import {
  boundModules,
  compile,
  type Document,
  formatDiagnostic,
  type KindLookup,
  referredKinds,
} from '../../../workflows/kit/dsl/index.ts'
import { isPath, readBoundKinds } from './bound-kinds.ts'

export interface ControllerOptions {
  /** The checkout: files in it import its kit, all others the published one. */
  readonly root: string
  /** How the document is called in complaints; default as it was given. */
  readonly shownAs?: string | undefined
  /** Where modules are written; undefined for beside their documents. */
  readonly out?: string | undefined
  /** From where modules import the kit. */
  readonly kit?: string | undefined
  /** Kinds that others define. */
  readonly crds?: KindLookup | undefined
  /** Text for the top of each module. */
  readonly boilerplate?: string | undefined
}

export interface CompiledFile {
  /** As it was given. */
  readonly file: string
  /** The path of its module. */
  readonly target: string
  readonly document: Document | undefined
  /** Undefined when the document is wrong. */
  readonly code: string | undefined
  /** What is to be said about the document, errors and warnings; each has its place. */
  readonly complaints: readonly string[]
}

const EXTENSION = '.cm'

/** Compiles one document. What is wrong with it, also that it cannot be read, is in `complaints`. */
export async function compileFile(file: string, options: ControllerOptions): Promise<CompiledFile> {
  const folder = dirname(file)
  const shown = options.shownAs ?? file
  const outFolder = options.out ?? folder
  const target = join(outFolder, `${basename(file, EXTENSION)}.gen.ts`)
  const bad = (complaint: string): CompiledFile => {
    return { file, target, document: undefined, code: undefined, complaints: [`${shown}: ${complaint}`] }
  }
  if (!file.endsWith(EXTENSION)) return bad(`found another ending, expected ${EXTENSION}`)
  const text = await readText(file)
  if (text === undefined) return bad('found no file that can be read, expected a document')
  const bound = { modules: boundModules(text), folder, targets: referredKinds(text) }
  const { lookup, unread } = await readBoundKinds(bound)
  const { document, diagnostics, code } = compile(text, {
    source: basename(file),
    kit: options.kit ?? kitFor(outFolder, options.root),
    specifier: (module) => (isPath(module) ? from(outFolder, resolve(folder, module)) : module),
    lookup: (kind) => options.crds?.(kind) ?? lookup(kind),
    ...(options.boilerplate === undefined ? {} : { boilerplate: options.boilerplate }),
  })
  const complaints = [
    ...unread.map(
      ({ module, reason }) => `${shown}: note: fields of the kinds in ${module} are not checked: ${reason}`,
    ),
    ...diagnostics.map((diagnostic) => formatDiagnostic(shown, text, diagnostic)),
  ]
  return { file, target, document, code, complaints }
}

/** The text of a file; undefined when it cannot be read. */
export async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch {
    return undefined
  }
}

const PUBLISHED_KIT = 'pawl/kit'

function kitFor(folder: string, root: string): string {
  const place = relative(root, folder)
  const isInside = !isAbsolute(place) && ['workflows', 'test'].includes(place.split(sep)[0] ?? '')
  return isInside ? from(folder, join(root, 'workflows/kit/index.ts')) : PUBLISHED_KIT
}

/** The specifier by which a module in `folder` imports a file. */
function from(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join('/')
  return path.startsWith('.') ? path : `./${path}`
}
