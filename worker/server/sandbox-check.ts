// What modules of controllers use and the sandbox of workflows does not have, told with file and line before a worker bundles them: there it is
// an error without a place, or a name that is not defined in the middle of a pass. Packages are not looked into: they ask before they use.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, resolve } from 'node:path'

import { type SandboxWord, sandboxWords } from './sandbox-words.ts'

const INSTEAD: Readonly<Record<string, string>> = {
  fetch: 'call it in an activity of the controller’s own (docs/activities.md)',
  process: 'ask for settings in the object, or read them in an activity of the controller’s own (docs/activities.md)',
  setInterval: 'come again with later(ms) or again(ms)',
  setImmediate: 'come again with again(0)',
  performance: 'take pass.now',
  crypto: 'take contentHash, or an activity of the controller’s own (docs/activities.md)',
  Buffer: 'take TextEncoder and TextDecoder, or an activity of the controller’s own (docs/activities.md)',
  require: 'import it',
}
const ACTIVITY = 'use it in an activity of the controller’s own (docs/activities.md)'

/** One line for each place, in the order of the files; nothing when all is there. @param files absolute paths. */
export function sandboxProblems(files: readonly string[]): readonly string[] {
  const seen = new Set(files)
  const problems: string[] = []
  // It grows while it is gone through.
  for (const file of seen) {
    const words = sandboxWords(readFileSync(file, 'utf8'), TYPESCRIPT.test(file))
    if (words === undefined) continue
    problems.push(...words.missing.map((word) => problemOf(file, word)))
    for (const path of words.imports.flatMap((source) => fileOf(file, source))) seen.add(path)
  }
  return problems
}

const TYPESCRIPT = /\.[cm]?ts$/
const CODE = new Set(['.ts', '.mts', '.js', '.mjs'])

function problemOf(file: string, { what, name, line, column }: SandboxWord): string {
  const found = what === 'import' ? `imports ${name}` : `uses ${name}`
  const instead = INSTEAD[name.replace(/^node:/, '')] ?? ACTIVITY
  return `${file}:${line}:${column} ${found}, which passes do not have: ${instead}`
}

/** Only files of the same project: a relative path with its ending, as Node takes it. */
function fileOf(from: string, source: string): readonly string[] {
  if (!/^\.{1,2}\//.test(source)) return []
  const path = resolve(dirname(from), source)
  return CODE.has(extname(path)) && existsSync(path) ? [path] : []
}
