// Recordings of a real FoundationDB: commands with their output and exit code. They lie next to the project's folder.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the recordings. */
export const RECORDINGS = fileURLToPath(new URL('../../../../shared/fdb-recordings/', import.meta.url))

/** Tests of recordings are skipped, with this reason, where the folder is missing. */
export const hasRecordings = existsSync(RECORDINGS)

export interface RecordedCommand {
  /** `08-exclude-include/039`. */
  readonly name: string
  readonly argv: readonly string[]
  /** The commands of `fdbcli --exec`. */
  readonly exec: string | undefined
  /** Undefined if the recorder ended the process by a signal. */
  readonly exitCode: number | undefined
  readonly stdout: string
  readonly stderr: string
}

interface Stored {
  readonly argv: readonly string[]
  readonly exit_code: number
  readonly stdout: string
  readonly stderr: string
}

/** All recorded commands that `accepts`. Documents that the recorder stored in a file of their own are part of the output again. */
export function recordedCommands(accepts: (command: RecordedCommand) => boolean): readonly RecordedCommand[] {
  if (!hasRecordings) return []
  const folders = readdirSync(RECORDINGS, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return folders.flatMap(({ name }) => commandsIn(name)).filter(accepts)
}

function commandsIn(folder: string): readonly RecordedCommand[] {
  const files = readdirSync(join(RECORDINGS, folder)).filter((file) => file.endsWith('.cmd.json'))
  return files.sort().map((file) => {
    const {
      argv,
      exit_code: code,
      stdout,
      stderr,
    } = JSON.parse(readFileSync(join(RECORDINGS, folder, file), 'utf8')) as Stored
    const at = argv.indexOf('--exec')
    return {
      name: `${folder}/${file.slice(0, 3)}`,
      argv,
      exec: at < 0 ? undefined : argv[at + 1],
      exitCode: code < 0 ? undefined : code,
      stdout: stdout.replace(/<<JSON document, see (\S+)>>/, (_, name: string) =>
        readFileSync(join(RECORDINGS, folder, name), 'utf8'),
      ),
      stderr,
    }
  })
}

/** All recorded status documents, as text: printed ones and snapshots. */
export function recordedStatusDocuments(): readonly { readonly name: string; readonly text: string }[] {
  if (!hasRecordings) return []
  return readdirSync(RECORDINGS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.status.json'))
    .sort()
    .map((name) => ({ name, text: readFileSync(join(RECORDINGS, name), 'utf8') }))
}
