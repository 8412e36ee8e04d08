// A cache of workflow bundles on disk, each with the hashes of its input files. Building a bundle takes some seconds of CPU.
//
//   K1. A cached bundle is used only if every input file has the same content, and no file exists that the bundler looked for and did not find. The key also
//       contains the options, the versions of the bundler, and the hash of this code.
//   K2. A damaged entry is not used and is built again. An entry is written to a temporary file and renamed.
//   K3. A folder has at most MAX_ENTRIES entries; the least recently used ones are removed.
//   K4. If an entry cannot be written, the bundle is used all the same, and the error is reported.

import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The inputs of a bundle as the bundler reports them: absolute paths. */
export interface BundleInputs {
  readonly files: Iterable<string>
  /** Paths that the bundler tried when it resolved modules, and that did not exist. */
  readonly missing: Iterable<string>
}

export interface BuiltBundle {
  readonly code: string
  readonly inputs: BundleInputs
}

interface CacheRequest {
  readonly folder: string
  /** The key of the bundle, as JSON. Bundles with different keys are different bundles. */
  readonly key: object
  /** A temporary folder of the build. Its content follows from `key`, so its files are not inputs. */
  readonly scratch?: string | undefined
  /** Called with the reason if a bundle could not be cached. */
  readonly onError: (error: unknown) => void
}

/** The first line of an entry, as JSON; the code follows it. */
interface CacheHeader {
  readonly tools: string
  readonly code: string
  /** Hashes of the contents, by path; for a path that is not a readable file, the error code. */
  readonly files: Readonly<Record<string, string>>
  readonly missing: readonly string[]
}

/** K3 */
const MAX_ENTRIES = 8
const ENDING = '.bundle'

/** The cached bundle, or the result of `make`, which is cached then. @throws errors of `make`. */
export async function cachedBundle(request: CacheRequest, make: () => Promise<BuiltBundle>): Promise<string> {
  const file = join(request.folder, `${hashOf(JSON.stringify(request.key))}${ENDING}`)
  const entry = await readEntry(file)
  if (entry !== undefined) return entry
  const startedAt = Date.now()
  const { code, inputs } = await make()
  try {
    const head = await headerOf(code, inputs, { startedAt, scratch: request.scratch })
    if (head !== undefined) await writeEntry(file, `${JSON.stringify(head)}\n${code}`)
  } catch (error) {
    // K4
    request.onError(error)
  }
  return code
}

/** K1, K2. Undefined: the bundle must be built. */
async function readEntry(file: string): Promise<string | undefined> {
  try {
    const text = await readFile(file, 'utf8')
    const end = text.indexOf('\n')
    const head = JSON.parse(text.slice(0, end)) as CacheHeader
    const code = text.slice(end + 1)
    if (head.tools !== toolVersions() || head.code !== hashOf(code) || head.missing.some((path) => existsSync(path)))
      return undefined
    const paths = Object.keys(head.files)
    const current = await contentHashes(paths)
    if (paths.some((path) => current.get(path) !== head.files[path])) return undefined
    // A process that may read the folder may lack the right to write there.
    await utimes(file, new Date(), new Date()).catch(() => undefined)
    return code
  } catch {
    return undefined
  }
}

/** Undefined if an input changed during the build: the bundle may contain either version. */
async function headerOf(
  code: string,
  { files, missing }: BundleInputs,
  { startedAt, scratch }: { readonly startedAt: number; readonly scratch: string | undefined },
): Promise<CacheHeader | undefined> {
  const isOurs = (path: string) => scratch === undefined || !`${path}/`.startsWith(`${scratch}/`)
  const found = [...new Set([...files].filter(isOurs))].sort()
  const times = await Promise.all(found.map(async (path) => (await stat(path).catch(() => undefined))?.mtimeMs ?? 0))
  if (found.some((path, index) => (times[index] ?? 0) >= startedAt && isFile(path))) return undefined
  const contents = await contentHashes([...found, ...compilerSettings(found)])
  const absent = [...new Set([...missing].filter(isOurs))].sort()
  if (absent.some((path) => existsSync(path))) return undefined
  return { tools: toolVersions(), code: hashOf(code), files: Object.fromEntries(contents), missing: absent }
}

const isFile = (path: string) => /\.[cm]?[jt]sx?$|\.json$/.test(path)

/** Configuration files that the TypeScript compiler (SWC) reads without reporting them to the bundler. */
function compilerSettings(files: readonly string[]): readonly string[] {
  const folders = new Set([process.cwd(), ...files.filter((file) => file.endsWith('.ts')).map(dirname)])
  return [...folders].map((folder) => join(folder, '.swcrc'))
}

/** A folder, or a virtual module of the bundler. */
const NO_FILE = new Set(['ENOENT', 'EISDIR', 'ENOTDIR'])

/** @throws if a file cannot be read, because its content is unknown then. */
async function contentHashes(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = paths.map(async (path): Promise<readonly [string, string]> => {
    try {
      return [path, hashOf(await readFile(path))]
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (!NO_FILE.has(code)) throw error
      return [path, code]
    }
  })
  return new Map(await Promise.all(found))
}

/** The versions of the bundler and its loaders, and the hashes of this code: other tools build other bundles from the same files. */
export function toolVersions(): string {
  const ofWorker = createRequire(createRequire(import.meta.url).resolve('@temporalio/worker/package.json'))
  const versions = ['@temporalio/worker', '@swc/core', 'swc-loader', 'webpack'].map((name) => {
    try {
      const { version } = ofWorker(`${name}/package.json`) as { readonly version: string }
      return `${name} ${version}`
    } catch {
      // The SDK does not use this package.
      return `no ${name}`
    }
  })
  const own = ['bundle-cache', 'bundle', 'portable-bundle', 'portable-names'].map((name) =>
    hashOf(readFileSync(import.meta.filename.replace(/bundle-cache(?=\.\w+$)/, name))),
  )
  return [...versions, ...own].join(' ')
}

/** K2, K3 */
async function writeEntry(file: string, text: string): Promise<void> {
  const folder = dirname(file)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const unfinished = join(folder, `${randomUUID()}.part`)
  try {
    await writeFile(unfinished, text, { mode: 0o600 })
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  await evictEntries(folder)
}

const UNFINISHED_MS = 3_600_000

/** Removes the least recently used entries, and unfinished files of crashed processes. */
async function evictEntries(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(ENDING) || name.endsWith('.part'))
  const used = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
  )
  const bundles = used.filter(({ name }) => name.endsWith(ENDING)).sort((one, other) => other.at - one.at)
  const unfinished = used.filter(({ name, at }) => name.endsWith('.part') && at < Date.now() - UNFINISHED_MS)
  const outdated = [...bundles.slice(MAX_ENTRIES), ...unfinished]
  await Promise.all(outdated.map(async ({ name }) => await rm(join(folder, name), { force: true })))
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
