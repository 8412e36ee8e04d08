// The simulated fdbbackup (recordings 21).
//
// B1. Commands change records in the database; only the agents read keys and write files.

import type { Host } from '../cli/context.ts'
import { sleep } from '../core/clock.ts'
import { BackupContainer, containerFolder, describeContainer, InvalidUrl } from './backup-container.ts'
import { backupStatusJson, backupStatusText, isRunning } from './backup-status.ts'
import type { BackupRecord } from './records.ts'
import { fatal, newUid, runTool, ToolError, toolVersion, type ToolSession } from './tool-session.ts'

const DEFAULT_INTERVAL_SECONDS = 864_000
/** How long `start` waits for an agent. */
const START_SECONDS = 5
const POLL_SECONDS = 0.25
const ACTIONS =
  'start | status | abort | wait | discontinue | pause | resume | expire | delete | describe | list | query | cleanup | tags'

type Action = (session: ToolSession) => Promise<void>

export async function fdbbackup(argv: readonly string[], host: Host): Promise<number> {
  const [name = '', ...args] = argv
  if (name === '--version' || name === '-v') host.stdout(toolVersion(host))
  else if (name === '' || name === '--help' || name === '-h') host.stdout(usage(host))
  if (name === '') return 1
  if (/^(?:--version|-v|--help|-h)$/.test(name)) return 0
  const action = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  return await runTool('fdbbackup', host, action === undefined ? [] : args, async (session) => {
    if (action === undefined) throw new ToolError(`ERROR: unknown option \`${name}'\n$HINT`)
    await action(session)
  })
}

function usage({ version }: Host): string {
  const product = `FoundationDB ${version.replace(/\.\d+$/, '')} (v${version})`
  return `${product}\nUsage: fdbbackup [TOP_LEVEL_OPTIONS] (${ACTIONS}) [ACTION_OPTIONS]\n`
}

const COMMANDS: Readonly<Record<string, Action>> = {
  start,
  status,
  discontinue,
  abort,
  modify,
  wait: waitForEnd,
  pause: (session) => setPaused(session, true),
  resume: (session) => setPaused(session, false),
  tags: async ({ host, records }) => {
    for (const { tag } of await records().backups()) host.stdout(`${tag}\n`)
  },
  list: async ({ host, options }) => {
    const base = requiredUrl(options.url)
    for (const name of new BackupContainer(base, host.environment).list()) host.stdout(`${base}/${name}\n`)
    await Promise.resolve()
  },
  describe: async ({ host, options }) => {
    const url = requiredUrl(options.url)
    host.stdout(describeContainer(url, existingContainer(url, host)))
    await Promise.resolve()
  },
  delete: deleteBackup,
  cleanup: async ({ records }) => {
    await records().isPaused()
  },
}

async function start({ host, options, records }: ToolSession): Promise<void> {
  const { tag } = options
  const url = requiredUrl(options.url)
  const intervalSeconds = readInterval(options.interval) ?? DEFAULT_INTERVAL_SECONDS
  // An invalid URL is an error even if the database is unavailable.
  containerFolder(url, host.environment)
  const store = records()
  const before = await store.backup(tag)
  if (before !== undefined && isRunning(before)) {
    throw fatal(`ERROR: A backup is already running on tag \`${tag}'`, 'Backup error')
  }
  if (!options.isDryRun) {
    const destination = url.startsWith('file://') ? `${url}/backup-${folderTime(host)}` : url
    new BackupContainer(destination, host.environment).create()
    await store.change<BackupRecord>('backup', tag, () => ({
      tag,
      uid: newUid(host),
      url: destination,
      state: 'Submitted',
      intervalSeconds,
      bytes: 0,
      stopsWhenDone: !options.isContinuous,
    }))
  }
  if (options.waits) {
    host.stdout(`Submitted and now waiting for the backup on tag \`${tag}' to complete.\n`)
    await until(host, async () => !(await isOnTag(store.backup(tag))))
    return
  }
  const hasBegun = await until(host, async () => (await store.backup(tag))?.state !== 'Submitted', START_SECONDS)
  const isAnswered = hasBegun && !options.isDryRun
  const result = isAnswered ? 'submitted' : 'submitted but no backup agents are responding'
  host.stdout(`The backup on tag \`${tag}' was successfully ${result}.${options.isDryRun ? ' (DRY RUN)' : ''}\n`)
}

async function status({ host, options: { tag, isJson }, records }: ToolSession): Promise<void> {
  const store = records()
  const [record, paused] = [await store.backup(tag), await store.isPaused()]
  if (isJson) host.stdout(`${backupStatusJson(tag, record, paused, host.wallSeconds())}\n`)
  else host.stdout(backupStatusText(record, paused))
}

async function discontinue({ host, options: { tag, waits }, records }: ToolSession): Promise<void> {
  const store = records()
  if (!(await isOnTag(store.backup(tag)))) throw notRunning('in', tag)
  await store.changeBackup(tag, (before) => ({ ...before, stopsWhenDone: true }))
  if (waits) await until(host, async () => !(await isOnTag(store.backup(tag))))
  host.stdout(`The backup on tag \`${tag}' was successfully discontinued.\n`)
}

async function abort({ host, options: { tag }, records }: ToolSession): Promise<void> {
  const store = records()
  if (!(await isOnTag(store.backup(tag)))) throw notRunning('was', tag)
  await store.changeBackup(tag, (before) => ({ ...before, state: 'Aborted' }))
  host.stdout(`The backup on tag \`${tag}' was successfully aborted.\n`)
}

async function modify({ options, records, host }: ToolSession): Promise<void> {
  const { tag, url } = options
  const intervalSeconds = readInterval(options.interval)
  if (intervalSeconds === undefined && url === undefined) {
    throw fatal('No changes were specified, nothing to do!', 'Backup error')
  }
  if (url !== undefined) containerFolder(url, host.environment)
  const changed = await records().change<BackupRecord>('backup', tag, (before) =>
    before === undefined || !isRunning(before)
      ? undefined
      : { ...before, ...(url !== undefined && { url }), ...(intervalSeconds !== undefined && { intervalSeconds }) },
  )
  if (changed === undefined) throw fatal(`No backup exists on tag '${tag}'`, 'Backup error')
}

async function waitForEnd({ host, options: { tag }, records }: ToolSession): Promise<void> {
  await until(host, async () => !(await isOnTag(records().backup(tag))))
}

async function setPaused({ host, records }: ToolSession, paused: boolean): Promise<void> {
  await records().pause(paused)
  host.stdout(`All backup agents have been ${paused ? 'paused' : 'resumed'}.\n`)
}

/** Only blobstore backups can be deleted (recording 21/130). */
async function deleteBackup({ host, options }: ToolSession): Promise<void> {
  const url = requiredUrl(options.url)
  host.stdout(`Deleting ${url}...\n`)
  const container = existingContainer(url, host)
  if (!url.startsWith('blobstore://')) {
    throw fatal('ERROR: Backup Container URL invalid', 'Backup Container URL invalid')
  }
  container.delete()
  host.stdout('The entire container has been deleted.\n')
  await Promise.resolve()
}

/** @throws ToolError if there is no such backup. */
export function existingContainer(url: string, { environment }: Host): BackupContainer {
  const container = new BackupContainer(url, environment)
  if (container.exists) return container
  throw fatal('ERROR: Backup does not exist', 'Backup does not exist')
}

function requiredUrl(url: string | undefined): string {
  if (url === undefined) throw new ToolError('ERROR: No backup destination was specified.\n$HINT', 10)
  if (!/^(?:file|blobstore):\/\//.test(url)) {
    throw new InvalidUrl(`'Backup Container URL invalid' on URL '${url}': invalid URL prefix`)
  }
  return url
}

function readInterval(text: string | undefined): number | undefined {
  if (text === undefined || /^\d+$/.test(text)) return text === undefined ? undefined : Number(text)
  throw new ToolError(`ERROR: Could not parse snapshot interval \`${text}'\n$HINT`)
}

function notRunning(verb: 'in' | 'was', tag: string): ToolError {
  return fatal(`ERROR: A backup ${verb} not running on tag \`${tag}'`, 'Backup unneeded request')
}

async function isOnTag(record: Promise<BackupRecord | undefined>): Promise<boolean> {
  const found = await record
  return found !== undefined && isRunning(found)
}

/** @returns false if the condition did not hold within the time. */
async function until(host: Host, test: () => Promise<boolean>, seconds = Infinity): Promise<boolean> {
  const end = host.clock.now() + seconds
  while (!(await test())) {
    if (host.clock.now() >= end) return false
    await sleep(host.clock, POLL_SECONDS)
  }
  return true
}

/** For example `2026-11-27-12-11-54.856959`. */
function folderTime({ wallSeconds, random }: Host): string {
  const [date = '', time = ''] = new Date(wallSeconds() * 1000).toISOString().replace('Z', '').split('T')
  return `${date}-${time.replaceAll(':', '-')}${String(Math.floor(random() * 1000)).padStart(3, '0')}`
}
