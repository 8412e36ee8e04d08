// Bundles that were made before, each with what it was made of: who wants the same again gets it without making it, which takes some seconds of CPU.
//
//   K1. A bundle is taken only when every file that it was made of has the content that it had then, and none that was looked for in vain is there by now. How it
//       was made counts as well: the options, the bundler, this code.
//   K2. What is damaged is not taken, and made anew. It is put in place whole, by a rename.
//   K3. A folder has at most so many, the last ones that were used.
//   K4. Where nothing can be kept, a bundle is made each time, and why is told.

import { createHash, randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** What a bundle was made of, as its bundler tells it: absolute paths. */
export interface MadeOf {
  readonly files: Iterable<string>
  /** Where it has looked for modules in vain. */
  readonly missing: Iterable<string>
}

export interface FreshBundle {
  readonly code: string
  readonly madeOf: MadeOf
}

interface Keeping {
  readonly folder: string
  /** What the bundle is asked for by: JSON. Two that differ in it are two bundles. */
  readonly asked: object
  /** A folder that goes when the bundle is made: what is in it follows from `asked`. */
  readonly scratch?: string | undefined
  /** Told why a bundle could not be kept. */
  readonly failed: (error: unknown) => void
}

/** The first line of a file; its code stands behind it. */
interface Head {
  readonly made: string
  readonly code: string
  /** Hashes of contents, by path; of what is no file that can be read, why. */
  readonly files: Readonly<Record<string, string>>
  readonly missing: readonly string[]
}

/** K3 */
const MOST_KEPT = 8
const ENDING = '.bundle'

/** The bundle that is kept, or the one that `make` makes, which is kept then. @throws what `make` throws. */
export async function keptBundle(keeping: Keeping, make: () => Promise<FreshBundle>): Promise<string> {
  const file = join(keeping.folder, `${hashOf(JSON.stringify(keeping.asked))}${ENDING}`)
  const kept = await readKept(file)
  if (kept !== undefined) return kept
  const begun = Date.now()
  const { code, madeOf } = await make()
  try {
    const head = await headOf(code, madeOf, { begun, scratch: keeping.scratch })
    if (head !== undefined) await keep(file, `${JSON.stringify(head)}\n${code}`)
  } catch (error) {
    // K4
    keeping.failed(error)
  }
  return code
}

/** K1, K2. Undefined: it has to be made. */
async function readKept(file: string): Promise<string | undefined> {
  try {
    const text = await readFile(file, 'utf8')
    const end = text.indexOf('\n')
    const head = JSON.parse(text.slice(0, end)) as Head
    const code = text.slice(end + 1)
    if (head.made !== maker() || head.code !== hashOf(code) || head.missing.some((path) => existsSync(path)))
      return undefined
    const paths = Object.keys(head.files)
    const now = await contentsOf(paths)
    if (paths.some((path) => now.get(path) !== head.files[path])) return undefined
    // Who may read a folder may not be one who may write there.
    await utimes(file, new Date(), new Date()).catch(() => undefined)
    return code
  } catch {
    return undefined
  }
}

/** Undefined where something has changed while it was made: nobody knows which content is in it. */
async function headOf(
  code: string,
  { files, missing }: MadeOf,
  { begun, scratch }: { readonly begun: number; readonly scratch: string | undefined },
): Promise<Head | undefined> {
  const isOurs = (path: string) => scratch === undefined || !`${path}/`.startsWith(`${scratch}/`)
  const found = [...new Set([...files].filter(isOurs))].sort()
  const times = await Promise.all(found.map(async (path) => (await stat(path).catch(() => undefined))?.mtimeMs ?? 0))
  if (found.some((path, index) => (times[index] ?? 0) >= begun && isFile(path))) return undefined
  const contents = await contentsOf([...found, ...compilerSettings(found)])
  const absent = [...new Set([...missing].filter(isOurs))].sort()
  if (absent.some((path) => existsSync(path))) return undefined
  return { made: maker(), code: hashOf(code), files: Object.fromEntries(contents), missing: absent }
}

const isFile = (path: string) => /\.[cm]?[jt]sx?$|\.json$/.test(path)

/** Read by the compiler of TypeScript, which tells nobody. */
function compilerSettings(files: readonly string[]): readonly string[] {
  const folders = new Set([process.cwd(), ...files.filter((file) => file.endsWith('.ts')).map(dirname)])
  return [...folders].map((folder) => join(folder, '.swcrc'))
}

/** A folder, or a module that the bundler has made up. */
const NO_FILE = new Set(['ENOENT', 'EISDIR', 'ENOTDIR'])

/** @throws where one cannot be read, so that nobody knows its content. */
async function contentsOf(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
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

/** What makes bundles here: another one makes others of the same files. */
export function maker(): string {
  const ofWorker = createRequire(createRequire(import.meta.url).resolve('@temporalio/worker/package.json'))
  const versions = ['@temporalio/worker', '@swc/core', 'swc-loader', 'webpack'].map((name) => {
    try {
      const { version } = ofWorker(`${name}/package.json`) as { readonly version: string }
      return `${name} ${version}`
    } catch {
      // An SDK that does without it.
      return `no ${name}`
    }
  })
  const own = ['bundle-cache', 'bundle'].map((name) =>
    hashOf(readFileSync(import.meta.filename.replace(/bundle-cache(?=\.\w+$)/, name))),
  )
  return [...versions, ...own].join(' ')
}

/** K2, K3 */
async function keep(file: string, text: string): Promise<void> {
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
  await letGo(folder)
}

const UNFINISHED_MS = 3_600_000

/** What is beside the last ones, and what a process that died has left. */
async function letGo(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(ENDING) || name.endsWith('.part'))
  const used = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs ?? 0 })),
  )
  const bundles = used.filter(({ name }) => name.endsWith(ENDING)).sort((one, other) => other.at - one.at)
  const left = used.filter(({ name, at }) => name.endsWith('.part') && at < Date.now() - UNFINISHED_MS)
  const surplus = [...bundles.slice(MOST_KEPT), ...left]
  await Promise.all(surplus.map(async ({ name }) => await rm(join(folder, name), { force: true })))
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
