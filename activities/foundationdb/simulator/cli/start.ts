// Starts fdbcli from a generated script.

import { existsSync } from 'node:fs'

import { tcpGateway } from '../server/tcp-gateway.ts'
import { toolHost, type ToolProcess } from '../tool-host.ts'
import { fdbcli } from './fdbcli.ts'

/** @returns the exit code; negative: the tool ends by that signal. */
export async function start(tool: ToolProcess, version: string): Promise<number> {
  return await fdbcli(tool.argv.slice(2), toolHost(tool, version), (tls, logGroup) =>
    tcpGateway({ tls, logGroup, version, exists: existsSync }),
  )
}
