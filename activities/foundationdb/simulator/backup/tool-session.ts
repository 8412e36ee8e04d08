// Parts that fdbbackup, fdbrestore and backup_agent share: their options, cluster file and errors.

import { existsSync } from 'node:fs'
import { openClusterFile } from '../cli/cluster-file.ts'
import type { Host } from '../cli/context.ts'
import { Client } from '../cli/gateway.ts'
import { insidePath } from '../container-root.ts'
import { tcpGateway } from '../server/tcp-gateway.ts'
import { protocolOf } from '../version.ts'
import { InvalidUrl } from './backup-container.ts'
import { Records } from './records.ts'
import { readToolOptions, type ToolOptions } from './tool-options.ts'

export interface ToolSession {
  readonly host: Host
  readonly options: ToolOptions
  /** Connects at the first use. The tools have no time-out, so they wait for the database forever. */
  readonly records: () => Records
  readonly client: () => Client
}

/** An error with the text for stderr. */
export class ToolError extends Error {
  readonly exitCode: number

  constructor(text: string, exitCode = 1) {
    super(text)
    this.exitCode = exitCode
  }
}

export const URL_ERROR = 10

/** The error that the tools print last for a refused request. */
export function fatal(text: string, reason: string): ToolError {
  return new ToolError(`${text}\nFatal Error: ${reason}`)
}

/** Prints the version, the help or an error, or runs the command. @returns the exit code. */
export async function runTool(
  name: string,
  host: Host,
  argv: readonly string[],
  command: (session: ToolSession) => Promise<void>,
): Promise<number> {
  const program = insidePath(host.environment['FDB_SIM_PROGRAM'] ?? name, host.environment)
  const hint = `Try \`${program} --help' for more information.`
  let client: Client | undefined
  try {
    const options = readToolOptions(argv)
    if (typeof options === 'string') throw new ToolError(`ERROR: unknown option \`${options}'\n${hint}`)
    const open = (): Client => (client ??= connect(host, options))
    await command({ host, options, client: open, records: () => new Records(open()) })
    return 0
  } catch (error) {
    if (error instanceof InvalidUrl) return report(host, `ERROR: ${error.message}\n${hint}`, URL_ERROR)
    if (error instanceof ToolError) return report(host, error.message.replace('$HINT', hint), error.exitCode)
    throw error
  } finally {
    client?.close()
  }
}

export function toolVersion({ version }: Host): string {
  const minor = version.replace(/\.\d+$/, '')
  return `FoundationDB ${minor} (v${version})\nsource version ${'0'.repeat(40)}\nprotocol ${protocolOf(version)}\n`
}

function connect(host: Host, { clusterFile }: ToolOptions): Client {
  const file = openClusterFile(clusterFile, host)
  if (typeof file === 'string') throw new ToolError(file.trimEnd())
  const { environment } = host
  const tls = {
    certificate: environment['FDB_TLS_CERTIFICATE_FILE'],
    key: environment['FDB_TLS_KEY_FILE'],
    ca: environment['FDB_TLS_CA_FILE'],
    peers: environment['FDB_TLS_VERIFY_PEERS'],
  }
  const gateway = tcpGateway({ tls, logGroup: 'default', version: host.version, exists: existsSync })
  return new Client(host.clock, gateway, file.connection)
}

function report(host: Host, text: string, exitCode: number): number {
  host.stderr(`${text}\n`)
  return exitCode
}

/** 32 hexadecimal digits. */
export function newUid({ random }: Host): string {
  return Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('')
}
