// FoundationDB's tools in `pawl dev`: an installation of the user, or the simulator.

import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

import type { DevPlace, PreparedWing } from '../../pods.ts'

/** Finds the tools. Without tools, worker and node agent use the simulator. */
export function prepareInDev({ flags, env, folder }: Pick<DevPlace, 'flags' | 'env' | 'folder'>): PreparedWing {
  const named = flags['fdb-bin'] ?? env['PAWL_FDB_BIN']
  if (named !== undefined && named !== '') return { flags: { 'fdb-bin': named }, note: `tools in "${named}"` }
  const installed = (env['PATH'] ?? '').split(delimiter).find((one) => isAbsolute(one) && hasServer(one))
  if (installed !== undefined) return { flags: { 'fdb-bin': installed }, note: `FoundationDB in "${installed}"` }
  const note = 'a simulator, because no FoundationDB is installed; --fdb-bin names the folder of an installation'
  return { flags: {}, env: { FDB_SIM_BLOBSTORE: join(folder, 'blob-store') }, note }
}

/** The flag of the node agent. */
export function flagsInDev({ flags }: Pick<DevPlace, 'flags'>): Readonly<Record<string, string>> {
  const folder = flags['fdb-bin']
  return folder === undefined ? {} : { 'fdb-bin': folder }
}

function hasServer(folder: string): boolean {
  try {
    accessSync(join(folder, 'fdbserver'), constants.X_OK)
    return true
  } catch {
    return false
  }
}
