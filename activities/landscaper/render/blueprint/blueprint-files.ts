// Reads the files of an inline blueprint: nested maps are directories, texts are files. Source: spec/landscaper.md 1.2 and 3.1.

import { BlueprintError } from '../render-errors.ts'
import { type FileContent, toFileContent } from '../file-content.ts'
import { printPath, typeName } from '../field-reader.ts'
import { YamlError, type YamlPath } from '../../../yaml/read-yaml.ts'
import { gunzipSync } from 'node:zlib'
import { isFields } from '../../../../workflows/kit/index.ts'

const WHERE = 'spec.blueprint.inline.filesystem'
/** Limit for all files together, with their paths. */
export const MAX_BYTES = 8 * 1024 * 1024
/** Limit for nested directories. */
export const MAX_LEVELS = 64

/** Paths have no leading slash, e.g. `templates/items.yaml`. */
export type BlueprintFiles = Readonly<Record<string, FileContent>>

export interface FilesystemData {
  /** @throws YamlError */
  yaml(text: string, place?: string): Promise<unknown>
}

/**
 * Reads the `filesystem` field: a map, or one text with the map as YAML.
 *
 * @throws BlueprintError with the file whose content is neither text nor a directory, or whose path leaves the blueprint.
 */
export async function readInlineFiles(data: FilesystemData, filesystem: unknown): Promise<BlueprintFiles> {
  const root = typeof filesystem === 'string' ? await parseFilesystem(data, filesystem) : filesystem
  if (!isFields(root)) throw problem([], `found ${typeName(root)}; expected a map of files and directories`)
  const files = listFiles(root, [])
  const bytes = files.reduce((sum, [path, content]) => sum + path.length + content.length, 0)
  if (bytes > MAX_BYTES) throw problem([], `found ${bytes} bytes; expected at most ${MAX_BYTES}`)
  return Object.fromEntries(files)
}

async function parseFilesystem(data: FilesystemData, text: string): Promise<unknown> {
  try {
    return await data.yaml(text, 'spec.blueprint.inline.filesystem')
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw problem([], `line ${error.line}, column ${error.column}: ${error.message}`)
  }
}

function listFiles(directory: Readonly<Record<string, unknown>>, parents: YamlPath): (readonly [string, string])[] {
  if (parents.length > MAX_LEVELS) throw problem(parents, `nested deeper than ${MAX_LEVELS} directories`)
  return Object.entries(directory).flatMap(([name, content]) => {
    const path = [...parents, ...segmentsOf(name, parents)]
    if (typeof content === 'string') return [[path.join('/'), content] as const]
    if (isFields(content)) return listFiles(content, path)
    throw problem([...parents, name], `found ${typeName(content)}; expected text (a file) or a map (a directory)`)
  })
}

// A key may be a path: `templates/items.yaml: ...`.
function segmentsOf(name: string, parents: YamlPath): readonly string[] {
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.length > 0 && !segments.includes('..')) return segments
  throw problem([...parents, name], 'found a path that leaves the blueprint; expected a name of a file')
}

function problem(path: YamlPath, text: string): BlueprintError {
  const place = path.length === 0 ? WHERE : `${WHERE}, file ${printPath([path.join('/')])}`
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', `${place}: ${text}`)
}

// Reads the files of a blueprint from a tar archive, gzipped or not. Source: spec/landscaper.md 3.1; POSIX.1-2017, pax, "ustar Interchange Format".
//
//   B1. A small archive may unpack to a very large one: unpacked bytes, files and levels are limited, and nothing is written to disk.
//   B2. Links, devices and paths with `..` are refused.

/** Part of B1. The archive has a header for each file. */
export const MAX_ARCHIVE_BYTES = 2 * MAX_BYTES
export const MAX_FILES = 5000
const BLOCK = 512
const GZIP = Buffer.from([0x1f, 0x8b])
const CHECKSUM = { at: 148, size: 8 }
const SPACE = 0x20

/**
 * @param most limit for the bytes of the unpacked archive.
 * @returns undefined if it exceeds `most`, when that is lower than the general limit.
 * @throws BlueprintError whose message continues "NAME: ".
 */
export function unpackArchive(packed: Buffer, most = MAX_ARCHIVE_BYTES): BlueprintFiles | undefined {
  const archive = unzipped(packed, most)
  return archive === undefined ? undefined : filesIn(archive)
}

function unzipped(packed: Buffer, most: number): Buffer | undefined {
  if (!packed.subarray(0, GZIP.length).equals(GZIP)) return packed
  try {
    return gunzipSync(packed, { maxOutputLength: most })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (code === 'ERR_BUFFER_TOO_LARGE' && most < MAX_ARCHIVE_BYTES) return undefined
    if (code === 'ERR_BUFFER_TOO_LARGE') throw invalid(`found more than ${most} bytes when unpacked; expected fewer`)
    throw invalid(`found gzip that cannot be unpacked (${code}); expected a tar archive, gzipped or not`)
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
    // Such an entry holds the name of the next one, which is too long for a header.
    if (header.type === 'x' || header.type === 'L') {
      name = header.type === 'L' ? textOf(content) : (paxPath(content) ?? name)
      continue
    }
    const path = name ?? header.path
    name = undefined
    if (header.type === 'g' || header.type === '5') continue
    if (header.type !== '0')
      throw invalid(`${shown(path)}: found an entry of type ${header.type}; expected a file or a directory`)
    bytes += path.length + content.length
    files.set(pathIn(path), toFileContent(content))
    checkSize(bytes, files.size)
  }
  return Object.fromEntries(files)
}

function checkSize(bytes: number, files: number): void {
  if (bytes > MAX_BYTES) throw invalid(`found more than ${MAX_BYTES} bytes in its files; expected fewer`)
  if (files > MAX_FILES) throw invalid(`found more than ${MAX_FILES} files; expected fewer`)
}

/** Undefined at the end of the archive. */
function readHeader(block: Buffer): Header | undefined {
  if (block.every((byte) => byte === 0)) return undefined
  if (octal(block, CHECKSUM.at, CHECKSUM.size) !== checksumOf(block))
    throw invalid('found something else; expected a tar archive, gzipped or not')
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

// The sum of the header's bytes, with the bytes of the checksum field counted as spaces.
function checksumOf(block: Buffer): number {
  const own = block.subarray(CHECKSUM.at, CHECKSUM.at + CHECKSUM.size)
  return sumOf(block) - sumOf(own) + own.length * SPACE
}

function sumOf(bytes: Buffer): number {
  return bytes.reduce((sum, byte) => sum + byte, 0)
}

function octal(block: Buffer, at: number, size: number): number {
  const text = textOf(block.subarray(at, at + size)).trim()
  // Sizes over 8 GiB use another encoding.
  return /^[0-7]*$/.test(text) ? Number.parseInt(text === '' ? '0' : text, 8) : Infinity
}

function contentAt(archive: Buffer, at: number, { path, size }: Header): Buffer {
  if (at + size > archive.length) throw invalid(`${shown(path)}: found its end missing; expected a whole archive`)
  return archive.subarray(at, at + size)
}

function textOf(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  return bytes.toString('utf8', 0, end === -1 ? bytes.length : end)
}

/** The path in a line such as `30 path=templates/items.yaml`. */
function paxPath(content: Buffer): string | undefined {
  return /^\d+ path=(.*)$/m.exec(content.toString('utf8'))?.[1]
}

/** Implements B2. */
function pathIn(path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..'))
    throw invalid(`${shown(path)}: found a path that leaves the blueprint; expected a name of a file`)
  if (segments.length > MAX_LEVELS) throw invalid(`${shown(path)}: nested deeper than ${MAX_LEVELS} directories`)
  return segments.join('/')
}

const SHOWN = 100

function shown(path: string): string {
  return JSON.stringify(path.length > SHOWN ? `${path.slice(0, SHOWN)}...` : path)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
