// Commands that change the database's settings. Source: fdb-recordings 03, 07, 09, 10, 19.

import { isCoordinatorAddress, parseConnectionString } from '../core/connection-string.ts'
import { readConfigurationWords } from '../core/configuration.ts'
import type { ConfigureResult } from '../core/management.ts'
import { type Command, type Context, failure, type Outcome, usage } from './context.ts'
import { readConfigurationFile } from './configuration-file.ts'
import { updateClusterFile } from './status.ts'

const CONFIGURE_USAGE =
  'configure [new|tss]<single|double|triple|three_data_hall|three_datacenter|ssd|memory|memory-radixtree-beta|proxies=<PROXIES>|commit_proxies=<COMMIT_PROXIES>|grv_proxies=<GRV_PROXIES>|logs=<LOGS>|resolvers=<RESOLVERS>>*|count=<TSS_COUNT>|perpetual_storage_wiggle=<WIGGLE_SPEED>|perpetual_storage_wiggle_locality=<<LOCALITY_KEY>:<LOCALITY_VALUE>|0>|storage_migration_type={disabled|gradual|aggressive}|tenant_mode={disabled|optional_experimental|required_experimental}|blob_granules_enabled={0|1}|exclude=<ADDRESS...>'

const GRADUAL_WARNING =
  "WARN: To make progress toward the desired storage type with storage_migration_type=gradual, the Perpetual Wiggle must be enabled.\nType `configure perpetual_storage_wiggle=1' to enable the perpetual wiggle, or `configure storage_migration_type=gradual' to set the gradual migration type.\n"

const REFUSALS: Readonly<Partial<Record<ConfigureResult, string>>> = {
  exists: "Database already exists! To change configuration, don't say `new'",
  invalid: 'These changes would make the configuration invalid',
  unknown_region: 'All storage servers must be in one of the known regions',
  regions_and_usable: 'The region configuration cannot be changed while simultaneously changing usable_regions',
  one_active_region: 'When changing usable_regions, only one region can have priority >= 0',
  not_replicated:
    'When usable_regions > 1, all regions with priority >= 0 must be fully replicated before changing the configuration',
  engine_locked:
    "Storage engine type cannot be changed because storage_migration_type=disabled.\nType `configure perpetual_storage_wiggle=1 storage_migration_type=gradual' to enable gradual migration with the perpetual wiggle, or `configure storage_migration_type=aggressive' for aggressive migration.",
}
const FORCIBLE: readonly ConfigureResult[] = [
  'unknown_region',
  'regions_and_usable',
  'one_active_region',
  'not_replicated',
]

const configure: Command = async (context, words) => {
  const given = words.slice(1)
  if (given[0] === 'auto') {
    context.host.stdout('Unable to provide advice for the current configuration.\n')
    return 'failed'
  }
  const isNew = given[0] === 'new'
  const force = given.includes('FORCE')
  const { changes, warnings, valid } = readConfigurationWords(
    given.slice(isNew ? 1 : 0).filter((word) => word !== 'FORCE'),
  )
  context.host.stdout(warnings)
  const complete = changes.has('storage_replicas') && changes.has('storage_engine')
  if (!valid || (isNew && !complete)) return usage(context, CONFIGURE_USAGE)
  const result = await context.client.request('configure', { changes: [...changes], isNew, force })
  return await reportConfigured(context, result, (text) => {
    context.host.stderr(`${text}Type \`configure FORCE <TOKEN...>' to configure without this check\n`)
  })
}

async function reportConfigured(
  context: Context,
  result: ConfigureResult,
  hint: (text: string) => void,
): Promise<Outcome> {
  const refusal = REFUSALS[result]
  if (refusal !== undefined && FORCIBLE.includes(result)) {
    hint(`ERROR: ${refusal}\n`)
    return 'failed'
  }
  if (refusal !== undefined) return failure(context, refusal)
  if (result === 'incomplete') return usage(context, CONFIGURE_USAGE)
  if (result === 'created') {
    context.host.stdout('Database created\n')
    return 'done'
  }
  const keys = await context.client.request('range', {
    begin: '\xff/conf/',
    end: '\xff/conf0',
    limit: 0,
    systemKeys: true,
    lockAware: true,
  })
  const value = (name: string) => keys.find(([key]) => key === `\xff/conf/${name}`)?.[1]
  const stuck = value('storage_migration_type') === '3' && value('perpetual_storage_wiggle') !== '1'
  if (stuck) context.host.stderr(GRADUAL_WARNING)
  context.host.stdout(stuck ? 'Configuration changed, with warnings\n' : 'Configuration changed\n')
  return 'done'
}

const fileconfigure: Command = async (context, words) => {
  const given = words.slice(1)
  const isNew = given[0] === 'new'
  const force = given[0] === 'FORCE'
  const path = given[isNew || force ? 1 : 0]
  if (path === undefined) return usage(context, 'fileconfigure [new] <FILENAME>')
  const content = readConfigurationFile(context.host, path)
  if ('error' in content) {
    if (content.stream === 'stdout') context.host.stdout(`ERROR: ${content.error}\n`)
    else context.host.stderr(`ERROR: ${content.error}\n`)
    return 'failed'
  }
  const result = await context.client.request('configure', { changes: content.changes, isNew, force })
  return await reportConfigured(context, result, (text) => {
    context.host.stderr(text)
    context.host.stdout("Type `fileconfigure FORCE <FILENAME>' to configure without this check\n")
  })
}

const coordinators: Command = async (context, words) => {
  if (words.length === 1) return listCoordinators(context)
  const description = words.find((word) => word.startsWith('description='))?.slice('description='.length)
  const addresses = words.slice(1).filter((word) => !word.startsWith('description='))
  if (description !== undefined && !/^\w+$/.test(description)) {
    return failure(context, 'Cluster description must match [A-Za-z0-9_]+')
  }
  const wrong = addresses.find((address) => address !== 'auto' && !isCoordinatorAddress(address))
  if (wrong !== undefined) {
    context.host.stderr(`ERROR: '${wrong}' is not a valid network endpoint address\n`)
    return 'done'
  }
  const twice = addresses.find((address, index) => addresses.indexOf(address) !== index)
  if (twice !== undefined) {
    context.host.stderr(`ERROR: passed redundant coordinators: \`${twice}'\n`)
    return 'done'
  }
  const chosen = addresses[0] === 'auto' ? await context.client.request('automaticCoordinators', {}) : addresses
  return await changeCoordinators(context, chosen === 'good' ? [] : chosen, description)
}

function listCoordinators({ file, host }: Context): Outcome {
  const { description, coordinators: list } = file.connection
  host.stdout(
    `Cluster description: ${description}\nCluster coordinators (${String(list.length)}): ${list.join(',')}\nType \`help coordinators' to learn how to change this information.\n`,
  )
  return 'done'
}

async function changeCoordinators(
  context: Context,
  addresses: readonly string[],
  description: string | undefined,
): Promise<Outcome> {
  const { client, host } = context
  await client.request('readVersion', {})
  const result = await client.request('coordinators', {
    ...(addresses.length > 0 && { coordinators: addresses }),
    ...(description !== undefined && { description }),
  })
  if (result === 'unreachable') return failure(context, 'One of the specified coordinators is unreachable')
  const special = await client.request('special', { clusterFile: context.file.path })
  const current = parseConnectionString(special.find(([key]) => key === '\xff\xff/connection_string')?.[1] ?? '')
  if (current !== undefined) updateClusterFile(context, current)
  host.stdout(
    result === 'same' ? 'No change (existing configuration satisfies request)\n' : 'Coordination state changed\n',
  )
  return 'done'
}

const setclass: Command = async (context, words) => {
  const [, address, name] = words
  const { client, host } = context
  if (words.length === 1) {
    const classes = await client.request('classes', {})
    const lines = classes.map(([process, known, source]) => `  ${process}: ${known} (${source})\n`).join('')
    host.stdout(`There are currently ${String(classes.length)} processes in the database:\n${lines}`)
    return 'done'
  }
  if (address === undefined || name === undefined || words.length > 3)
    return usage(context, 'setclass [<ADDRESS> <CLASS>]')
  const result = await client.request('setClass', { address, name })
  if (result === 'unknown_class') return failure(context, `'${name}' is not a valid process class`)
  if (result === 'unknown_address') {
    host.stdout('No matching addresses found\n')
    return 'failed'
  }
  return 'done'
}

const maintenance: Command = async (context, words) => {
  const [, mode, zone, seconds] = words
  const { client, host } = context
  if (mode === undefined) {
    const now = await client.request('maintenance', {})
    host.stdout(
      now === 'none'
        ? 'No ongoing maintenance.\n'
        : `Maintenance for zone ${now.zone} will continue for ${String(now.seconds)} seconds.\n`,
    )
    return 'done'
  }
  if (mode === 'off' && words.length === 2) {
    await client.request('setMaintenance', {})
    return 'done'
  }
  if (mode !== 'on' || zone === undefined || !/^-?\d+$/.test(seconds ?? '') || words.length !== 4) {
    return usage(context, 'maintenance [on|off] [ZONEID] [SECONDS]')
  }
  await client.request('setMaintenance', { zone, seconds: Number(seconds) })
  return 'done'
}

function randomText({ host }: Context, length: number, alphabet: string): string {
  return Array.from({ length }, () => alphabet[Math.floor(host.random() * alphabet.length)] ?? '').join('')
}

const lock: Command = async (context, words) => {
  if (words.length !== 1) return usage(context, 'lock')
  const uid = randomText(context, 32, '0123456789abcdef')
  context.host.stdout(`Locking database with lockUID: ${uid}\n`)
  const result = await context.client.request('lock', { uid })
  if (result === 'other') return failure(context, 'Database is locked (1038)')
  context.host.stdout('Database locked.\n')
  return 'done'
}

const unlock: Command = async (context, words) => {
  const [, uid] = words
  if (uid === undefined || words.length !== 2 || !/^[0-9a-f]{32}$/.test(uid)) return usage(context, 'unlock <UID>')
  const passphrase = randomText(context, 10, 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789')
  context.host.stdout(`Unlocking the database is a potentially dangerous operation.\n${passphrase}\n`)
  const answer = await context.host.input.next()
  if (answer.done === true || answer.value !== passphrase) return failure(context, 'Incorrect passphrase entered.')
  const result = await context.client.request('unlock', { uid })
  if (result === 'other')
    return failure(context, 'Unable to unlock database. Make sure to unlock with the correct lock UID.')
  context.host.stdout('Database unlocked.\n')
  return 'done'
}

export const managementCommands: Readonly<Record<string, Command>> = {
  configure,
  coordinators,
  fileconfigure,
  lock,
  maintenance,
  setclass,
  unlock,
}
