// Tells when the code of controllers changes. Folders are watched, not files: editors put a new file in place of the old one.

import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readFile } from 'node:fs/promises'

export interface CodeWatch {
  readonly close: () => void
}

// An editor that saves writes several times; a tool that generates writes several files.
const QUIET_MS = 100

/**
 * Watches the modules and what they import.
 *
 * @param changed told once for all changes that come together, with the name of one file; the next is told when it has ended.
 */
export async function watchCode(
  entries: readonly string[],
  changed: (file: string) => Promise<void>,
): Promise<CodeWatch> {
  const watchers = new Map<string, FSWatcher>()
  let files = await codeFiles(entries)
  let timer: NodeJS.Timeout | undefined
  let running = Promise.resolve()

  function follow(): void {
    const folders = new Set([...files].map((file) => dirname(file)))
    for (const [folder, watcher] of watchers) {
      if (folders.has(folder)) continue
      watcher.close()
      watchers.delete(folder)
    }
    for (const folder of folders) if (!watchers.has(folder)) open(folder)
  }

  function open(folder: string): void {
    try {
      const watcher = watch(folder, (_, name) => {
        if (name !== null && files.has(join(folder, name))) soon(name)
      })
      // A folder that goes takes its watch along; what imports from it has changed as well.
      watcher.on('error', () => watchers.delete(folder))
      watchers.set(folder, watcher)
    } catch {
      // It is not there: an import that leads nowhere. The module that has it is watched.
    }
  }

  function soon(file: string): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      running = running.then(async () => {
        files = await codeFiles(entries)
        follow()
        await changed(basename(file))
      })
    }, QUIET_MS)
  }

  follow()
  return {
    close() {
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
    },
  }
}

// The files that controllers are made of: the modules that are named, and what they import by path. Packages change by being installed; whoever
// does that starts anew.

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
