// Reports changes of controllers' code. Folders are watched, not files, because editors replace files.

import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readFile } from 'node:fs/promises'

export interface CodeWatch {
  readonly close: () => void
}

// Editors write a file several times when they save, and generators write several files.
const QUIET_MS = 100

/**
 * Watches the modules and the files that they import.
 *
 * @param changed called once for changes that come together, with the name of one file; the next call waits until it
 * resolves.
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
      // The watch ends with its folder; the module that imports from the folder has changed as well.
      watcher.on('error', () => watchers.delete(folder))
      watchers.set(folder, watcher)
    } catch {
      // The folder does not exist, because an import is wrong. The importing module is watched.
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

// Includes type-only imports: one unnecessary restart is better than a missed one.
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g

/**
 * The absolute paths of the modules and of all files that they import by path; packages are not followed. Unreadable
 * files are included, because they may be created later.
 */
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
