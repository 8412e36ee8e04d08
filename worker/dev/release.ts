// Downloads the programs of a release into Pawl's cache, for a wing that needs them on this machine.
//
//   L1. The cache has either all programs of a release, each with its published digest, or none.
//   L2. After a failure, Pawl does not try again for ten minutes, so a machine without internet loses no time.

import { chmod, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

import type { DevPlace, Release } from '../../activities/pods.ts'
import { findNamespaces } from '../node-agent/container-root.ts'
import type { Config } from '../server/config.ts'
import { download } from './download.ts'
import { withLock } from './lock.ts'
import type { Progress } from './obtain.ts'
import { platform } from './pins.ts'

const RETRY_MS = 600_000

export interface ReleaseOptions {
  readonly config: Pick<Config, 'cacheDir' | 'mayDownload'>
  readonly progress: Progress
}

/** Answers the questions of wings about this machine, before their pods start. */
export function machineOf(options: {
  readonly config: Pick<Config, 'cacheDir' | 'mayDownload' | 'searchPath'>
  readonly progress: Progress
}): Pick<DevPlace, 'download' | 'mountProblem'> {
  return {
    download: async (release) => await obtainRelease(release, options),
    mountProblem: async () => {
      const found = await findNamespaces(options.config.searchPath.join(delimiter))
      return 'problem' in found ? found.problem : undefined
    },
  }
}

/** Returns the folder with the programs. @throws with the reason. */
export async function obtainRelease(release: Release, { config, progress }: ReleaseOptions): Promise<string> {
  const id = `${release.name}-${release.version}-${platform().key}`
  const folder = join(config.cacheDir, 'bin', id)
  if (await exists(folder)) return folder
  if (!config.mayDownload) throw new Error('downloads are disabled by PAWL_OFFLINE')
  const lock = join(config.cacheDir, 'locks', `${id}.lock`)
  return await withLock(lock, async () => {
    if (await exists(folder)) return folder
    const failures = `${folder}.failed`
    const failure = await recentFailure(failures)
    if (failure !== undefined) throw new Error(failure)
    progress(`${release.name} ${release.version}: downloading`)
    try {
      await downloadAll(release, folder)
      return folder
    } catch (error) {
      // L2
      await writeFile(failures, error instanceof Error ? error.message : String(error))
      throw error
    }
  })
}

/** L1 */
async function downloadAll({ programs, links, platforms }: Release, folder: string): Promise<void> {
  const part = `${folder}.part`
  await rm(part, { recursive: true, force: true })
  await mkdir(part, { recursive: true })
  try {
    for (const [name, url] of Object.entries(programs)) {
      const path = join(part, name)
      const checksums = { kind: 'bare', algorithm: 'sha256', url: `${url}.sha256` } as const
      await download({ download: { url, platforms, checksums } }, path, () => undefined)
      await chmod(path, 0o755)
    }
    for (const [name, program] of Object.entries(links)) await symlink(program, join(part, name))
    await rename(part, folder)
  } finally {
    await rm(part, { recursive: true, force: true })
  }
}

async function recentFailure(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs < RETRY_MS ? await readFile(path, 'utf8') : undefined
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
