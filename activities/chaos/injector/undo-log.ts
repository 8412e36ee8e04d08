// The undo log on disk: written before the first command is executed, so that a later process can clean up after a
// killed injector.
//
// W1. An entry is complete or missing: it is written to a temporary file, flushed, and renamed.
// W2. An entry is removed after all of its commands were undone, and not before.
// W3. Only entries of injectors that have ended may be undone by other processes.

import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

import type { Command, NetworkRef, ProcessRef } from '../../../workflows/chaos/injector/command.ts'
import { isGone } from './processes.ts'

export interface UndoEntry {
  readonly version: 1
  /** The key of the entry: the same for the same injection by the same pod. */
  readonly key: string
  /** For messages, such as `network-disruption of app`. */
  readonly what: string
  /** The boot in which the entry was written: a reboot removes every effect. */
  readonly bootId: string
  readonly owner: ProcessRef & { /** Name of the chaos pod; empty outside of one. */ readonly pod: string }
  readonly network?: NetworkRef
  readonly undo: readonly Command[]
}

/** The key of an injection. */
export function undoKey(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24)
}

export class UndoLog {
  private readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  /** Resolves when the entry survives a crash of the machine. */
  async write(entry: UndoEntry): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    const temporary = join(this.folder, `.${entry.key}.${process.pid}`)
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.writeFile(JSON.stringify(entry))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, this.path(entry.key))
    await this.flush()
  }

  async remove(key: string): Promise<void> {
    await rm(this.path(key), { force: true })
    await this.flush()
  }

  /** All entries, and the paths of unreadable files. */
  async read(): Promise<{ readonly entries: readonly UndoEntry[]; readonly unreadable: readonly string[] }> {
    const entries: UndoEntry[] = []
    const unreadable: string[] = []
    for (const name of (await this.names()).filter((one) => one.endsWith('.json'))) {
      const path = join(this.folder, name)
      const entry = parseEntry(await readFile(path, 'utf8'))
      if (entry === undefined) unreadable.push(path)
      else entries.push(entry)
    }
    return { entries, unreadable }
  }

  private async names(): Promise<readonly string[]> {
    try {
      return (await readdir(this.folder)).sort()
    } catch (error) {
      if (isGone(error)) return []
      throw error
    }
  }

  private path(key: string): string {
    return join(this.folder, `${key}.json`)
  }

  private async flush(): Promise<void> {
    const folder = await open(this.folder, 'r').catch((error: unknown) => {
      if (isGone(error)) return undefined
      throw error
    })
    try {
      await folder?.sync()
    } finally {
      await folder?.close()
    }
  }
}

function parseEntry(text: string): UndoEntry | undefined {
  try {
    const found = JSON.parse(text) as Partial<UndoEntry> | null
    const isEntry = found?.version === 1 && Array.isArray(found.undo) && typeof found.owner?.pid === 'number'
    return isEntry && typeof found.key === 'string' ? (found as UndoEntry) : undefined
  } catch {
    return undefined
  }
}
