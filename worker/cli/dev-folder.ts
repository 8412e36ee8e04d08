// Finds the `pawl dev` that a command means, by one rule for all commands:
//
//   F1. The folder is --data-dir; else the folder of the `pawl dev` that wrote the kubeconfig in use; else $PAWL_DATA_DIR, or `dev` in the cache folder.
//   F2. The kubeconfig in use is the file that has the context: of --kubeconfig, $KUBECONFIG or ~/.kube/config, as for kubectl.
//   F3. Where the `pawl dev` that wrote the kubeconfig does not run, no other one takes its place, also if it has removed its folder.

import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { basename, delimiter, dirname, join, resolve } from 'node:path'

import { type DevState, readState } from '../dev/state.ts'
import type { Config } from '../server/config.ts'
import { type ContextFlags, contextFile } from './kubeconfig.ts'

export interface DevFlags extends Pick<ContextFlags, 'context' | 'kubeconfig'> {
  readonly dataDir?: string
}

/** For all commands that need a running `pawl dev`. */
export const DATA_DIR_OPTION = [
  '--data-dir <dir>',
  'the data folder of pawl dev (default: of the pawl dev that wrote the kubeconfig)',
] as const

type DevConfig = Pick<Config, 'dataDir' | 'kubeconfig'>

/** The hint for users if a command needs a running `pawl dev` and none is found. */
export const DEV_HINT = 'run the export lines that pawl dev printed'

/** Undefined if no `pawl dev` runs for the folder. */
export async function findDev(flags: DevFlags, config: DevConfig): Promise<DevState | undefined> {
  return await readState(await devFolder(flags, config))
}

/** F1 */
export async function devFolder(flags: DevFlags, config: DevConfig): Promise<string> {
  if (flags.dataDir !== undefined) return resolve(flags.dataDir)
  return (await folderOfKubeconfig(flags, config)) ?? config.dataDir
}

/** File that `pawl dev` writes next to its kubeconfig. It stays there when `pawl dev` stops. */
const COMMAND = join('bin', 'kubectl-pawl')

/** F2, F3 */
async function folderOfKubeconfig(flags: DevFlags, config: DevConfig): Promise<string | undefined> {
  const file = await contextFile(flags, config)
  if (file === undefined) return removedFolder(config)
  const path = await realpath(file)
  const folder = dirname(path)
  const state = await readState(folder)
  if (state !== undefined) return (await isSame(state.kubeconfig, path)) ? folder : undefined
  return basename(path) === 'kubeconfig' && existsSync(join(folder, COMMAND)) ? folder : undefined
}

/** F3: an ephemeral `pawl dev` removes its folder at the end. */
function removedFolder({ kubeconfig }: DevConfig): string | undefined {
  const [first = ''] = kubeconfig?.split(delimiter) ?? []
  return basename(first) === 'kubeconfig' && !existsSync(first) ? dirname(resolve(first)) : undefined
}

async function isSame(kubeconfig: string, path: string): Promise<boolean> {
  return (await realpath(kubeconfig).catch(() => undefined)) === path
}
