// `pawl gen types`: TypeScript types of the kinds that a file of CustomResourceDefinitions defines.

import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

import { compareFiles, writeFiles } from './output.ts'
import { crdModule } from './crd-types/crd-module.ts'
import { problemText } from './crd-types/problems.ts'

export interface GenTypesOptions {
  /** The file of definitions, YAML or JSON. */
  readonly crd: string
  /** The module to write; undefined for the standard output. */
  readonly out: string | undefined
  /** Only this version of each kind; undefined for all that are served. */
  readonly version: string | undefined
  /** Change nothing. Needs `out`. */
  readonly check: boolean
  /** Takes the module when there is no `out`, and lines that say what was done. */
  readonly print: (text: string) => void
  /** Takes lines about what is wrong, or left out. */
  readonly complain: (line: string) => void
}

/** Generates, or checks. Returns the exit code: 0 when all is well, 1 when a check found a stale module, 2 for bad input. */
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
  const lacking = version === undefined ? 'version that is served' : `version ${version}`
  for (const kind of module.skipped) complain(`${crd}: left out ${kind}, which has no ${lacking}`)
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
    return { problem: `found ${code}, expected a file that can be read` }
  }
}
