// The files that the sidecar writes for the main container.
//
// O1. A file appears or changes in one step, by a rename, so no reader sees a part of it.
// O2. Programs and libraries that exist already are not copied again.
// O3. Requests name files of the output folder only.

import { createHash, randomUUID } from 'node:crypto'
import { access, chmod, copyFile, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { SidecarSettings } from './settings.ts'

const MONITOR_CONF = 'fdbmonitor.conf'
const PROGRAM_MODE = 0o744

/** @throws Error if a required file is empty or a file is missing. */
export async function copyFiles(settings: SidecarSettings): Promise<void> {
  for (const name of settings.requireNotEmpty) {
    const path = join(settings.inputFolder, name)
    const size = await stat(path).then(
      ({ size }) => size,
      () => 0,
    )
    if (size === 0) throw new Error(`sidecar: file "${path}" is missing or empty; it needs content`)
  }
  for (const name of settings.copyFiles) {
    await replaceFile(join(settings.outputFolder, name), (temporary) =>
      copyFile(join(settings.inputFolder, name), temporary),
    )
  }
}

/** Copies the programs if the main container has another version. */
export async function copyBinaries(settings: SidecarSettings): Promise<void> {
  if (!settings.mustCopyBinaries) return
  const folder = join(settings.outputFolder, 'bin', settings.ownVersion)
  for (const name of settings.copyBinaries) {
    await addFile(join(folder, name), async (temporary) => {
      await copyFile(join(settings.programFolder, name), temporary)
      await chmod(temporary, PROGRAM_MODE)
    })
  }
}

/** The first version becomes the library of clients; further versions are its external clients. */
export async function copyLibraries(settings: SidecarSettings): Promise<void> {
  for (const [index, version] of settings.copyLibraries.entries()) {
    const name = `libfdb_c_${version}.so`
    const target = index === 0 ? 'libfdb_c.so' : join('multiversion', name)
    await addFile(join(settings.outputFolder, 'lib', target), (temporary) =>
      copyFile(join(settings.libraryFolder, name), temporary),
    )
  }
}

/** Writes the monitor configuration with all variables replaced. */
export async function copyMonitorConf(settings: SidecarSettings): Promise<void> {
  if (settings.inputMonitorConf === undefined) return
  const template = await readFile(join(settings.inputFolder, settings.inputMonitorConf), 'utf8')
  const text = Object.entries(settings.substitutions).reduce(
    (before, [name, value]) => before.replaceAll(`$${name}`, () => value),
    template,
  )
  await replaceFile(join(settings.outputFolder, MONITOR_CONF), (temporary) => writeFile(temporary, text))
}

/** Returns the SHA-256 of an output file in hexadecimal digits; undefined if it does not exist. */
export async function hashOf(settings: SidecarSettings, name: string): Promise<string | undefined> {
  const path = outputPath(settings, name)
  if (path === undefined) return undefined
  try {
    return createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

export async function isPresent(settings: SidecarSettings, name: string): Promise<boolean> {
  const path = outputPath(settings, name)
  return path !== undefined && (await exists(path))
}

/** O3. */
function outputPath({ outputFolder }: SidecarSettings, name: string): string | undefined {
  const path = join(outputFolder, name)
  const inside = relative(outputFolder, path)
  return inside === '' || inside.startsWith('..') ? undefined : path
}

/** O2. */
async function addFile(path: string, write: (temporary: string) => Promise<void>): Promise<void> {
  if (!(await exists(path))) await replaceFile(path, write)
}

/** O1. */
async function replaceFile(path: string, write: (temporary: string) => Promise<void>): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true })
  const temporary = join(folder, `.${randomUUID()}`)
  await write(temporary)
  await rename(temporary, path)
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  )
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'EISDIR', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
}
