// Compiles `.cm` files: reads a document and the kinds that it binds, and returns the text of its module.

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
import { isPath, readBoundKinds } from './kind-lookup.ts'

export interface ControllerOptions {
  /** The checkout. Files in it import its kit; other files import the published kit. */
  readonly root: string
  /** The name of the document in messages. Default: the path. */
  readonly shownAs?: string | undefined
  /** The output folder. Undefined: the folder of the document. */
  readonly out?: string | undefined
  /** The specifier by which modules import the kit. */
  readonly kit?: string | undefined
  /** Kinds of a file of CustomResourceDefinitions. */
  readonly crds?: KindLookup | undefined
  /** The first text of each module. */
  readonly boilerplate?: string | undefined
}

export interface CompiledFile {
  /** The path of the document. */
  readonly file: string
  /** The path of its module. */
  readonly target: string
  readonly document: Document | undefined
  /** Undefined when the document has errors. */
  readonly code: string | undefined
  /** Errors and warnings, with their places in the document. */
  readonly complaints: readonly string[]
}

const EXTENSION = '.cm'

/** Compiles one document. `complaints` has the errors, also of reading the file. */
export async function compileFile(file: string, options: ControllerOptions): Promise<CompiledFile> {
  const folder = dirname(file)
  const shown = options.shownAs ?? file
  const outFolder = options.out ?? folder
  const target = join(outFolder, `${basename(file, EXTENSION)}.gen.ts`)
  const bad = (complaint: string): CompiledFile => {
    return { file, target, document: undefined, code: undefined, complaints: [`${shown}: ${complaint}`] }
  }
  if (!file.endsWith(EXTENSION)) return bad(`found another file extension; expected ${EXTENSION}`)
  const text = await readText(file)
  if (text === undefined) return bad('cannot read the file')
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
