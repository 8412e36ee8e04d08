// The files of a blueprint that comes as a tar archive, gzipped or not. Source: spec/landscaper.md 3.1; POSIX.1-2017, pax, "ustar Interchange Format".
//
//   B1. Little that is packed may become very much: unpacked bytes, files and levels are bounded, and nothing is written anywhere.
//   B2. Nothing in it leads out of it: links and devices are refused, and so are paths that go up.

import { gunzipSync } from 'node:zlib'
import { BlueprintError } from './blueprint-error.ts'
import { MOST_BYTES, MOST_LEVELS, type BlueprintFiles } from './blueprint-files.ts'
import { contentOf, type FileContent } from './file-content.ts'

/** B1. Beside the files there is a header for each. */
export const MOST_ARCHIVE_BYTES = 2 * MOST_BYTES
export const MOST_FILES = 5000
const BLOCK = 512
const GZIP = Buffer.from([0x1f, 0x8b])
const CHECKSUM = { at: 148, size: 8 }
const SPACE = 0x20

/**
 * @param most bytes of the archive when it is unpacked.
 * @returns undefined: it has more than `most`, where that is less than it may have.
 * @throws BlueprintError in words that go on "NAME: ".
 */
export function unpackArchive(packed: Buffer, most = MOST_ARCHIVE_BYTES): BlueprintFiles | undefined {
  const archive = unzipped(packed, most)
  return archive === undefined ? undefined : filesIn(archive)
}

function unzipped(packed: Buffer, most: number): Buffer | undefined {
  if (!packed.subarray(0, GZIP.length).equals(GZIP)) return packed
  try {
    return gunzipSync(packed, { maxOutputLength: most })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ERR_BUFFER_TOO_LARGE' && most < MOST_ARCHIVE_BYTES) return undefined
    if (code === 'ERR_BUFFER_TOO_LARGE') throw invalid(`found more than ${most} bytes when unpacked, expected fewer`)
    throw invalid(`found gzip that cannot be unpacked (${code}), expected a tar archive, gzipped or not`)
  }
}

interface Header {
  readonly path: string
  readonly size: number
  readonly type: string
}

function filesIn(archive: Buffer): BlueprintFiles {
  const files = new Map<string, FileContent>()
  let [bytes, name] = [0, undefined as string | undefined]
  for (let at = 0; at + BLOCK <= archive.length;) {
    const header = readHeader(archive.subarray(at, at + BLOCK))
    if (header === undefined) break
    const content = contentAt(archive, at + BLOCK, header)
    at += BLOCK + Math.ceil(header.size / BLOCK) * BLOCK
    // What belongs to the next entry: a name that is too long for a header.
    if (header.type === 'x' || header.type === 'L') {
      name = header.type === 'L' ? textOf(content) : (paxPath(content) ?? name)
      continue
    }
    const path = name ?? header.path
    name = undefined
    if (header.type === 'g' || header.type === '5') continue
    if (header.type !== '0')
      throw invalid(`${shown(path)}: found an entry of type ${header.type}, expected a file or a directory`)
    bytes += path.length + content.length
    files.set(pathIn(path), contentOf(content))
    checkSize(bytes, files.size)
  }
  return Object.fromEntries(files)
}

function checkSize(bytes: number, files: number): void {
  if (bytes > MOST_BYTES) throw invalid(`found more than ${MOST_BYTES} bytes in its files, expected fewer`)
  if (files > MOST_FILES) throw invalid(`found more than ${MOST_FILES} files, expected fewer`)
}

/** Undefined: the archive ends here. */
function readHeader(block: Buffer): Header | undefined {
  if (block.every((byte) => byte === 0)) return undefined
  if (octal(block, CHECKSUM.at, CHECKSUM.size) !== checksumOf(block))
    throw invalid('found something else, expected a tar archive, gzipped or not')
  const isUstar = block.toString('latin1', 257, 262) === 'ustar'
  const prefix = isUstar ? textOf(block.subarray(345, 500)) : ''
  const name = textOf(block.subarray(0, 100))
  const type = String.fromCharCode(block[156] ?? 0)
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    size: octal(block, 124, 12),
    type: type === '\0' || type === '7' ? '0' : type,
  }
}

// The bytes of the header, where those of the sum itself count as spaces.
function checksumOf(block: Buffer): number {
  const own = block.subarray(CHECKSUM.at, CHECKSUM.at + CHECKSUM.size)
  return sumOf(block) - sumOf(own) + own.length * SPACE
}

function sumOf(bytes: Buffer): number {
  return bytes.reduce((sum, byte) => sum + byte, 0)
}

function octal(block: Buffer, at: number, size: number): number {
  const text = textOf(block.subarray(at, at + size)).trim()
  // Sizes over 8 GiB are written otherwise.
  return /^[0-7]*$/.test(text) ? Number.parseInt(text === '' ? '0' : text, 8) : Infinity
}

function contentAt(archive: Buffer, at: number, { path, size }: Header): Buffer {
  if (at + size > archive.length) throw invalid(`${shown(path)}: found its end missing, expected a whole archive`)
  return archive.subarray(at, at + size)
}

function textOf(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end === -1 ? bytes.length : end)
}

/** Of lines such as `30 path=templates/items.yaml`. */
function paxPath(content: Buffer): string | undefined {
  return /^\d+ path=(.*)$/m.exec(content.toString('utf8'))?.[1]
}

/** B2 */
function pathIn(path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..'))
    throw invalid(`${shown(path)}: found a path that leaves the blueprint, expected a name of a file`)
  if (segments.length > MOST_LEVELS) throw invalid(`${shown(path)}: nested deeper than ${MOST_LEVELS} directories`)
  return segments.join('/')
}

const SHOWN = 100

function shown(path: string): string {
  return JSON.stringify(path.length > SHOWN ? `${path.slice(0, SHOWN)}...` : path)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
