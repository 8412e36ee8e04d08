// Starts fdbrestore from a generated script.

import { toolHost, type ToolProcess } from '../tool-host.ts'
import { fdbrestore } from './fdbrestore.ts'

/** @returns the exit code. */
export async function start(tool: ToolProcess, version: string): Promise<number> {
  return await fdbrestore(tool.argv.slice(2), toolHost(tool, version))
}
