// Finds FoundationDB's command line tools. Source: spec/foundationdb.md 4.2.
//
//   B1. A folder of tools has `VERSION/TOOL`, `MAJOR.MINOR/TOOL` or `TOOL`, in this order of preference.
//   B2. A tool without a version in its path counts for the versions with its own major and minor number, because only these have its protocol.
//       fdbmonitor has no option --version (recording 00/017); the fdbserver in its folder reports the version.
//   B3. Without a folder, PATH is searched.
//   B4. Where a simulator is permitted, it replaces tools that are missing.

import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'

import { ActivityError } from '../../../workflows/kit/index.ts'
import { parseVersion } from './fdbcli-output.ts'
import type { Environment } from './run-tool.ts'

export type ToolName = 'fdbcli' | 'fdbbackup' | 'fdbrestore' | 'fdbserver' | 'fdbmonitor' | 'backup_agent'

export interface Tools {
  /** @returns the path of the executable. @throws ActivityError `ToolNotFound`, final. */
  find(tool: ToolName, version: string): Promise<string>
  /** Whether fdbcli of this version exists. */
  isSupported(version: string): Promise<boolean>
  /** The protocol version that fdbcli of this version reports, such as `fdb00b071010000`. @throws like `find`. */
  protocolOf(version: string): Promise<string>
}

/**
 * @param folder the value of `--fdb-bin` or of the environment variable PAWL_FDB_BIN; undefined: PATH.
 * @param environment PATH is searched without a folder; the tools find their libraries by LD_LIBRARY_PATH.
 * @param simulate returns the folder with simulated tools of a version (B4). Default: no simulator.
 */
export function findTools(
  folder: string | undefined,
  environment: Environment = {},
  simulate?: (version: string) => string,
): Tools {
  const folders = folder === undefined ? (environment['PATH'] ?? '').split(delimiter).filter(isAbsolute) : [folder]
  const versions = new Map<string, Promise<ReturnType<typeof parseVersion>>>()
  const versionOf = (program: string) => {
    const found = versions.get(program) ?? readVersion(program, environment['LD_LIBRARY_PATH'])
    versions.set(program, found)
    found.catch(() => versions.delete(program))
    return found
  }
  const look = async (tool: ToolName, version: string): Promise<string | undefined> => {
    if (!/^\d+\.\d+\.\d+$/.test(version)) return undefined
    for (const base of folders) {
      const named = [version, minorOf(version)].map((part) => join(base, part, tool))
      for (const program of named) if (await isExecutable(program)) return program
      const program = join(base, tool)
      const asked = join(base, tool === 'fdbmonitor' ? 'fdbserver' : tool)
      const exist = (await isExecutable(program)) && (await isExecutable(asked))
      if (exist && minorOf((await versionOf(asked)).version) === minorOf(version)) return program
    }
    const simulated = simulate === undefined ? undefined : join(simulate(version), tool)
    return simulated !== undefined && (await isExecutable(simulated)) ? simulated : undefined
  }
  const find: Tools['find'] = async (tool, version) => {
    const found = await look(tool, version)
    if (found !== undefined) return found
    const place = folder === undefined ? 'PATH' : `folder "${folder}"`
    throw new ActivityError(
      'ToolNotFound',
      `${place}: ${tool} of version "${version}" is missing; install it, or name its folder with --fdb-bin or PAWL_FDB_BIN`,
      { retryable: false },
    )
  }
  return {
    find,
    isSupported: async (version) => (await look('fdbcli', version)) !== undefined,
    protocolOf: async (version) => (await versionOf(await find('fdbcli', version))).protocol,
  }
}

function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.')
}

async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

async function readVersion(program: string, libraries: string | undefined): Promise<ReturnType<typeof parseVersion>> {
  const env = libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }
  const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: 10_000, env })
  return parseVersion(stdout)
}
