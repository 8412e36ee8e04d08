// `pawl gen FILES`: compiles `.cm` documents to the modules of controllers.
//
//   C1. `pawl gen` writes no module when one document has an error.
//   C2. Standard output has modules only with `--print`. Errors and warnings go to standard error.

import { basename, dirname, join, resolve } from 'node:path'
import { structuredPatch } from 'diff'
import { type CompiledFile, compileFile, readText } from './controller/controller-files.ts'
import { crdKinds } from './controller/kind-lookup.ts'
import { compareFiles, writeFiles } from './output.ts'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { sandboxProblems, findUnavailableNames } from '../server/sandbox-check.ts'

export interface GenControllersOptions {
  /** The checkout; files in it import its kit. */
  readonly root: string
  readonly files: readonly string[]
  /** `write`: write changed modules; `check`: only report differences; `print`: print the modules; `ast`: print the documents as JSON. */
  readonly mode: 'write' | 'check' | 'print' | 'ast'
  readonly out?: string | undefined
  readonly kit?: string | undefined
  /** A file with CustomResourceDefinitions of kinds outside of the checkout. */
  readonly crd?: string | undefined
  /** A file whose text comes first in each module. */
  readonly boilerplate?: string | undefined
  /** Prints a text that contains its line ends. */
  readonly print: (text: string) => void
  /** Prints a line about an error or a warning. */
  readonly complain: (line: string) => void
}

/** @returns the exit code: 0 on success, 1 when a module is stale, 2 for wrong input. */
export async function genControllers(options: GenControllersOptions): Promise<0 | 1 | 2> {
  const { mode, print, complain } = options
  const compiled = await compileAll(options)
  if (compiled === undefined) return 2
  for (const complaint of compiled.flatMap(({ complaints }) => complaints)) complain(complaint)
  if (mode === 'ast') print(`${JSON.stringify(compiled.flatMap(documentOf), null, 2)}\n`)
  if (compiled.some(({ code }) => code === undefined)) return 2
  if (mode === 'ast') return 0
  if (mode === 'print') {
    print(compiled.map(({ code }) => code ?? '').join('\n'))
    return 0
  }
  const shared = sharedTargets(compiled)
  for (const complaint of shared) complain(complaint)
  if (shared.length > 0) return 2
  const result = await writeOrCheckAll(compiled, options)
  const notes = await Promise.all(
    compiled.map(({ file, target }) => sandboxNotes(target, [dirname(file), dirname(target)])),
  )
  for (const note of new Set(notes.flat())) complain(`warning: ${note}`)
  return result
}

/** Undefined when the file of `crd` or `boilerplate` is wrong. */
async function compileAll(options: GenControllersOptions): Promise<readonly CompiledFile[] | undefined> {
  const { complain } = options
  const texts: (string | undefined)[] = []
  for (const [file, expected] of [
    [options.boilerplate, 'a readable file with the text for the top of each module'],
    [options.crd, 'CustomResourceDefinitions'],
  ] as const) {
    const text = file === undefined ? undefined : await readText(file)
    if (file !== undefined && text === undefined) {
      complain(`${file}: cannot read the file; expected ${expected}`)
      return undefined
    }
    texts.push(text)
  }
  const [boilerplate, definitions] = texts
  const foreign = definitions === undefined ? undefined : crdKinds(definitions, options.crd ?? '')
  if (foreign !== undefined && 'complaints' in foreign) {
    for (const complaint of foreign.complaints) complain(complaint)
    return undefined
  }
  const compiled: CompiledFile[] = []
  for (const file of new Set(options.files))
    compiled.push(await compileFile(file, { ...options, boilerplate, crds: foreign?.lookup }))
  return compiled
}

async function writeOrCheckAll(compiled: readonly CompiledFile[], options: GenControllersOptions): Promise<0 | 1> {
  let result: 0 | 1 = 0
  for (const one of compiled) if ((await writeOrCheck(one, options)) === 'stale') result = 1
  return result
}

/** The differences between a file and its generated text, as a unified diff. */
export function staleText(path: string, found: string | undefined, expected: string): string {
  const lines = found === undefined ? [] : hunksOf(found, expected)
  const shown =
    lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES), `(${lines.length - MOST_LINES} lines more)`] : lines
  return [`--- ${path}`, `+++ ${path} (generated)`, ...shown].join('\n')
}

const MOST_LINES = 200
/** Beyond this the comparison takes seconds. */
const MOST_EDITS = 4000

function hunksOf(found: string, expected: string): readonly string[] {
  const patch = structuredPatch('', '', found, expected, '', '', { context: 3, maxEditLength: MOST_EDITS })
  if (patch === undefined) return [`(more than ${MOST_EDITS} lines differ)`]
  return patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...lines,
  ])
}

async function writeOrCheck(
  { target, code = '' }: CompiledFile,
  { mode, print }: GenControllersOptions,
): Promise<'current' | 'stale'> {
  const [folder, name] = [dirname(target), basename(target)]
  const files = new Map([[name, code]])
  const differences = await compareFiles(folder, files, [])
  if (mode === 'write') {
    await writeFiles(folder, files, differences)
    if (differences.length > 0) print(`wrote ${target}\n`)
    return 'current'
  }
  for (const { state, detail } of differences) {
    print(`${state}: ${target}: ${detail}\n`)
    if (state === 'stale') print(`${staleText(target, await readText(target), code)}\n`)
  }
  return differences.length > 0 ? 'stale' : 'current'
}

function sharedTargets(compiled: readonly CompiledFile[]): string[] {
  return compiled.flatMap(({ file, target }, index) => {
    const first = compiled.findIndex((other) => other.target === target)
    const other = compiled[first]?.file ?? ''
    return first === index
      ? []
      : [
          `${file}: its module ${target} is also the module of ${other}; rename one of them, or move it to another folder`,
        ]
  })
}

function documentOf({ file, document }: CompiledFile): readonly object[] {
  return document === undefined ? [] : [{ file, ...document }]
}

const MODULE = /\.[cm]?[jt]s$/
const TYPESCRIPT = /\.[cm]?ts$/
// Tests run in Node.
const TEST = /\.(test|spec)\.[cm]?[jt]s$/

/**
 * Warnings about modules that use features which the workflow sandbox lacks. It checks the modules of the folders that import the generated module, and
 * their imports. Without these warnings, the first start of a worker would fail.
 *
 * @param target the path of the generated module, which may not exist yet.
 */
export async function sandboxNotes(target: string, folders: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all([...new Set(folders.map((folder) => resolve(folder)))].map(modulesIn))
  const users = found.flat().filter((file) => isUserOf(file, resolve(target)))
  return sandboxProblems(users)
}

async function modulesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    // The output folder may not exist yet.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  })
  return names
    .filter((name) => MODULE.test(name) && !TEST.test(name))
    .sort()
    .map((name) => join(folder, name))
}

/** Whether the file imports values of the generated module. */
function isUserOf(file: string, target: string): boolean {
  const text = readFileSync(file, 'utf8')
  if (file === target || !text.includes(basename(target))) return false
  const imports = findUnavailableNames(text, TYPESCRIPT.test(file))?.imports ?? []
  return imports.some((source) => source.startsWith('.') && resolve(dirname(file), source) === target)
}
