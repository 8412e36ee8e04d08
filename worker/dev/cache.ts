// Pawl's cache of server binaries.
//
//   C1. A binary is in the cache only with its stamp file, which is written after the binary printed the pinned
//       version.
//   C2. A binary is written under a temporary name in the same folder and then renamed; only the stamp is written
//       later.
//   C3. A binary whose size differs from its stamp is ignored.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

import { platform, type BinaryName, type Pin } from './pins.ts'

const run = promisify(execFile)

interface Stamp {
  readonly version: string
  readonly source: string
  readonly size: number
  readonly sha256: string
}

/** The path of a binary in the cache: one folder per name, version and platform. */
export function cachePath(cacheDir: string, name: BinaryName, pin: Pin): string {
  return join(cacheDir, 'bin', `${name}-${pin.version}-${platform().key}`, name)
}

/** The cached binary's path; undefined if it is missing, incomplete or damaged (C1, C3). */
export async function findCached(cacheDir: string, name: BinaryName, pin: Pin): Promise<string | undefined> {
  const path = cachePath(cacheDir, name, pin)
  try {
    const stamp = JSON.parse(await readFile(`${path}.json`, 'utf8')) as Stamp
    const { size } = await stat(path)
    return size === stamp.size && stamp.version === pin.version ? path : undefined
  } catch {
    return undefined
  }
}

/**
 * Adds a binary to the cache: `make` writes it to the given path; then it must print the pinned version.
 *
 * @returns the cached binary's path.
 * @throws the error of `make`, or an error that names the printed version. No file remains after an error.
 */
export async function addToCache(
  target: { cacheDir: string; name: BinaryName; pin: Pin },
  source: string,
  make: (path: string) => Promise<void>,
): Promise<string> {
  const { cacheDir, name, pin } = target
  const path = cachePath(cacheDir, name, pin)
  const temporary = `${path}.${process.pid}.part`
  await mkdir(join(path, '..'), { recursive: true })
  // The old stamp is removed first, because a stamp must never describe another binary.
  await rm(`${path}.json`, { force: true })
  try {
    await make(temporary)
    await chmod(temporary, 0o755)
    const problem = await findMisfit(temporary, pin)
    if (problem !== undefined) throw new Error(`${name} from ${source} ${problem}`)
    const [{ size }, sha256] = await Promise.all([stat(temporary), digest(temporary, 'sha256')])
    await rename(temporary, path)
    const stamp: Stamp = { version: pin.version, source, size, sha256 }
    await writeFile(`${path}.json.part`, JSON.stringify(stamp))
    await rename(`${path}.json.part`, `${path}.json`)
  } finally {
    await rm(temporary, { force: true })
  }
  return path
}

/** Describes a wrong version of a binary; undefined if the version is right. */
export async function findMisfit(path: string, pin: Pin): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(path, [...(pin.versionArguments ?? ['--version'])], { timeout: 30_000 })
    const found = `${stdout}${stderr}`.trim()
    if (new RegExp(pin.fits).test(found)) return undefined
    return `is '${found.split('\n', 1)[0] ?? ''}'; expected ${pin.version}`
  } catch (error) {
    return `does not run: ${error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error)}`
  }
}

/** The file's digest in hex. */
export async function digest(path: string, algorithm: 'sha256' | 'sha512'): Promise<string> {
  const hash = createHash(algorithm)
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
