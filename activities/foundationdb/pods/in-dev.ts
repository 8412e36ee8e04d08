// FoundationDB's tools in `pawl dev`: an installation of the user, the official release, or the simulator.

import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'

import type { DevPlace, PreparedWing } from '../../pods.ts'
import { releaseOf } from './release.ts'

export interface Installation {
  readonly folder: string
  readonly note: string
}

/** The tools of `--fdb-bin`, `$PAWL_FDB_BIN` or PATH, in this order; undefined: no tools exist. */
export function findInstallation({ flags, env }: Pick<DevPlace, 'flags' | 'env'>): Installation | undefined {
  const given = flags['fdb-bin'] ?? env['PAWL_FDB_BIN'] ?? ''
  // Processes run in other working folders.
  const named = given === '' ? undefined : resolve(given)
  if (named !== undefined) return { folder: named, note: `tools in "${named}"` }
  const installed = (env['PATH'] ?? '').split(delimiter).find((one) => isAbsolute(one) && hasTools(one))
  return installed === undefined ? undefined : { folder: installed, note: `FoundationDB in "${installed}"` }
}

/** Finds the tools, or downloads them. Without tools, worker and node agent use the simulator. */
export async function prepareInDev(dev: Omit<DevPlace, 'kubeconfigPath' | 'isServerOurs'>): Promise<PreparedWing> {
  const found = findInstallation(dev) ?? (await downloadRelease(dev))
  if (found.folder !== undefined) return { flags: { 'fdb-bin': found.folder }, note: found.note }
  return { flags: {}, env: { FDB_SIM_BLOBSTORE: join(dev.folder, 'blob-store') }, note: found.note }
}

async function downloadRelease({
  download,
  mountProblem,
}: Pick<DevPlace, 'download' | 'mountProblem'>): Promise<
  Installation | { readonly folder?: undefined; readonly note: string }
> {
  const simulator = (reason: string) => ({
    note: `a simulator, because no FoundationDB is installed, and ${reason}; --fdb-bin names the folder of an installation`,
  })
  const release = releaseOf()
  const problem = await mountProblem()
  if (problem !== undefined) return simulator(`its release needs mount namespaces: ${problem}`)
  try {
    const folder = await download(release)
    return { folder, note: `release ${release.version} of FoundationDB in "${folder}"` }
  } catch (error) {
    return simulator(`its release cannot be downloaded: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The flag of the node agent. */
export function flagsInDev({ flags }: Pick<DevPlace, 'flags'>): Readonly<Record<string, string>> {
  const folder = flags['fdb-bin']
  return folder === undefined ? {} : { 'fdb-bin': folder }
}

/** Packages of FoundationDB spread the tools over several folders; these are not used. */
function hasTools(folder: string): boolean {
  try {
    for (const name of ['fdbserver', 'fdbmonitor', 'fdbcli']) accessSync(join(folder, name), constants.X_OK)
    return true
  } catch {
    return false
  }
}
