// Commands that read and write keys. Source: fdb-recordings 05/030..079.

import { keyAfter, printable, SYSTEM_END, toBytes, USER_END } from '../core/byte-string.ts'
import { DatabaseError } from '../core/database-error.ts'
import type { ReadOptions } from '../core/transactions.ts'
import { type Command, type Context, failure, type Outcome, usage } from './context.ts'
import { OPTIONS } from './option-names.ts'
import { formatDocument, statusDocument } from './status.ts'
import { Transaction } from './transaction.ts'

const DEFAULT_LIMIT = 25

function readOptions({ options }: Context): ReadOptions {
  if (options.has('TIMEOUT')) throw Object.assign(new Error('Option set with an invalid value'), { code: 2006 })
  return {
    lockAware: options.has('LOCK_AWARE') || options.has('READ_LOCK_AWARE'),
    systemKeys: options.has('ACCESS_SYSTEM_KEYS') || options.has('READ_SYSTEM_KEYS') || options.has('RAW_ACCESS'),
  }
}

const isSpecial = (key: string) => key.startsWith(SYSTEM_END) && key.length > SYSTEM_END.length

/** Keys of the database wait for it; keys of the client and of processes do not. Source: fdb-recordings 23/067..076. */
async function specialRows(context: Context, key: string): Promise<readonly (readonly [string, string])[]> {
  if (/^\xff\xff\/(?:management|configuration)\//.test(key)) {
    await context.client.request('readVersion', { lockAware: true })
  }
  return await context.client.request('special', { clusterFile: context.file.path })
}

async function readKey(context: Context, key: string): Promise<string | undefined> {
  if (key === '\xff\xff/status/json') return toBytes(formatDocument(await statusDocument(context)))
  if (isSpecial(key)) return (await specialRows(context, key)).find(([known]) => known === key)?.[1]
  const transaction = context.transaction ?? new Transaction(context.client)
  return await transaction.get(key, readOptions(context))
}

const get: Command = async (context, words) => {
  const [, key] = words
  if (key === undefined || words.length !== 2) return usage(context, 'get <KEY>')
  checkKey(context, key)
  const value = await readKey(context, key)
  const text =
    value === undefined ? "': not found" : `' is \`${key.endsWith('/status/json') ? value : printable(value)}'`
  context.host.stdout(`\`${printable(key)}${text}\n`)
  return 'done'
}

function checkKey(context: Context, key: string): void {
  if (isSpecial(key)) return
  const { systemKeys = false } = readOptions(context)
  if (key > (systemKeys ? SYSTEM_END : USER_END)) throw new DatabaseError(2004)
}

function rangeCommand(name: string, line: (key: string, value: string) => string): Command {
  return async (context, words) => {
    const [, begin, given, limitText] = words
    const limit = limitText === undefined ? DEFAULT_LIMIT : Number(limitText)
    if (begin === undefined || words.length > 4 || !Number.isInteger(limit) || limit < 1) {
      return usage(context, `${name} <BEGINKEY> [ENDKEY] [LIMIT]`)
    }
    const end = given ?? prefixEnd(begin)
    const rows = isSpecial(begin)
      ? (await specialRows(context, begin)).filter(([key]) => key >= begin && key < end).slice(0, limit)
      : await (context.transaction ?? new Transaction(context.client)).range(begin, end, limit, readOptions(context))
    const lines = rows.map(([key, value]) => `${line(printable(key), printable(value))}\n`).join('')
    context.host.stdout(`\nRange limited to ${String(limit)} keys\n${lines}\n`)
    return 'done'
  }
}

/** The first key that does not begin with the prefix. */
function prefixEnd(prefix: string): string {
  const body = prefix.replace(/\xff+$/, '')
  if (body === '') return SYSTEM_END
  return body.slice(0, -1) + String.fromCharCode(body.charCodeAt(body.length - 1) + 1)
}

async function write(context: Context, key: string, change: (transaction: Transaction) => void): Promise<Outcome> {
  if (!context.writeMode) return failure(context, 'writemode must be enabled to set or clear keys in the database.')
  if (isSpecial(key)) {
    const allowed = context.options.has('SPECIAL_KEY_SPACE_ENABLE_WRITES')
    throw new DatabaseError(allowed ? 2117 : 2114)
  }
  checkKey(context, key)
  const transaction = context.transaction ?? new Transaction(context.client)
  change(transaction)
  if (context.transaction !== undefined) return 'done'
  return await committed(context, transaction)
}

async function committed(context: Context, transaction: Transaction): Promise<Outcome> {
  const version = await transaction.commit(readOptions(context))
  context.host.stdout(`Committed (${String(version)})\n`)
  return 'done'
}

const set: Command = async (context, [, key, value, more]) => {
  if (key === undefined || value === undefined || more !== undefined) return usage(context, 'set <KEY> <VALUE>')
  return await write(context, key, (transaction) => {
    transaction.set(key, value)
  })
}

const clear: Command = async (context, [, key, more]) => {
  if (key === undefined || more !== undefined) return usage(context, 'clear <KEY>')
  return await write(context, key, (transaction) => {
    transaction.clear(key, keyAfter(key))
  })
}

const clearrange: Command = async (context, [, begin, end, more]) => {
  if (begin === undefined || end === undefined || more !== undefined)
    return usage(context, 'clearrange <BEGINKEY> <ENDKEY>')
  return await write(context, begin, (transaction) => {
    transaction.clear(begin, end)
  })
}

const begin: Command = (context) => {
  if (context.transaction !== undefined) return failure(context, 'Already in transaction')
  context.transaction = new Transaction(context.client)
  context.host.stdout('Transaction started\n')
  return 'done'
}

const commit: Command = async (context) => {
  const { transaction } = context
  if (transaction === undefined) return failure(context, 'No active transaction')
  context.transaction = undefined
  return await committed(context, transaction)
}

function endCommand(text: string, again: boolean): Command {
  return (context) => {
    if (context.transaction === undefined) return failure(context, 'No active transaction')
    context.transaction = again ? new Transaction(context.client) : undefined
    context.host.stdout(`${text}\n`)
    return 'done'
  }
}

const writemode: Command = (context, [, mode]) => {
  if (mode !== 'on' && mode !== 'off') return usage(context, 'writemode <on|off>')
  context.writeMode = mode === 'on'
  return 'done'
}

const option: Command = (context, [, mode, name, value]) => {
  const { host, options } = context
  if (mode === undefined) {
    if (options.size === 0) host.stderr('There are no options enabled\n')
    else host.stdout(`\nFollowing options are enabled:\n${[...options.keys()].map((key) => `${key}\n`).join('')}\n`)
    return 'done'
  }
  if ((mode !== 'on' && mode !== 'off') || name === undefined) return usage(context, 'option <STATE> <OPTION> <ARG>')
  if (!OPTIONS.has(name)) {
    return failure(context, `invalid option '${name}'. Try \`help options' for a list of available options.`)
  }
  if (mode === 'on') options.set(name, value)
  else options.delete(name)
  const scope = context.transaction === undefined ? 'all transactions' : 'current transaction'
  host.stdout(`Option ${mode === 'on' ? 'enabled' : 'disabled'} for ${scope}\n`)
  return 'done'
}

const getversion: Command = async (context): Promise<Outcome> => {
  context.host.stdout(`${String(await context.client.request('readVersion', readOptions(context)))}\n`)
  return 'done'
}

const getlocation: Command = async (context, [, begin, end]) => {
  if (begin === undefined) return usage(context, 'getlocation <KEY> [<KEY2>]')
  const shards = await context.client.request('locations', { begin, end: end ?? keyAfter(begin) })
  for (const shard of shards) {
    const last = shard.end > SYSTEM_END ? SYSTEM_END : shard.end
    context.host.stdout(`Key range: ${printable(shard.begin)} - ${printable(last)}\n`)
    for (const address of shard.addresses) context.host.stdout(`  ${address}\n`)
  }
  return 'done'
}

const usetenant: Command = async (context, [, name]) => {
  if (name === undefined) return usage(context, 'usetenant <TENANT_NAME>')
  const tenants = await context.client.request('tenants', {})
  if (!tenants.includes(name)) return failure(context, `Tenant \`${printable(name)}' does not exist`)
  context.host.stdout(`Using tenant \`${printable(name)}'\n`)
  return 'done'
}

export const keyCommands: Readonly<Record<string, Command>> = {
  begin,
  clear,
  clearrange,
  commit,
  get,
  getlocation,
  getrange: rangeCommand('getrange', (key, value) => `\`${key}' is \`${value}'`),
  getrangekeys: rangeCommand('getrangekeys', (key) => `\`${key}'`),
  getversion,
  option,
  reset: endCommand('Transaction reset', true),
  rollback: endCommand('Transaction rolled back', false),
  set,
  usetenant,
  writemode,
}
