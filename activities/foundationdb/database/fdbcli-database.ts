// The database behind fdbcli: builds the commands and reads their output. Source: spec/foundationdb.md 4.2, 4.3.
//
//   A1. Every word of a command is encoded or has a checked form, so no value becomes an option of the command, a second word or a second command.
//   A2. `configure` sends its text unchanged, after a check that it has no command separator and no word that overrides safety checks.
//   A3. `kill` has a `sleep` behind it: fdbcli sends the request only while it still runs.

import type { Database, DatabaseProvider, KeyChange, ReadKey } from './database.ts'
import { type CallSettings, execute, type Session, withSession } from './fdbcli.ts'
import {
  checkCommand,
  checkConfigure,
  checkCoordinators,
  checkKill,
  CommandFailure,
  parseExclude,
  parsePairs,
  timedOut,
} from './fdbcli-output.ts'
import { decodePrinted, encodeWord } from './fdbcli-token.ts'
import type { Environment } from './run-tool.ts'
import { parseStatus } from './status.ts'
import type { Tools } from './tools.ts'

/** Time-outs of fdbcli in seconds. Source: spec/foundationdb.md 4.2, 8.2. */
export interface FdbcliTimeouts {
  readonly usual: number
  /** Of status, exclude and kill. */
  readonly long: number
}

export const DEFAULT_TIMEOUTS: FdbcliTimeouts = { usual: 10, long: 40 }

/**
 * After the first `kill` of an upgrade, the processes speak a protocol that this fdbcli does not know: the second one waits for an answer until the time-out.
 */
const UPGRADE_SLEEP_SECONDS = 6

const SYSTEM_KEYS = 'option on ACCESS_SYSTEM_KEYS'
const WRITE_MODE = 'writemode on'
/** `getrange` returns 25 pairs without a limit. */
const MOST_PAIRS = 100_000

export interface ProviderSettings {
  readonly tools: Tools
  /** Of the worker. */
  readonly environment: Environment
  readonly timeouts?: FdbcliTimeouts
  readonly traceFolder?: string | undefined
}

export function fdbcliDatabases({ timeouts = DEFAULT_TIMEOUTS, ...settings }: ProviderSettings): DatabaseProvider {
  return {
    open: (address, signal) => databaseOf({ ...settings, address, signal }, timeouts),
    isSupported: (version) => settings.tools.isSupported(version),
    protocolOf: (version) => settings.tools.protocolOf(version),
  }
}

function databaseOf(settings: CallSettings, { usual, long }: FdbcliTimeouts): Database {
  const run = (command: string, seconds = usual) => execute(settings, command, seconds)
  const database: Database = {
    async status() {
      const result = await run('status json', long)
      if (timedOut(result)) throw new CommandFailure('timeout', 'status json: fdbcli reached its time-out')
      if (result.exitCode !== 0) checkCommand('status json', result)
      return parseStatus(result.stdout)
    },
    async configure(configuration, { isNew }) {
      checkConfiguration(configuration)
      checkConfigure(await run(`configure ${isNew ? 'new ' : ''}${configuration}`, long))
    },
    async exclude(targets, { waits }) {
      checkTargets('exclude', targets, EXCLUSION_TARGET)
      return parseExclude(await run(['exclude', ...(waits ? [] : ['no_wait']), ...targets].join(' '), long))
    },
    async include(targets) {
      checkTargets('include', targets, EXCLUSION_TARGET)
      checkCommand('include', await run(['include', ...targets].join(' '), long))
    },
    async kill(addresses, { isUpgrade }) {
      checkTargets('kill', addresses, ADDRESS)
      const kill = `kill ${addresses.join(' ')}`
      const commands = isUpgrade ? [kill, 'sleep 1', kill, 'sleep 5'] : [kill, 'sleep 5']
      const result = await run(['kill', ...commands].join('; '), isUpgrade ? usual + UPGRADE_SLEEP_SECONDS : long)
      checkKill(result, addresses.length)
    },
    async changeCoordinators(addresses) {
      checkTargets('coordinators', addresses, COORDINATOR)
      checkCoordinators(await run(['coordinators', ...addresses].join(' '), long))
      return await database.connectionString()
    },
    async connectionString() {
      const result = await run(`${SYSTEM_KEYS}; get ${encodeWord(COORDINATORS_KEY)}`)
      checkCommand('get', result)
      const value = parsePairs(result.stdout)[0]?.value
      if (value === undefined) throw new CommandFailure('refused', 'get \\xff/coordinators: the key has no value')
      return new TextDecoder().decode(value)
    },
    async startMaintenance(zone, seconds) {
      checkCommand('maintenance', await run(`maintenance on ${encodeWord(zone)} ${Math.ceil(seconds)}`))
    },
    async endMaintenance() {
      checkCommand('maintenance', await run('maintenance off'))
    },
    async readPrefix(prefix) {
      const [begin, end] = [prefix, endOf(prefix)].map(encodeWord)
      const result = await run(`${SYSTEM_KEYS}; getrange ${begin} ${end} ${MOST_PAIRS}`)
      checkCommand('getrange', result)
      return parsePairs(result.stdout)
    },
    async write(changes) {
      if (changes.length === 0) return
      const commands = [WRITE_MODE, SYSTEM_KEYS, 'begin', ...changes.map(changeCommand), 'commit']
      checkCommand('write', await run(commands.join('; ')))
    },
    transact: (decide) => transact(settings, usual, decide),
  }
  return database
}

const COORDINATORS_KEY = Buffer.from('\xff/coordinators', 'latin1')

async function transact(
  settings: CallSettings,
  seconds: number,
  decide: (read: ReadKey) => Promise<readonly KeyChange[]>,
): Promise<void> {
  const { result: changes, output } = await withSession(settings, seconds, async (session) => {
    session.send(WRITE_MODE, SYSTEM_KEYS, 'begin')
    const decided = await decide((key) => readKey(session, key))
    if (decided.length > 0) session.send(...decided.map(changeCommand), 'commit')
    return decided
  })
  if (changes.length === 0) return
  if (output.hasTimedOut) throw new CommandFailure('timeout', 'commit: fdbcli reached its time-out')
  checkCommand('commit', output)
  if (!/^Committed \(\d+\)$/m.test(output.stdout))
    throw new CommandFailure('timeout', 'commit: fdbcli did not report a commit')
}

async function readKey(session: Session, key: Uint8Array): Promise<Uint8Array | undefined> {
  const answer = await session
    .ask(`get ${encodeWord(key)}`, (line) => ANSWER.test(line))
    .catch((error: unknown) => {
      throw new CommandFailure('timeout', (error as Error).message)
    })
  const printed = ANSWER.exec(answer)?.[1]
  return printed === undefined ? undefined : decodePrinted(printed)
}

/** The answer of `get`; a prompt may precede it. */
const ANSWER = /`.*?'(?: is `(.*)'|: not found)$/

function changeCommand({ key, value }: KeyChange): string {
  return value === undefined ? `clear ${encodeWord(key)}` : `set ${encodeWord(key)} ${wordOrEmpty(value)}`
}

function wordOrEmpty(value: Uint8Array): string {
  return value.length === 0 ? '""' : encodeWord(value)
}

/** The first key behind all keys with the prefix. */
function endOf(prefix: Uint8Array): Uint8Array {
  const last = prefix.findLastIndex((byte) => byte < 0xff)
  return Uint8Array.from([...prefix.slice(0, last), (prefix[last] ?? 0) + 1])
}

const IP = String.raw`(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\])`
const ADDRESS = new RegExp(`^${IP}:\\d{1,5}$`)
const COORDINATOR = new RegExp(`^(?:${IP}|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?):\\d{1,5}(?::tls)?$`)
const EXCLUSION_TARGET = new RegExp(
  `^(?:${IP}(?::\\d{1,5})?|[0-9a-fA-F:]+:[0-9a-fA-F:]*|locality_[a-z_]+:[A-Za-z0-9_.-]+)$`,
)

/** A1. */
function checkTargets(command: string, targets: readonly string[], form: RegExp): void {
  if (targets.length === 0) throw new CommandFailure('refused', `${command}: the list of addresses is empty`)
  const wrong = targets.find((target) => !form.test(target))
  if (wrong !== undefined)
    throw new CommandFailure(
      'refused',
      `${command}: ${JSON.stringify(wrong)} is no address; expected IP:port or a locality`,
    )
}

/** A2. */
function checkConfiguration(configuration: string): void {
  if (/[;\r\n]/.test(configuration))
    throw new CommandFailure('refused', 'configure: the text contains ";" or a line break; remove it')
  const word = configuration.split(' ').find((one) => ['FORCE', 'new', 'tss', 'auto'].includes(one))
  if (word !== undefined) throw new CommandFailure('refused', `configure: the word "${word}" is not allowed; remove it`)
}
