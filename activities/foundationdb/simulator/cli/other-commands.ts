// Status, help, switches and commands without a database. Source: fdb-recordings 05.

import { printable } from '../core/byte-string.ts'
import { sleep } from '../core/clock.ts'
import { type Command, type Context, failure, type Outcome, usage } from './context.ts'
import { helpText } from './help.ts'
import { formatDocument, statusDocument } from './status.ts'
import { minimalText, statusText } from './status-text.ts'

const status: Command = async (context, words) => {
  const [, form = ''] = words
  if (words.length > 2 || !['', 'minimal', 'details', 'json'].includes(form)) {
    return usage(context, 'status [minimal|details|json]')
  }
  const { host, interactive, file } = context
  const document = await statusDocument(context)
  const [before, after] = interactive ? ['\n', '\n'] : ['', '']
  if (form === 'json') host.stdout(`${before}${formatDocument(document)}\n${after}`)
  else if (form === 'minimal') {
    host.stdout(`${before}${minimalText(document)}\n${after}`)
    const stale = document.client['cluster_file'] as { up_to_date?: boolean }
    if (stale.up_to_date === false) {
      host.stderr("WARNING: The cluster file is not up to date. Type 'status' for more information.\n")
    }
  } else host.stdout(`${before}${statusText(document, file.path, form === 'details')}${after}`)
  return 'done'
}

const help: Command = (context, [, topic]) => {
  context.host.stdout(helpText(topic))
  return 'done'
}

const pause: Command = async (context, words) => {
  const [, seconds] = words
  if (words.length !== 2 || !/^\d+(?:\.\d+)?$/.test(seconds ?? '')) return usage(context, 'sleep <SECONDS>')
  await sleep(context.host.clock, Number(seconds))
  return 'done'
}

const waitForDatabase: Command = async (context): Promise<Outcome> => {
  await context.client.request('readVersion', { lockAware: true })
  return 'done'
}

const profile: Command = async (context, words) => {
  const [, form, action] = words
  if (form === 'list') {
    for (const [address] of await context.client.request('workers', {})) context.host.stdout(`${address}\n`)
    return 'done'
  }
  if (form === 'client' && action === 'get') {
    await context.client.request('readVersion', { lockAware: true })
    context.host.stdout('Client profiling rate is set to default and size limit is set to default.\n')
    return 'done'
  }
  return usage(context, 'profile <client|list> <action> <ARGS>')
}

const consistencycheck: Command = async (context, words) => {
  const [, mode] = words
  if (words.length > 2 || (mode !== undefined && mode !== 'on' && mode !== 'off'))
    return usage(context, 'consistencycheck [on|off]')
  const on = await context.client.request('consistencyCheck', mode === undefined ? {} : { on: mode === 'on' })
  if (mode === undefined) context.host.stdout(`ConsistencyCheck is ${on ? 'on' : 'off'}\n`)
  return 'done'
}

const datadistribution: Command = async (context, words) => {
  const [, mode] = words
  if (words.length !== 2 || (mode !== 'on' && mode !== 'off')) {
    return usage(context, 'datadistribution <on|off|disable <ssfailure|rebalance>|enable <ssfailure|rebalance>>')
  }
  await context.client.request('distribution', { on: mode === 'on' })
  context.host.stdout(`Data distribution is turned ${mode}.\n`)
  return 'done'
}

/** Prints a constant as soon as the database is available. */
function constant(text: string): Command {
  return async (context): Promise<Outcome> => {
    await context.client.request('readVersion', { lockAware: true })
    context.host.stdout(text)
    return 'done'
  }
}

const throttle: Command = async (context, words) => {
  if (words[1] !== 'list') return usage(context, 'throttle <on|off|enable auto|disable auto|list> [ARGS]')
  return await constant('There are no throttled tags\n')(context, words)
}

const listtenants: Command = async ({ client, host }): Promise<Outcome> => {
  const tenants = await client.request('tenants', {})
  if (tenants.length === 0) host.stdout('The cluster has no tenants\n')
  for (const [index, name] of tenants.entries()) host.stdout(`  ${String(index + 1)}. ${printable(name)}\n`)
  return 'done'
}

const gettenant: Command = async (context, [, name]) => {
  if (name === undefined) return usage(context, 'gettenant <TENANT_NAME> [JSON]')
  const id = (await context.client.request('tenants', {})).indexOf(name)
  if (id < 0) return failure(context, 'Tenant does not exist (2131)')
  const prefix = printable(`\0\0\0\0\0\0\0${String.fromCharCode(id)}`)
  context.host.stdout(`  id: ${String(id)}\n  prefix: ${prefix}\n`)
  return 'done'
}

function tenantCommand(operation: 'createTenant' | 'deleteTenant', name: string, verb: string): Command {
  return async (context, [, tenant]) => {
    if (tenant === undefined) return usage(context, `${name} <TENANT_NAME>`)
    await context.client.request(operation, { name: tenant })
    context.host.stdout(`The tenant \`${printable(tenant)}' has been ${verb}\n`)
    return 'done'
  }
}

const quit: Command = () => 'quit'
const usageOnly =
  (text: string): Command =>
  (context: Context) =>
    usage(context, text)

export const otherCommands: Readonly<Record<string, Command>> = {
  consistencycheck,
  createtenant: tenantCommand('createTenant', 'createtenant', 'created'),
  datadistribution,
  deletetenant: tenantCommand('deleteTenant', 'deletetenant', 'deleted'),
  exit: quit,
  force_recovery_with_data_loss: usageOnly('force_recovery_with_data_loss <DCID>'),
  gettenant,
  help,
  listtenants,
  profile,
  quit,
  sleep: pause,
  snapshot: (context) => {
    context.host.stderr("ERROR: Unknown command `snapshot'\n")
    return 'failed'
  },
  status,
  throttle,
  triggerddteaminfolog: constant('Triggered team info logging in data distribution.\n'),
  tssq: usageOnly('tssq start|stop <StorageUID>'),
  versionepoch: constant('Version epoch is unset\n'),
  waitconnected: async ({ client }): Promise<Outcome> => {
    await client.session()
    return 'done'
  },
  waitopen: waitForDatabase,
}
