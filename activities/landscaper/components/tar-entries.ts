// Reads a tar archive, gzipped or not, as a stream: it writes nothing to disk, and keeps only requested files in memory.
// render/blueprint/blueprint-files.ts reads the small archives of blueprints.
//
//   P1. A small archive may unpack to a very large one: unpacked bytes, the compression ratio and entries are limited.
//   P2. Links, devices and paths that lead out of the archive are refused.

import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract, type Extract, type Header } from 'tar-stream'
import { BlueprintError } from '../render/render-errors.ts'

export interface TarLimits {
  /** Limit for unpacked bytes. */
  readonly bytes: number
  readonly entries: number
  /** Limit for the ratio of unpacked to packed bytes; `free` unpacked bytes are always allowed. */
  readonly ratio: number
  readonly free: number
}

export interface TarFile {
  /** Without a leading `./`. */
  readonly path: string
  readonly size: number
  /** The offset of the content in the unpacked archive. */
  readonly at: number
}

export interface TarRead {
  readonly packedBytes: number
  readonly isGzipped: boolean
  readonly limits: TarLimits
  readonly signal: AbortSignal
  /** The name of the archive, for messages. */
  readonly title: string
  /** Whether to read the content of this file. */
  readonly isRequested: (file: TarFile) => boolean
  readonly onContent: (file: TarFile, content: Buffer) => void
  /** Whether to skip the rest of the archive. */
  readonly isDone?: () => boolean
}

interface Entry extends AsyncIterable<unknown> {
  readonly header: Header
  resume(): unknown
}

const FILES: readonly unknown[] = ['file', 'contiguous-file']
const SHOWN = 100

/** @throws BlueprintError for an invalid archive, and by P1 and P2; errors of the disk; the signal's reason. */
export async function readTar(packed: Readable, pass: TarRead): Promise<void> {
  const unpack = extract()
  const flow = flowOf(packed, unpack, pass)
  // The iteration below reports this error, too.
  flow.catch(() => undefined)
  try {
    if (await readEntries(unpack, pass)) await flow
  } catch (error) {
    throw pass.signal.aborted || !isOfContent(error) ? error : noArchive(pass.title, error)
  } finally {
    packed.destroy()
    unpack.destroy()
  }
}

/** @returns whether all entries were read. */
async function readEntries(unpack: AsyncIterable<Entry>, pass: TarRead): Promise<boolean> {
  let entries = 0
  for await (const entry of unpack) {
    if (++entries > pass.limits.entries)
      throw invalid(`${pass.title}: found more than ${pass.limits.entries} entries; expected fewer`)
    const file = fileOf(entry, pass.title)
    if (file !== undefined && pass.isRequested(file)) pass.onContent(file, await contentOf(entry))
    else entry.resume()
    if (pass.isDone?.() === true) return false
  }
  return true
}

/** Implements P2. Undefined for a folder. */
function fileOf({ header }: Entry, title: string): TarFile | undefined {
  const { name, size } = header
  // Null for a type that the library does not know, in spite of its declared type.
  const type = header.type as Header['type'] | null
  const segments = name.split('/').filter((segment) => segment !== '.')
  if (name.startsWith('/') || segments.includes('..'))
    throw invalid(`${title}: ${shown(name)}: found a path that leaves the archive; expected one inside`)
  if (type === 'directory') return undefined
  if (!FILES.includes(type))
    throw invalid(`${title}: ${shown(name)}: found an entry of type ${type ?? 'unknown'}; expected a file or a folder`)
  // The library sets this field without declaring it.
  const { byteOffset: at } = header as typeof header & { readonly byteOffset: number }
  return { path: segments.join('/'), size, at }
}

async function contentOf(entry: Entry): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of entry) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Implements P1. */
async function flowOf(packed: Readable, unpack: Extract, pass: TarRead): Promise<void> {
  const { limits, packedBytes, signal, title } = pass
  const ratioed = Math.max(limits.free, packedBytes * limits.ratio)
  const most = pass.isGzipped ? Math.min(limits.bytes, ratioed) : limits.bytes
  const excess = () => invalid(`${title}: found more than ${most} bytes in it; expected fewer`)
  const meter = (chunks: AsyncIterable<Buffer>) => bounded(chunks, most, excess)
  if (pass.isGzipped) await pipeline(packed, createGunzip(), meter, unpack, { signal })
  else await pipeline(packed, meter, unpack, { signal })
}

async function* bounded(chunks: AsyncIterable<Buffer>, most: number, excess: () => Error): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > most) throw excess()
    yield chunk
  }
}

// Errors of gunzip have a code that starts with Z_, errors of the tar library have none, errors of the disk have a system code.
function isOfContent(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof BlueprintError || error instanceof TypeError) return false
  return !('code' in error) || String(error.code).startsWith('Z_')
}

function noArchive(title: string, cause: Error): BlueprintError {
  const why = cause.message.toLowerCase().slice(0, SHOWN)
  return invalid(
    `${title}: found something that cannot be unpacked (${why}); expected a whole tar archive, gzipped or not`,
  )
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
