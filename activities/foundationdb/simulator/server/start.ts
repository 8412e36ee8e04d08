// Starts fdbserver from a generated script.

import { insidePath } from '../container-root.ts'
import { toolHost, type ToolProcess } from '../tool-host.ts'
import { fdbserver } from './fdbserver.ts'

/** @returns the exit code. */
export async function start(tool: ToolProcess, version: string): Promise<number> {
  const [, script = 'fdbserver', ...argv] = tool.argv
  const program = insidePath(tool.env['FDB_SIM_PROGRAM'] ?? script, tool.env)
  const commandLine = [program, ...joinOptions(argv)].join(' ')
  return await fdbserver(argv, { ...toolHost(tool, version), commandLine })
}

/** Status shows `--key value` as `--key=value` (fdb-recordings 20/004). */
function joinOptions(argv: readonly string[]): string[] {
  return argv.flatMap((word, index) => {
    const next = argv[index + 1]
    if (/^--[^=]+$/.test(word) && next?.startsWith('-') === false) return [`${word}=${next}`]
    const isValue = /^--[^=]+$/.test(argv[index - 1] ?? '') && !word.startsWith('-')
    return isValue ? [] : [word]
  })
}
