// Folders of simulated FoundationDB tools, one for each version. They log each command line, so tests count effects on the database.

import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { writeExecutables } from '../../../activities/foundationdb/simulator/bin.ts'

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

export function logTools(versions: readonly string[]): LoggedTools {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-fdb-logged-'))
  const log = join(folder, 'commands')
  writeFileSync(log, '')
  const quiet = (version: string, tool: LoggedTool) => join(folder, version, `${tool}-quiet`)
  for (const version of versions) {
    const tools = writeExecutables(join(folder, version), process.execPath, version)
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
