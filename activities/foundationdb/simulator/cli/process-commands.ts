// `kill`, `exclude` and `include`. Source: fdb-recordings 06, 08, 13, 26, 31.

import { sleep } from '../core/clock.ts'
import type { ExclusionState, ExclusionStates } from '../core/management.ts'
import { type Command, type Context, failure, type Outcome, usage } from './context.ts'

/** The request to kill is sent a moment after the answer is printed; a tool that ends earlier kills nothing. */
const KILL_AFTER_SECONDS = 0.05
/** How often a blocking `exclude` looks. */
const EXCLUDE_POLL_SECONDS = 1

function addressList(verb: string, addresses: readonly string[]): string {
  if (addresses.length === 0) return `\nNo addresses can be ${verb}.\n\n`
  const [count, noun] = addresses.length === 1 ? ['', 'address'] : [` ${String(addresses.length)}`, 'addresses']
  return `\nThe following${count} ${noun} can be ${verb}:\n${addresses.join('\n')}\n\n`
}

const kill: Command = async (context, words) => {
  const { client, host, killable } = context
  const given = words.slice(1)
  if (given.length === 0) {
    for (const [address, incarnation] of await client.request('workers', {})) killable.set(address, incarnation)
  }
  if (given.length === 0 || given[0] === 'list') {
    host.stdout(addressList('killed', [...killable.keys()]))
    return 'done'
  }
  const all = given[0] === 'all'
  if (all && killable.size === 0) {
    return failure(context, 'no processes to kill. You must run the `kill’ command before running `kill all’.')
  }
  const addresses = all ? [...killable.keys()] : given
  const unknown = addresses.find((address) => !killable.has(address))
  if (unknown !== undefined) return failure(context, `process \`${unknown}' not recognized.`)
  return await killProcesses(context, addresses)
}

async function killProcesses({ client, host, killable }: Context, addresses: readonly string[]): Promise<Outcome> {
  const live = new Map(await client.request('workers', {}))
  const isGone = (address: string) => live.get(address) !== killable.get(address)
  if (addresses.some(isGone)) {
    host.stderr(
      `ERROR: failed to send requests to kill processes \`${addresses.join(',')}', please run the \`kill’ command again to fetch latest addresses.\n`,
    )
    return 'failed'
  }
  const incarnations = addresses.map((address) => killable.get(address) ?? '')
  host.clock.after(KILL_AFTER_SECONDS, () => {
    client.request('kill', { incarnations }).catch(() => {
      // The process that answers may be one of the killed ones.
    })
  })
  host.stdout(`Attempted to kill ${String(addresses.length)} processes\n`)
  return 'done'
}

const suspend: Command = async (context, words) => {
  if (words.length > 1) return failure(context, `process \`${words[2] ?? ''}' not recognized.`)
  const addresses = await context.client.request('workers', {})
  context.host.stdout(
    addressList(
      'suspended',
      addresses.map(([address]) => address),
    ),
  )
  return 'done'
}

const WORDS = ['FORCE', 'failed', 'no_wait']

function isExclusion(word: string): boolean {
  if (word.startsWith('locality_')) return /^locality_[^:]+:.+/.test(word)
  const ip = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?::\d+)?$/.exec(word)
  if (ip !== null) return ip.slice(1).every((part) => Number(part) <= 255)
  return /^(?:\[[0-9a-fA-F:.]+\](?::\d+)?|[0-9a-fA-F]*:[0-9a-fA-F:]+)$/.test(word)
}

const exclude: Command = async (context, words) => {
  const given = words.slice(1)
  if (given.length === 0) return await listExclusions(context)
  const exclusions = given.filter((word) => !WORDS.includes(word))
  const wrong = exclusions.find((word) => !isExclusion(word))
  if (wrong !== undefined) {
    context.host.stderr(`ERROR: '${wrong}' is neither a valid network endpoint address nor a locality\n`)
    if (wrong.endsWith(':tls')) context.host.stdout("        Do not include the `:tls' suffix when naming a process\n")
    return 'done'
  }
  if (exclusions.length === 0) {
    return failure(context, 'At least one valid network endpoint address or a locality must be provided')
  }
  const flags = { failed: given.includes('failed'), force: given.includes('FORCE') }
  const result = await requestExclusion(context, exclusions, flags)
  if (result !== 'stored') {
    context.host.stderr(REFUSALS[result])
    return 'failed'
  }
  const wait = !given.includes('no_wait')
  const states = wait
    ? await waitForExclusion(context, exclusions)
    : await context.client.request('exclusionStates', { exclusions })
  reportExclusions(context, states)
  return 'done'
}

const REFUSALS = {
  free_space:
    "ERROR: This exclude may cause the total free space in the cluster to drop below 10%.\nType `exclude FORCE <ADDRESS...>' to exclude without checking free space.\n",
  unknown_space:
    "ERROR: Could not calculate the impact of this exclude on the total free space in the cluster.\nPlease try the exclude again in 30 seconds.\nType `exclude FORCE <ADDRESS...>' to exclude without checking free space.\n",
  unsafe_failed:
    "ERROR: It is unsafe to exclude the specified servers at this time.\nPlease check that this exclusion does not bring down an entire storage team.\nPlease also ensure that the exclusion will keep a majority of coordinators alive.\nYou may add more storage processes or coordinators to make the operation safe.\nType `exclude FORCE failed <ADDRESS...>' to exclude without performing safety checks.\n",
} as const

async function requestExclusion(
  { client }: Context,
  exclusions: readonly string[],
  flags: { readonly failed: boolean; readonly force: boolean },
) {
  // The check of free space reads the status.
  if (!flags.force) await client.request('status', {})
  return await client.request('exclude', { exclusions, ...flags })
}

async function waitForExclusion(context: Context, exclusions: readonly string[]): Promise<ExclusionStates> {
  const { client, host } = context
  host.stdout(
    'Waiting for state to be removed from all excluded servers. This may take a while.\n(Interrupting this wait with CTRL+C will not cancel the data movement.)\n',
  )
  for (;;) {
    const states = await client.request('exclusionStates', { exclusions })
    if (!states.states.some(({ state }) => state === 'in_progress')) return states
    await sleep(host.clock, EXCLUDE_POLL_SECONDS)
  }
}

function reportExclusions({ host }: Context, { states, coordinators }: ExclusionStates): void {
  for (const state of states)
    for (const line of exclusionLines(state)) (line.warning ? host.stderr : host.stdout)(line.text)
  if (coordinators.length === 0) return
  for (const address of coordinators) host.stderr(`WARNING: ${address} is a coordinator!\n`)
  host.stdout(
    "Type `help coordinators' for information on how to change the\ncluster's coordination servers before removing them.\n",
  )
}

function exclusionLines({
  exclusion,
  state,
  processes,
}: ExclusionState): { readonly text: string; readonly warning: boolean }[] {
  const isLocality = exclusion.startsWith('locality_')
  const isMachine = !isLocality && /^[\d.]+$|^[0-9a-fA-F:]+$/.test(exclusion)
  if (state === 'missing') {
    const text = isLocality
      ? `  ${exclusion}  ---- WARNING: Currently no servers found with this locality match! Be sure that you excluded the correct locality.\n`
      : `  ${exclusion}${isMachine ? '(Whole machine)' : ''}  ---- WARNING: Missing from cluster!Be sure that you excluded the correct ${isMachine ? 'machines' : 'processes'} before removing them from the cluster!\n`
    return [{ text, warning: true }]
  }
  const names = isLocality ? processes : [`${exclusion}${isMachine ? '(Whole machine)' : ''}`]
  const noun = isMachine ? 'machine' : 'process'
  return names.map((name) =>
    state === 'in_progress'
      ? {
          text: `  ${name}  ---- WARNING: Exclusion in progress! It is not safe to remove this ${noun} from the cluster\n`,
          warning: true,
        }
      : {
          text: `  ${name}  ---- Successfully excluded. It is now safe to remove this ${noun} from the cluster.\n`,
          warning: false,
        },
  )
}

async function listExclusions({ client, host }: Context): Promise<Outcome> {
  const exclusions = await client.request('exclusions', {})
  if (exclusions.length === 0) {
    host.stdout(
      "There are currently no servers or localities excluded from the database.\nTo learn how to exclude a server, type `help exclude'.\n",
    )
    return 'done'
  }
  const lines = exclusions.map((exclusion) => `  ${exclusion}\n`).join('')
  host.stdout(
    `There are currently ${String(exclusions.length)} servers or localities being excluded from the database:\n${lines}To find out whether it is safe to remove one or more of these\nservers from the cluster, type \`exclude <addresses>'.\nTo return one of these servers to the cluster, type \`include <addresses>'.\n`,
  )
  return 'done'
}

const include: Command = async (context, words) => {
  const given = words.slice(1)
  const failed = given[0] === 'failed'
  const exclusions = failed ? given.slice(1) : given
  if (exclusions.length === 0) {
    return usage(
      context,
      'include all|[<ADDRESS...>] [locality_dcid:<excludedcid>] [locality_zoneid:<excludezoneid>] [locality_machineid:<excludemachineid>] [locality_processid:<excludeprocessid>] or any locality data',
    )
  }
  const wrong = exclusions.find((word) => word !== 'all' && !isExclusion(word))
  if (wrong !== undefined) {
    context.host.stderr(`ERROR: '${wrong}' is neither a valid network endpoint address nor a locality\n`)
    return 'done'
  }
  await context.client.request('include', { exclusions, failed })
  return 'done'
}

export const processCommands: Readonly<Record<string, Command>> = { exclude, include, kill, suspend }
