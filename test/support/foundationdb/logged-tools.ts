// Folders with the tools of the backend, one for each version. They log each command line, so tests count effects on the database.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { writeExecutables } from '../../../activities/foundationdb/simulator/bin.ts'
import { BACKEND } from './backend.ts'

const LOGGED = ['fdbcli', 'fdbbackup', 'fdbrestore'] as const
type LoggedTool = (typeof LOGGED)[number]

export interface LoggedTools {
  readonly folder: string
  /** The path of an fdbcli that does not log. */
  readonly fdbcli: (version: string) => string
  readonly fdbbackup: (version: string) => string
  /** The logged command lines that contain the text. They begin with the name of the tool. */
  readonly commands: (text: string) => readonly string[]
  readonly remove: () => void
}

const REAL_TOOLS = ['backup_agent', 'fdbbackup', 'fdbcli', 'fdbmonitor', 'fdbrestore', 'fdbserver']

export function logTools(versions: readonly string[]): LoggedTools {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-fdb-logged-'))
  const log = join(folder, 'commands')
  writeFileSync(log, '')
  // fdbbackup and fdbrestore are one program, which reads its own name.
  const quiet = (version: string, tool: LoggedTool) => join(folder, version, 'quiet', tool)
  for (const version of versions) {
    const tools = toolsOf(version, join(folder, version))
    mkdirSync(join(tools, 'quiet'))
    for (const tool of LOGGED) {
      const logging = join(tools, tool)
      renameSync(logging, quiet(version, tool))
      const script = `#!/bin/sh\necho "${tool} $*" >>'${log}'\nexec '${quiet(version, tool)}' "$@"\n`
      writeFileSync(logging, script, { mode: 0o755 })
    }
  }
  return {
    folder,
    fdbcli: (version) => quiet(version, 'fdbcli'),
    fdbbackup: (version) => quiet(version, 'fdbbackup'),
    commands: (text) =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.includes(text)),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }),
  }
}

/** Creates the folder with the tools of a version. */
function toolsOf(version: string, folder: string): string {
  if (BACKEND.folder === undefined) return writeExecutables(folder, process.execPath, version)
  mkdirSync(folder)
  for (const tool of REAL_TOOLS) {
    const places = [version, version.split('.').slice(0, 2).join('.'), '.'].map((part) =>
      join(BACKEND.folder ?? '', part, tool),
    )
    const found = places.find((path) => existsSync(path))
    if (found === undefined)
      throw new Error(`PAWL_FDB_BIN: ${tool} of version ${version} is missing; add it to "${BACKEND.folder}"`)
    symlinkSync(found, join(folder, tool))
  }
  return folder
}
