// `pawl gen types`: TypeScript types of the kinds in a file of CustomResourceDefinitions.

import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

import { compareFiles, writeFiles } from './output.ts'
import { crdModule } from './crd-types/crd-module.ts'
import { problemText } from './crd-types/problems.ts'

export interface GenTypesOptions {
  /** The file of definitions, YAML or JSON. */
  readonly crd: string
  /** The module to write. Undefined: standard output. */
  readonly out: string | undefined
  /** The version of each kind. Undefined: all served versions. */
  readonly version: string | undefined
  /** True: only compare. Needs `out`. */
  readonly check: boolean
  /** Prints the module without `out`, otherwise the names of written files. */
  readonly print: (text: string) => void
  /** Prints a line about an error, or about a kind that lacks the version. */
  readonly complain: (line: string) => void
}

/** @returns the exit code: 0 on success, 1 when a check finds a stale module, 2 for wrong input. */
export async function genTypes({ crd, out, version, check, print, complain }: GenTypesOptions): Promise<0 | 1 | 2> {
  const source = await readSource(crd)
  if ('problem' in source) {
    complain(`${crd}: ${source.problem}`)
    return 2
  }
  const module = crdModule(source.text, { file: basename(crd), version })
  if ('problems' in module) {
    for (const problem of module.problems) complain(problemText(crd, problem))
    return 2
  }
  const lacking = version === undefined ? 'served version' : `version ${version}`
  for (const kind of module.skipped) complain(`${crd}: skipped ${kind}, which has no ${lacking}`)
  if (out === undefined) {
    print(module.text)
    return 0
  }
  return await writeModule({ text: module.text, out, check, print })
}

async function writeModule({
  text,
  out,
  check,
  print,
}: Pick<GenTypesOptions, 'check' | 'print'> & { readonly text: string; readonly out: string }): Promise<0 | 1> {
  const folder = dirname(out)
  const files = new Map([[basename(out), text]])
  const differences = await compareFiles(folder, files, [])
  for (const { state, detail } of differences) print(check ? `${state}: ${out}: ${detail}\n` : `wrote ${out}\n`)
  if (check) return differences.length > 0 ? 1 : 0
  await writeFiles(folder, files, differences)
  return 0
}

async function readSource(path: string): Promise<{ readonly text: string } | { readonly problem: string }> {
  try {
    return { text: await readFile(path, 'utf8') }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return { problem: `cannot read the file (${code})` }
  }
}
