// The files that controllers are made of: the modules that are named, and what they import by path. Packages change by being installed; whoever
// does that starts anew.

import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'

// Also types: what is checked by the editor alone costs one restart too many, and nothing is missed.
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g

/** Absolute paths. What cannot be read is listed all the same: it may come. */
export async function codeFiles(entries: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const open = entries.map((entry) => resolve(entry))
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue
    found.add(file)
    const text = await readFile(file, 'utf8').catch(() => '')
    const folder = dirname(file)
    open.push(...[...text.matchAll(IMPORT)].map(([, path = '']) => resolve(folder, path)))
  }
  return found
}
