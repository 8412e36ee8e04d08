// `pawl gen FILES`: the modules of controllers, from their documents.
//
//   C1. Nothing is written while one document of the call is wrong.
//   C2. Modules go to standard output only when asked for; what is wrong goes to standard error.

import { basename, dirname } from 'node:path'

import { structuredPatch } from 'diff'

import { type CompiledFile, compileFile, readText } from './controller/controller-files.ts'
import { crdKinds } from './controller/crd-kinds.ts'
import { sandboxNotes } from './controller/sandbox-notes.ts'
import { compareFiles, writeFiles } from './output.ts'

export interface GenControllersOptions {
  /** The checkout; files in it import its kit. */
  readonly root: string
  readonly files: readonly string[]
  /** `write`: only what differs; `check`: nothing, and say so; `print`: the modules; `ast`: the documents as JSON. */
  readonly mode: 'write' | 'check' | 'print' | 'ast'
  readonly out?: string | undefined
  readonly kit?: string | undefined
  /** A file of CustomResourceDefinitions of kinds that others define. */
  readonly crd?: string | undefined
  /** A file whose text comes first in each module. */
  readonly boilerplate?: string | undefined
  /** Takes whole texts, with their line ends. */
  readonly print: (text: string) => void
  /** Takes lines about what is wrong. */
  readonly complain: (line: string) => void
}

/** Generates, checks or prints. Returns the exit code: 0 when all is well, 1 when something is stale, 2 for bad input. */
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
  const result = await bringAll(compiled, options)
  const notes = await Promise.all(
    compiled.map(({ file, target }) => sandboxNotes(target, [dirname(file), dirname(target)])),
  )
  for (const note of new Set(notes.flat())) complain(`warning: ${note}`)
  return result
}

/** Undefined when a file beside the documents is not what it should be. */
async function compileAll(options: GenControllersOptions): Promise<readonly CompiledFile[] | undefined> {
  const { complain } = options
  const texts: (string | undefined)[] = []
  for (const [file, expected] of [
    [options.boilerplate, 'the text for the top of each module'],
    [options.crd, 'CustomResourceDefinitions'],
  ] as const) {
    const text = file === undefined ? undefined : await readText(file)
    if (file !== undefined && text === undefined) {
      complain(`${file}: found no file that can be read, expected ${expected}`)
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

async function bringAll(compiled: readonly CompiledFile[], options: GenControllersOptions): Promise<0 | 1> {
  let result: 0 | 1 = 0
  for (const found of compiled) if ((await bring(found, options)) === 'stale') result = 1
  return result
}

/** What a check prints of a file that is not what would be generated. */
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

async function bring(
  { target, code = '' }: CompiledFile,
  { mode, print }: GenControllersOptions,
): Promise<'good' | 'stale'> {
  const [folder, name] = [dirname(target), basename(target)]
  const files = new Map([[name, code]])
  const differences = await compareFiles(folder, files, [])
  if (mode === 'write') {
    await writeFiles(folder, files, differences)
    if (differences.length > 0) print(`wrote ${target}\n`)
    return 'good'
  }
  for (const { state, detail } of differences) {
    print(`${state}: ${target}: ${detail}\n`)
    if (state === 'stale') print(`${staleText(target, await readText(target), code)}\n`)
  }
  return differences.length > 0 ? 'stale' : 'good'
}

function sharedTargets(compiled: readonly CompiledFile[]): string[] {
  return compiled.flatMap(({ file, target }, index) => {
    const first = compiled.findIndex((other) => other.target === target)
    const other = compiled[first]?.file ?? ''
    return first === index
      ? []
      : [`${file}: its module would be that of ${other}, ${target}; expected another name or folder`]
  })
}

function documentOf({ file, document }: CompiledFile): readonly object[] {
  return document === undefined ? [] : [{ file, ...document }]
}
