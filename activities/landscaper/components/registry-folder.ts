// Reads files in the operator's folder for local repositories. Tenants write the paths, so access is confined to the folder.
//
//   R1. No path leads out of the folder, neither by `..` nor by a symbolic link.
//   R2. Only regular files are read, and each only up to the given size, because a pipe or a device never ends.

import type { Stats } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, posix, sep } from 'node:path'
import { BlueprintError } from '../render/render-errors.ts'

export interface FoundFile {
  /** Relative to the folder, with slashes. */
  readonly path: string
  readonly bytes: number
}

/** Identifies one content of a file: the key changes when the file is written or replaced. */
export interface FileVersion {
  /** The real path in the file system. */
  readonly place: string
  readonly bytes: number
  readonly key: string
}

/** Limits for listing a folder. */
export interface FolderLimits {
  readonly levels: number
  readonly files: number
}

export class RegistryFolder {
  /** The real path in the file system. */
  readonly #root: string

  private constructor(root: string) {
    this.#root = root
  }

  /**
   * @param root the path from the operator's flag.
   * @throws BlueprintError `NotSupported` when the folder does not exist.
   */
  static async open(root: string): Promise<RegistryFolder> {
    const found = await orUndefined(realpath(root))
    if (found !== undefined) return new RegistryFolder(found)
    throw new BlueprintError(
      'NotSupported',
      `--registry-local: folder "${root}" does not exist on the worker; create it`,
    )
  }

  /** The kind of the entry at a path (R1, R2); undefined for anything else. */
  async find(path: string): Promise<'file' | 'folder' | undefined> {
    const place = await this.#placeOf(path)
    const entry = place === undefined ? undefined : await orUndefined(stat(place))
    if (entry?.isFile() === true) return 'file'
    return entry?.isDirectory() === true ? 'folder' : undefined
  }

  /** @throws BlueprintError when the file exceeds `most` bytes; undefined if the file does not exist. */
  async read(path: string, most: number): Promise<Buffer | undefined> {
    const place = await this.#placeOf(path)
    const found = place === undefined ? undefined : await orUndefined(stat(place))
    if (place === undefined || found?.isFile() !== true) return undefined
    if (found.size > most)
      throw invalid(`file ${path} of the registry: found ${found.size} bytes; expected at most ${most}`)
    return await orUndefined(readFile(place))
  }

  /** The current version of the file at a path (R1, R2); undefined if the file does not exist. */
  async version(path: string): Promise<FileVersion | undefined> {
    const place = await this.#placeOf(path)
    const found = place === undefined ? undefined : await orUndefined(stat(place))
    if (place === undefined || found?.isFile() !== true) return undefined
    return versionOf(place, found)
  }

  /**
   * Lists the files below a folder, sorted by path; entries that are neither files nor folders are left out.
   *
   * @param enters whether to list a folder with this name.
   * @throws BlueprintError when the limits are exceeded.
   */
  async list(path: string, limits: FolderLimits, enters: (name: string) => boolean): Promise<readonly FoundFile[]> {
    const files: FoundFile[] = []
    const open: { readonly path: string; readonly level: number }[] = [{ path, level: 0 }]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { level } = next
      if (level > limits.levels)
        throw invalid(`folder ${next.path} of the registry: nested deeper than ${limits.levels} folders`)
      for (const entry of await this.#entries(next.path)) {
        const inner = posix.join(next.path, entry.name)
        if (entry.isDirectory() && enters(entry.name)) open.push({ path: inner, level: level + 1 })
        if (!entry.isFile()) continue
        const bytes = (await this.#sizeOf(inner)) ?? 0
        files.push({ path: inner, bytes })
        if (files.length > limits.files)
          throw invalid(`folder ${path} of the registry: found more than ${limits.files} files; expected fewer`)
      }
    }
    return files.sort((left, right) => (left.path < right.path ? -1 : 1))
  }

  async #entries(path: string) {
    const place = await this.#placeOf(path)
    return place === undefined ? [] : ((await orUndefined(readdir(place, { withFileTypes: true }))) ?? [])
  }

  async #sizeOf(path: string): Promise<number | undefined> {
    const place = await this.#placeOf(path)
    return place === undefined ? undefined : (await orUndefined(stat(place)))?.size
  }

  /** Implements R1. Undefined if the path does not exist in the folder. */
  async #placeOf(path: string): Promise<string | undefined> {
    // An absolute path of a tenant is relative to the root.
    const named = join(this.#root, posix.join('/', path))
    const place = await orUndefined(realpath(named))
    return place !== undefined && (place === this.#root || place.startsWith(this.#root + sep)) ? place : undefined
  }
}

/** @param place the real path in the file system. */
export function versionOf(place: string, { ino, size, mtimeMs, ctimeMs }: Stats): FileVersion {
  return { place, bytes: size, key: JSON.stringify([place, ino, size, mtimeMs, ctimeMs]) }
}

// Entries that do not exist or cannot be accessed count as absent. ENAMETOOLONG and ERR_INVALID_ARG_VALUE (a zero byte) are impossible names.
const ABSENT: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE']

async function orUndefined<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Error && 'code' in error && ABSENT.includes(error.code)) return undefined
    throw error
  }
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
