// Folders of simulated FoundationDB tools, one for each version. Their fdbcli logs each command line, so tests count effects on the database.

import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { writeExecutables } from '../../../activities/foundationdb/simulator/bin.ts'

export interface LoggedTools {
  readonly folder: string
  /** The path of an fdbcli that does not log. */
  readonly fdbcli: (version: string) => string
  /** The logged command lines that contain the text. */
  readonly commands: (text: string) => readonly string[]
  readonly remove: () => void
}

export function logTools(versions: readonly string[]): LoggedTools {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-fdb-logged-'))
  const log = join(folder, 'commands')
  writeFileSync(log, '')
  const quiet = (version: string) => join(folder, version, 'fdbcli-quiet')
  for (const version of versions) {
    const logging = join(writeExecutables(join(folder, version), process.execPath, version), 'fdbcli')
    renameSync(logging, quiet(version))
    writeFileSync(logging, `#!/bin/sh\necho "$*" >>'${log}'\nexec '${quiet(version)}' "$@"\n`, { mode: 0o755 })
  }
  return {
    folder,
    fdbcli: quiet,
    commands: (text) =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.includes(text)),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }),
  }
}
