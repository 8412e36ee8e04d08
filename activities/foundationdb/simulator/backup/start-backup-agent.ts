// Starts backup_agent from a generated script.

import { toolHost, type ToolProcess } from '../tool-host.ts'
import { backupAgent } from './backup-agent.ts'

/** @returns the exit code. */
export async function start(tool: ToolProcess, version: string): Promise<number> {
  return await backupAgent(tool.argv.slice(2), toolHost(tool, version))
}
