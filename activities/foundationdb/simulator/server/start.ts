// Starts fdbserver from a generated script.

import { toolHost, type ToolProcess } from '../tool-host.ts'
import { fdbserver } from './fdbserver.ts'

/** @returns the exit code. */
export async function start(tool: ToolProcess, version: string): Promise<number> {
  const [, script = 'fdbserver', ...argv] = tool.argv
  const commandLine = [script.replace(/\.mjs$/, ''), ...argv].join(' ')
  return await fdbserver(argv, { ...toolHost(tool, version), commandLine })
}
