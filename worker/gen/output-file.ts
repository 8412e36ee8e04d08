// Prints, writes or checks one generated file, as the flags of `pawl gen` say.

import { basename, dirname } from 'node:path'

import { staleText } from './controller-modules.ts'
import { readText } from './controller/controller-files.ts'
import { compareFiles, writeFiles } from './output.ts'

export interface OneFileOptions {
  /** The file to write. Undefined: standard output. */
  readonly out: string | undefined
  /** True: only compare. Needs `out`. */
  readonly check: boolean
  /** Prints a text that contains its line ends. */
  readonly print: (text: string) => void
}

/** @returns the exit code: 0, or 1 when a check finds a stale file. */
export async function writeOrCheckFile(text: string, { out, check, print }: OneFileOptions): Promise<0 | 1> {
  if (out === undefined) {
    print(text)
    return 0
  }
  const [folder, files] = [dirname(out), new Map([[basename(out), text]])]
  const [difference] = await compareFiles(folder, files, [])
  if (difference === undefined) return 0
  if (check) {
    print(`${difference.state}: ${out}: ${difference.detail}\n`)
    if (difference.state === 'stale') print(`${staleText(out, await readText(out), text)}\n`)
    return 1
  }
  await writeFiles(folder, files, [difference])
  print(`wrote ${out}\n`)
  return 0
}
