// Reads files of packed archives (tar, gzipped or not) in the operator's folder.
//
//   P1. An archive is read through once for each version of the file, for all callers, one archive at a time. The index and small files are cached,
//       within limits.
//   P2. A caller waits only a few seconds, as for a registry (registry-cache.ts R1): reading continues without it, and the result is in the cache
//       when it asks again.

import { open, type FileHandle } from 'node:fs/promises'
import { retryableFailure } from '../../kube/errors.ts'
import { unlessAborted } from '../deploy/target/shared-work.ts'
import { BlueprintError } from '../render/render-errors.ts'
import { versionOf, type FileVersion } from './registry-folder.ts'
import { readTar, type TarFile, type TarLimits, type TarRead } from './tar-entries.ts'

export interface PackedLimits extends TarLimits {
  /** The number of cached archives. */
  readonly archives: number
  /** Cached bytes per archive. */
  readonly keptBytes: number
  /** Files up to this size are cached when the archive is indexed. */
  readonly smallBytes: number
  readonly waitMs: number
  readonly passMs: number
}

const MIB = 1024 * 1024
export const PACKED_LIMITS: PackedLimits = {
  bytes: 1024 * MIB,
  entries: 10_000,
  ratio: 200,
  free: 16 * MIB,
  archives: 4,
  keptBytes: 16 * MIB,
  smallBytes: 256 * 1024,
  waitMs: 5000,
  passMs: 60_000,
}
const MAX_PATH_LENGTH = 256
const GZIP = Buffer.from([0x1f, 0x8b])

interface Archive {
  readonly version: FileVersion
  readonly title: string
}

/** The index of one version of an archive, and its cached files. */
interface ArchiveIndex {
  readonly files: Map<string, TarFile>
  /** In the order of the last use. */
  readonly cached: Map<string, Buffer>
}

export class PackedArchives {
  readonly #limits: PackedLimits
  /** By version, in the order of the last use. */
  readonly #indexes = new Map<string, Promise<ArchiveIndex>>()
  readonly #reading = new Map<string, Promise<Buffer>>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(limits: PackedLimits = PACKED_LIMITS) {
    this.#limits = limits
  }

  /**
   * @param most limit in bytes.
   * @returns undefined if the archive has no such file.
   * @throws BlueprintError for an invalid or too large archive; retryable `RegistryUnavailable` when reading is slow.
   */
  async read(archive: Archive, path: string, most: number): Promise<Buffer | undefined> {
    const { title } = archive
    const index = await this.#withDeadline(this.#indexOf(archive), title)
    const file = index.files.get(path)
    if (file === undefined) return undefined
    if (file.size > most) throw invalid(`${title}: ${path}: found ${file.size} bytes; expected at most ${most}`)
    const content = index.cached.get(path) ?? (await this.#withDeadline(this.#content(archive, index, file), title))
    this.#cache(index, path, content)
    return content
  }

  #indexOf(archive: Archive): Promise<ArchiveIndex> {
    const { key } = archive.version
    const index = this.#indexes.get(key) ?? this.#enqueue(() => this.#buildIndex(archive))
    this.#indexes.delete(key)
    this.#indexes.set(key, index)
    // A failed read is repeated.
    index.catch(() => {
      if (this.#indexes.get(key) === index) this.#indexes.delete(key)
    })
    for (const oldest of this.#indexes.keys()) {
      if (this.#indexes.size <= this.#limits.archives) break
      this.#indexes.delete(oldest)
    }
    return index
  }

  async #buildIndex(archive: Archive): Promise<ArchiveIndex> {
    const index: ArchiveIndex = { files: new Map(), cached: new Map() }
    let room = this.#limits.keptBytes
    await this.#pass(archive, {
      isRequested: (file) => {
        if (file.path.length > MAX_PATH_LENGTH) return false
        if (index.files.has(file.path)) throw invalid(`${archive.title}: ${file.path}: found twice; expected once`)
        index.files.set(file.path, file)
        const isKept = file.size <= Math.min(room, this.#limits.smallBytes)
        if (isKept) room -= file.size
        return isKept
      },
      onContent: ({ path }, content) => index.cached.set(path, content),
    })
    return index
  }

  #content(archive: Archive, index: ArchiveIndex, wanted: TarFile): Promise<Buffer> {
    const key = JSON.stringify([archive.version.key, wanted.path])
    const reading = this.#reading.get(key) ?? this.#enqueue(() => this.#readFile(archive, index, wanted))
    this.#reading.set(key, reading)
    const forget = () => this.#reading.delete(key)
    reading.then(forget, forget)
    return reading
  }

  async #readFile(archive: Archive, index: ArchiveIndex, wanted: TarFile): Promise<Buffer> {
    let found: Buffer | undefined
    await this.#pass(archive, {
      isRequested: ({ at }) => at === wanted.at,
      onContent: (_, content) => (found = content),
      isDone: () => found !== undefined,
    })
    if (found === undefined) throw changed(archive.title)
    this.#cache(index, wanted.path, found)
    return found
  }

  async #pass({ version, title }: Archive, how: Pick<TarRead, 'isRequested' | 'onContent' | 'isDone'>): Promise<void> {
    const file = await open(version.place)
    const limit = AbortSignal.timeout(this.#limits.passMs)
    try {
      if (versionOf(version.place, await file.stat()).key !== version.key) throw changed(title)
      const isGzipped = await beginsWith(file, GZIP)
      const packed = file.createReadStream({ start: 0, autoClose: false })
      const source = { title, isGzipped, packedBytes: version.bytes }
      await readTar(packed, { ...source, ...how, limits: this.#limits, signal: limit })
    } catch (error) {
      throw limit.aborted ? tooSlow(title, this.#limits.passMs) : error
    } finally {
      await file.close()
    }
  }

  /** Implements P1. */
  async #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work)
    this.#last = mine.catch(() => undefined)
    return await mine
  }

  /** Implements P2. */
  async #withDeadline<T>(work: Promise<T>, title: string): Promise<T> {
    const deadline = AbortSignal.timeout(this.#limits.waitMs)
    try {
      return await unlessAborted(work, deadline)
    } catch (error) {
      throw error === deadline.reason ? tooSlow(title, this.#limits.waitMs) : error
    }
  }

  #cache({ cached }: ArchiveIndex, path: string, content: Buffer): void {
    cached.delete(path)
    cached.set(path, content)
    let bytes = 0
    for (const one of cached.values()) bytes += one.length
    for (const [oldest, { length }] of cached) {
      if (bytes <= this.#limits.keptBytes) break
      cached.delete(oldest)
      bytes -= length
    }
  }
}

async function beginsWith(file: FileHandle, magic: Buffer): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0)
  return buffer.equals(magic)
}

function tooSlow(title: string, ms: number): Error {
  return retryableFailure('RegistryUnavailable', `${title}: not read after ${ms / 1000} s; Pawl retries`)
}

function changed(title: string): Error {
  return retryableFailure('RegistryUnavailable', `${title}: changed while it was read; Pawl retries`)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
