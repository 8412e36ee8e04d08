// Calls fdbcli for one database: single commands with `--exec`, and sessions whose later commands depend on the answers of earlier ones.
// Source: spec/foundationdb.md 4.2; recordings of FoundationDB 7.1.67.

import { withClusterFile } from './cluster-file.ts'
import type { DatabaseAddress } from './database.ts'
import { type Environment, runTool, type RunningTool, spawnTool, type ToolResult } from './run-tool.ts'
import type { Tools } from './tools.ts'

/** Where and how calls run. */
export interface CallSettings {
  readonly tools: Tools
  readonly address: DatabaseAddress
  readonly signal: AbortSignal
  /** Of the worker. */
  readonly environment: Environment
  /** fdbcli writes trace files to this folder. Default: the temporary folder of the call. */
  readonly traceFolder?: string | undefined
}

/** fdbcli ends itself at its time-out; a process that does not is killed after twice this time. */
const KILL_FACTOR = 2

/** Runs `fdbcli --exec`. @param command encoded words; several commands are separated by `; `. */
export async function execute(settings: CallSettings, command: string, timeoutSeconds: number): Promise<ToolResult> {
  const { address, signal, tools, environment } = settings
  const program = await tools.find('fdbcli', address.version)
  return await withClusterFile(address.connectionString, async ({ file, folder }) => {
    const timeout = ['--timeout', String(timeoutSeconds)]
    const args = ['--exec', command, '-C', file, ...traceOptions(settings, folder), ...timeout]
    const timeoutMs = KILL_FACTOR * timeoutSeconds * 1000
    return await runTool({ program, args, environment, home: folder, timeoutMs, signal })
  })
}

/**
 * The database lists fdbcli among its clients for minutes. By this log group, which has an effect only together with a log, the check of clients before an
 * upgrade ignores it: it is the group of the Go operator, and the default of `ignoreLogGroupsForUpgrade`.
 */
const LOG_GROUP = 'fdb-kubernetes-operator'

function traceOptions({ traceFolder }: CallSettings, folder: string): readonly string[] {
  return ['--log', '--trace_format', 'xml', '--log-dir', traceFolder ?? folder, '--log-group', LOG_GROUP]
}

/** A session with fdbcli. */
export interface Session {
  /** Sends a command and returns its first line that `finds` accepts. @throws a plain Error if fdbcli ends without such a line. */
  ask(command: string, finds: (line: string) => boolean): Promise<string>
  /** Sends commands without waiting for answers. */
  send(...commands: readonly string[]): void
}

/**
 * Runs fdbcli with commands on its standard input. The session ends with `use`.
 *
 * @returns the result of `use`, with the complete output.
 */
export async function withSession<Result>(
  settings: CallSettings,
  timeoutSeconds: number,
  use: (session: Session) => Promise<Result>,
): Promise<{ readonly result: Result; readonly output: ToolResult }> {
  const { tools, address, signal, environment } = settings
  const program = await tools.find('fdbcli', address.version)
  return await withClusterFile(address.connectionString, async ({ file, folder }) => {
    // fdbcli accepts --timeout only with --exec.
    const timeoutMs = timeoutSeconds * 1000
    const args = ['-C', file, '--no-status', ...traceOptions(settings, folder)]
    const child = spawnTool({ program, args, environment, home: folder, timeoutMs, signal })
    const reader = readLines(child)
    try {
      const result = await use(sessionOf(child, reader))
      child.stdin.end('quit\n')
      return { result, output: { ...(await child.ended), ...reader.text() } }
    } catch (error) {
      child.kill()
      await child.ended.catch(() => undefined)
      throw error
    }
  })
}

/** fdbcli does not flush its standard output when this is a pipe. These 22 kB of help fill the buffer, so that the answer before them arrives. */
const FLUSH = ['help options', 'help options']

function sessionOf(child: RunningTool, reader: LineReader): Session {
  return {
    async ask(command, finds) {
      child.stdin.write(`${[command, ...FLUSH].join('\n')}\n`)
      const line = await reader.find(finds)
      if (line !== undefined) return line
      const { stderr } = reader.text()
      throw new Error(`fdbcli ended without an answer to \`${command.slice(0, 200)}\`: ${stderr.trim().slice(0, 500)}`)
    },
    send(...commands) {
      child.stdin.write(`${commands.join('\n')}\n`)
    },
  }
}

interface LineReader {
  /** The first line, not returned before, that `finds` accepts; undefined when the output ends. */
  find(finds: (line: string) => boolean): Promise<string | undefined>
  /** All output up to now. */
  text(): { readonly stdout: string; readonly stderr: string }
}

function readLines({ stdout, stderr }: RunningTool): LineReader {
  const text = { stdout: '', stderr: '' }
  let position = 0
  let hasEnded = false
  let notify = () => {}
  stderr.setEncoding('utf8').on('data', (chunk: string) => (text.stderr += chunk))
  stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text.stdout += chunk
    notify()
  })
  stdout.once('close', () => {
    hasEnded = true
    notify()
  })
  const nextLine = (): string | undefined => {
    const end = text.stdout.indexOf('\n', position)
    if (end < 0) return undefined
    const line = text.stdout.slice(position, end)
    position = end + 1
    return line
  }
  return {
    async find(finds) {
      for (;;) {
        for (let line = nextLine(); line !== undefined; line = nextLine()) if (finds(line)) return line
        if (hasEnded) return undefined
        await new Promise<void>((resolve) => (notify = resolve))
      }
    },
    text: () => ({ ...text }),
  }
}
