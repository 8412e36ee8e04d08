// Starts fdbbackup from a generated script.

import { toolHost, type ToolProcess } from '../tool-host.ts'
import { fdbbackup } from './fdbbackup.ts'

/** @returns the exit code. */
export async function start(tool: ToolProcess, version: string): Promise<number> {
  return await fdbbackup(tool.argv.slice(2), toolHost(tool, version))
}
