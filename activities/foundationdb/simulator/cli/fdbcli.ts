// The simulated fdbcli: the arguments, output, exit codes and waits of 7.1. Source: fdb-recordings; SURPRISES 1.
//
// F1. Before the first command it waits up to 3 s for a read version; then the command runs anyway.
// F2. `--timeout` limits the whole run: exit code 1, after the output so far.

import { printableWord, toBytes } from '../core/byte-string.ts'
import { sleep } from '../core/clock.ts'
import { versionText } from '../version.ts'
import { type CliArguments, readArguments, type TlsOptions } from './arguments.ts'
import { openClusterFile } from './cluster-file.ts'
import { parseLine } from './command-words.ts'
import type { Command, Context, Host, Outcome } from './context.ts'
import { Client, type Gateway } from './gateway.ts'
import { USAGE_TEXT } from './help.ts'
import { keyCommands } from './key-commands.ts'
import { managementCommands } from './management-commands.ts'
import { otherCommands } from './other-commands.ts'
import { processCommands } from './process-commands.ts'
import { statusDocument, updateClusterFile } from './status.ts'
import { minimalText } from './status-text.ts'

const COMMANDS: Readonly<Record<string, Command>> = {
  ...keyCommands,
  ...managementCommands,
  ...otherCommands,
  ...processCommands,
}

const FIRST_WAIT_SECONDS = 3
const LONG_DELAY_SECONDS = 5
const SHORTEST_TIMEOUT_SECONDS = 3
/** Commands that may take long without a warning. */
const PATIENT = ['exclude', 'status']

/** How the tool reaches a database, by its TLS options. */
export type Connect = (tls: TlsOptions, logGroup: string) => Gateway

/** Runs fdbcli. @returns the exit code; negative: ended by that signal. */
export async function fdbcli(argv: readonly string[], host: Host, connect: Connect): Promise<number> {
  const request = readArguments(argv)
  if (request.kind === 'version') return print(host, versionText('FoundationDB CLI', host.version), 0)
  if (request.kind === 'help') return print(host, USAGE_TEXT, 0)
  if (request.kind === 'usage') return print(host, USAGE_TEXT, 1)
  if (request.kind === 'error') {
    host.stderr(request.text)
    return 1
  }
  return await runWith(request.arguments, host, connect)
}

function print(host: Host, text: string, code: number): number {
  host.stdout(text)
  return code
}

async function runWith(given: CliArguments, host: Host, connect: Connect): Promise<number> {
  for (const knob of given.knobs.filter((name) => name.includes('nonsense'))) {
    host.stderr(`WARNING: Invalid knob option '${knob}'\n`)
  }
  if (!['xml', 'json'].includes(given.traceFormat)) {
    const format = given.traceFormat
    host.stderr(
      `WARNING: Unrecognized trace format \`${format}'\nUnrecognized trace format: \`${format}'\nterminate called after throwing an instance of 'Error'\n`,
    )
    return -6
  }
  const file = openClusterFile(given.clusterFile, host)
  if (typeof file === 'string') {
    host.stderr(file)
    return 1
  }
  await reportTraceFile(given, host)
  const context: Context = {
    host,
    client: new Client(host.clock, connect(tlsOptions(given, host), given.logGroup), file.connection),
    file,
    interactive: given.exec === undefined,
    killable: new Map(),
    options: new Map(),
    writeMode: false,
    transaction: undefined,
  }
  const run = given.exec === undefined ? interact(context, given) : execute(context, given.exec)
  const code = await limited(host, run, given.timeout ?? 0)
  context.client.close()
  return code
}

/** Options win over the environment. A missing certificate is reported; the run continues without it. */
function tlsOptions({ tls }: CliArguments, { environment, readFile, stderr }: Host): TlsOptions {
  const found = {
    certificate: tls.certificate ?? environment['FDB_TLS_CERTIFICATE_FILE'],
    key: tls.key ?? environment['FDB_TLS_KEY_FILE'],
    ca: tls.ca ?? environment['FDB_TLS_CA_FILE'],
    peers: tls.peers ?? environment['FDB_TLS_VERIFY_PEERS'],
  }
  try {
    if (found.certificate !== undefined) readFile(found.certificate)
  } catch {
    stderr(`Error reading TLS Certificate [${found.certificate ?? ''}]: File could not be read\n`)
  }
  return found
}

async function reportTraceFile({ log, logDir }: CliArguments, host: Host): Promise<void> {
  if (!log || logDir === undefined || host.isDirectory(logDir)) return
  const name = `trace.127.0.0.1.1.${String(Math.floor(host.wallSeconds()))}.abcdef.0.1.xml`
  host.stderr(`ERROR: could not create trace log file \`${logDir}/${name}' (2: No such file or directory)\n`)
  await sleep(host.clock, 1)
}

/** Scaled as other waits, but at least 3 real seconds, because Node takes a moment on a busy machine. */
function scaledTimeout({ timeScale }: Host, seconds: number): number {
  return Math.max(seconds * timeScale, Math.min(seconds, SHORTEST_TIMEOUT_SECONDS)) / timeScale
}

async function limited(host: Host, run: Promise<number>, seconds: number): Promise<number> {
  if (seconds === 0) return await run
  return await new Promise<number>((resolve, reject) => {
    const cancel = host.clock.after(scaledTimeout(host, seconds), () => {
      host.stderr('Specified timeout reached -- exiting...\n')
      resolve(1)
    })
    run.then(resolve, reject).finally(cancel)
  })
}

async function firstWait(context: Context): Promise<void> {
  const { client, host } = context
  const version = client.request('readVersion', { lockAware: true }).catch(() => undefined)
  void client.session().then(({ connection }) => {
    updateClusterFile(context, connection)
  })
  await Promise.race([version, sleep(host.clock, FIRST_WAIT_SECONDS)])
}

async function execute(context: Context, line: string): Promise<number> {
  await firstWait(context)
  const { commands, error } = parseLine(toBytes(line))
  if (error !== undefined) return reportParseError(context, error, commands.at(-1) ?? [])
  for (const words of commands) {
    if (commands.length > 1) context.host.stdout(`>>> ${words.map(printableWord).join(' ')}\n`)
    const outcome = await runCommand(context, words)
    if (outcome === 'quit') return 0
    if (outcome === 'failed') {
      const isLast = words === commands.at(-1)
      if (!isLast) {
        context.host.stdout('WARNING: the previous command failed, the remaining commands will not be executed.\n')
      }
      return 1
    }
  }
  return 0
}

function reportParseError({ host }: Context, error: string, words: readonly string[]): number {
  host.stdout(`ERROR: ${error}\n`)
  host.stderr('ERROR: Command failed to completely parse.\nERROR: Not running partial or malformed command:')
  host.stdout(` ${words.map(printableWord).join(' ')}\n`)
  return 1
}

async function runCommand(context: Context, words: readonly string[]): Promise<Outcome> {
  const name = words[0] ?? ''
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined) {
    context.host.stderr(`ERROR: Unknown command \`${printableWord(name)}'. Try \`help'?\n`)
    return 'failed'
  }
  const stop = PATIENT.includes(name) ? () => undefined : warnAfterDelay(context)
  try {
    return await command(context, words)
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'number') throw error
    context.host.stderr(`ERROR: ${error.message} (${String(error.code)})\n`)
    return 'failed'
  } finally {
    stop()
  }
}

/** After 5 s a warning on stderr, then the state of the database on stdout. */
function warnAfterDelay(context: Context): () => void {
  let running = true
  const cancel = context.host.clock.after(LONG_DELAY_SECONDS, () => {
    context.host.stderr('\nWARNING: Long delay (Ctrl-C to interrupt)\n')
    void statusDocument(context).then((document) => {
      if (running) context.host.stdout(`\n${minimalText(document)}\n\n`)
    })
  })
  return () => {
    running = false
    cancel()
  }
}

async function interact(context: Context, { noStatus }: CliArguments): Promise<number> {
  const { host, file } = context
  host.stdout(`Using cluster file \`${file.path}'.\n`)
  await firstWait(context)
  host.stdout(noStatus ? '\n' : `\n${minimalText(await statusDocument(context))}\n\n`)
  host.stdout("Welcome to the fdbcli. For help, type `help'.\n")
  for (;;) {
    const line = await host.input.next()
    if (line.done === true) {
      host.stdout('\n')
      return 0
    }
    const { commands, error } = parseLine(toBytes(line.value))
    if (error !== undefined) host.stdout(`ERROR: ${error}\n`)
    else if (await runLine(context, commands)) return 0
  }
}

/** @returns true after `quit`. */
async function runLine(context: Context, commands: readonly (readonly string[])[]): Promise<boolean> {
  for (const words of commands) {
    const outcome = await runCommand(context, words)
    if (outcome === 'quit') return true
    if (outcome === 'failed') return false
  }
  return false
}
