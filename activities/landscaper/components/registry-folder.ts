// Files in a folder of the worker's machine. Tenants say which: what they name stays inside of the folder that the operator has given.
//
//   R1. No path leads out of the folder, neither by `..` nor by a link.
//   R2. Only regular files are read, and of each no more than was asked for: a pipe or a device never ends.

import type { Stats } from 'node:fs'
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, posix, sep } from 'node:path'
import { BlueprintError } from '../render/render-errors.ts'

export interface FoundFile {
  /** Inside of the folder, with slashes. */
  readonly path: string
  readonly bytes: number
}

/** One content of a file: another one is written at another time, or is another file. */
export interface FileVersion {
  /** As the file system has it. */
  readonly place: string
  readonly bytes: number
  readonly key: string
}

/** How far a folder is looked through. */
export interface FolderLimits {
  readonly levels: number
  readonly files: number
}

export class RegistryFolder {
  /** As the file system has it. */
  readonly #root: string

  private constructor(root: string) {
    this.#root = root
  }

  /**
   * @param root as the operator gave it.
   * @throws BlueprintError `NotSupported` when there is no such folder.
   */
  static async open(root: string): Promise<RegistryFolder> {
    const found = await orUndefined(realpath(root))
    if (found !== undefined) return new RegistryFolder(found)
    throw new BlueprintError('NotSupported', `--registry-local: found no folder ${root} on the worker, expected one`)
  }

  /** What lies at a path: R1, R2. Undefined: nothing, or something else. */
  async find(path: string): Promise<'file' | 'folder' | undefined> {
    const place = await this.#placeOf(path)
    const found = place === undefined ? undefined : await orUndefined(stat(place))
    if (found === undefined) return undefined
    return found.isFile() ? 'file' : found.isDirectory() ? 'folder' : undefined
  }

  /** @throws BlueprintError when it is longer than `most` bytes; undefined: there is no such file. */
  async read(path: string, most: number): Promise<Buffer | undefined> {
    const place = await this.#placeOf(path)
    const found = place === undefined ? undefined : await orUndefined(stat(place))
    if (place === undefined || found?.isFile() !== true) return undefined
    if (found.size > most)
      throw invalid(`file ${path} of the registry: found ${found.size} bytes, expected at most ${most}`)
    return await orUndefined(readFile(place))
  }

  /** What file lies at a path now: R1, R2. Undefined: none. */
  async version(path: string): Promise<FileVersion | undefined> {
    const place = await this.#placeOf(path)
    const found = place === undefined ? undefined : await orUndefined(stat(place))
    if (place === undefined || found?.isFile() !== true) return undefined
    return versionOf(place, found)
  }

  /**
   * The files below a folder, by path; what is neither a file nor a folder is left out.
   *
   * @param enters whether a folder of that name is looked into.
   * @throws BlueprintError when there are more than the limits allow.
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
          throw invalid(`folder ${path} of the registry: found more than ${limits.files} files, expected fewer`)
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

  /** R1. Undefined: there is nothing inside of the folder. */
  async #placeOf(path: string): Promise<string | undefined> {
    // What a tenant writes is below the root, whatever it begins with.
    const named = join(this.#root, posix.join('/', path))
    const place = await orUndefined(realpath(named))
    return place !== undefined && (place === this.#root || place.startsWith(this.#root + sep)) ? place : undefined
  }
}

/** @param place as the file system has it. */
export function versionOf(place: string, { ino, size, mtimeMs, ctimeMs }: Stats): FileVersion {
  return { place, bytes: size, key: JSON.stringify([place, ino, size, mtimeMs, ctimeMs]) }
}

// What cannot be found, or not looked at, is not there for whoever asks. ENAMETOOLONG and a zero byte are names that nothing has.
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
