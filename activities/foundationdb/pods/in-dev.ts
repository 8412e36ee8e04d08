// FoundationDB's tools in `pawl dev`: an installation of the user, or the simulator.

import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

import type { DevPlace, PreparedWing } from '../../pods.ts'
import { writeExecutables } from '../simulator/bin.ts'

/** The folder in which the node agent writes the simulator, by version. */
export function simulatorFolder({ folder }: Pick<DevPlace, 'folder'>): string {
  return join(folder, 'wings', 'foundationdb', 'fdb-bin')
}

/** Finds the tools, or writes the simulator. */
export function prepareInDev(dev: Pick<DevPlace, 'folder' | 'flags' | 'env'>): PreparedWing {
  const { flags, env } = dev
  const named = flags['fdb-bin'] ?? env['PAWL_FDB_BIN']
  if (named !== undefined && named !== '') return { flags: { 'fdb-bin': named }, note: `tools in "${named}"` }
  const installed = (env['PATH'] ?? '').split(delimiter).find((folder) => isAbsolute(folder) && hasServer(folder))
  if (installed !== undefined) return { flags: { 'fdb-bin': installed }, note: `FoundationDB in "${installed}"` }
  const folder = simulatorFolder(dev)
  writeExecutables(folder, process.execPath)
  const note = 'a simulator, because no FoundationDB is installed; --fdb-bin names the folder of an installation'
  return { flags: { 'fdb-bin': folder }, note }
}

/** The flag of the node agent: without it, the agent writes the simulator of each version. */
export function flagsInDev(dev: Pick<DevPlace, 'folder' | 'flags'>): Readonly<Record<string, string>> {
  const folder = dev.flags['fdb-bin']
  return folder === undefined || folder === simulatorFolder(dev) ? {} : { 'fdb-bin': folder }
}

function hasServer(folder: string): boolean {
  try {
    accessSync(join(folder, 'fdbserver'), constants.X_OK)
    return true
  } catch {
    return false
  }
}
