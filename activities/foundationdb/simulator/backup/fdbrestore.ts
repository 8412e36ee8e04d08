// The simulated fdbrestore (recordings 21/095 to 21/118). The agents do the work.

import type { Host } from '../cli/context.ts'
import { sleep } from '../core/clock.ts'
import { printable, toBytes, USER_END } from '../core/byte-string.ts'
import { type BackupContainer, describeContainer, sizeOf } from './backup-container.ts'
import { existingContainer } from './fdbbackup.ts'
import type { Records, RestoreRecord } from './records.ts'
import { fatal, newUid, runTool, ToolError, toolVersion, type ToolSession } from './tool-session.ts'

type Ranges = RestoreRecord['ranges']

const POLL_SECONDS = 0.1
const NO_UID = '0'.repeat(32)

export async function fdbrestore(argv: readonly string[], host: Host): Promise<number> {
  const [name = '', ...args] = argv
  if (name === '--version' || name === '-v') host.stdout(toolVersion(host))
  else if (name === '' || name === '--help' || name === '-h') host.stdout(usage(host))
  if (name === '') return 1
  if (/^(?:--version|-v|--help|-h)$/.test(name)) return 0
  const action = { start, status, abort, wait }[name]
  return await runTool('fdbrestore', host, action === undefined ? [] : args, async (session) => {
    if (action === undefined) throw new ToolError(`ERROR: unknown option \`${name}'\n$HINT`)
    if (session.options.clusterFile === undefined) {
      throw new ToolError('Restore destination cluster file must be specified explicitly.')
    }
    await action(session, args)
  })
}

function usage({ version }: Host): string {
  const product = `FoundationDB ${version.replace(/\.\d+$/, '')} (v${version})`
  return `${product}\nUsage: fdbrestore [TOP_LEVEL_OPTIONS] (start | status | abort | wait) [OPTIONS]\n`
}

async function start({ host, options, records }: ToolSession): Promise<void> {
  const { url = '', tag } = options
  const container = existingContainerAfterNotice(url, options.version, host)
  const version = restoreVersion(url, container, options.version, host)
  const ranges = readRanges(options.keys)
  const store = records()
  const pairs = (await store.userKeys()).pairs.filter(([key]) => isInRanges(key, ranges))
  const previous = (await store.restores()).find((one) => one.tag === tag)
  if (sizeOf(pairs) > 0 || previous?.state === 'running' || previous?.state === 'queued') {
    const text = 'Attempted to restore into a non-empty destination database'
    throw fatal(`ERROR: ${text}`, text)
  }
  const record: RestoreRecord = { tag, uid: newUid(host), url, state: 'queued', version, ranges, bytes: 0 }
  await store.change<RestoreRecord>('restore', tag, () => record)
  if (!options.waits) return
  const completed = await waitForEnd(store, tag, host)
  host.stdout(`${restoreLine(completed)}\nRestored to version ${String(version)}\n`)
}

function existingContainerAfterNotice(url: string, version: string | undefined, host: Host): BackupContainer {
  if (version === undefined) {
    host.stdout('No restore target version given, will use maximum restorable version from backup description.\n')
  }
  return existingContainer(url, host)
}

function restoreVersion(url: string, container: BackupContainer, wanted: string | undefined, host: Host): number {
  const newest = container.snapshots().at(-1)?.version
  if (wanted === undefined && newest !== undefined) host.stdout(`Ussing target restore version ${String(newest)}\n`)
  host.stdout(`Backup Description\n${describeContainer(url, container)}`)
  const version = wanted === undefined ? newest : Number(wanted)
  if (version === undefined || container.newestUntil(version) === undefined) {
    const text = `ERROR: Restore version ${String(version ?? 0)} is not possible from ${url}`
    throw fatal(`${text}\nERROR: Invalid restore version`, 'Invalid restore version')
  }
  host.stdout(`Restoring backup to version: ${String(version)}\n`)
  return version
}

/** `-k "a b;c d"`; one word means the keys with this prefix. No `-k` means all keys. */
function readRanges(keys: readonly string[]): Ranges {
  const ranges = keys.flatMap((text) => text.split(';')).map((text) => text.trim().split(/\s+/).map(unescapeKey))
  if (ranges.length === 0) return [['', USER_END]]
  return ranges.map(([begin = '', end = afterPrefix(begin)]) => [begin, end])
}

function unescapeKey(text: string): string {
  return toBytes(text)
    .replaceAll(/\\x([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll('\\\\', '\\')
}

/** The first key that does not start with the prefix. */
function afterPrefix(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)
}

export function isInRanges(key: string, ranges: Ranges): boolean {
  return ranges.some(([begin, end]) => key >= begin && key < end)
}

async function status({ host, records }: ToolSession, args: readonly string[]): Promise<void> {
  const all = await records().restores()
  const isForTag = args.some((word) => /^(?:-t|--tagname)$/.test(word))
  const tag = args[args.findIndex((word) => /^(?:-t|--tagname)$/.test(word)) + 1]
  const wanted = isForTag ? all.filter((record) => record.tag === tag) : all
  const lines = wanted.map((record) => `${restoreLine(record)}  ${restoreTarget(record)}`)
  if (isForTag && wanted.length === 0) lines.push(NO_RESTORE)
  host.stdout(`${lines.join('\n\n')}\n`)
}

const NO_RESTORE = `Tag:   UID: ${NO_UID}  State: unitialized  Blocks: 0/0  BlocksInProgress: 0  Files: 0  BytesWritten: 0  CurrentVersion: -1 FirstConsistentVersion: 0  ApplyVersionLag: 0  LastError: None  URL:   Range: ''-''  AddPrefix: ''  RemovePrefix: ''  Version: 0`

function restoreLine({ tag, uid, state, version, bytes }: RestoreRecord): string {
  const [blocks, files] = state === 'completed' ? ['1/1', 1] : ['0/0', 0]
  const hasVersion = state === 'completed' || state === 'running'
  return [
    ...[`Tag: ${tag}`, `UID: ${uid}`, `State: ${state}`, `Blocks: ${blocks}`, 'BlocksInProgress: 0'],
    ...[`Files: ${String(files)}`, `BytesWritten: ${String(bytes)}`],
    `CurrentVersion: ${String(hasVersion ? version : -1)} FirstConsistentVersion: ${String(hasVersion ? version : 0)}`,
    ...['ApplyVersionLag: 0', 'LastError: None'],
  ].join('  ')
}

function restoreTarget({ url, ranges, version }: RestoreRecord): string {
  const range = ranges.map(([begin, end]) => `'${printable(begin)}'-'${printable(end)}'`).join(' ')
  return `URL: ${url}  Range: ${range}  AddPrefix: ''  RemovePrefix: ''  Version: ${String(version)}`
}

async function abort({ host, options: { tag }, records }: ToolSession): Promise<void> {
  const store = records()
  await store.change<RestoreRecord>('restore', tag, (before) =>
    before === undefined || isEnded(before) ? undefined : { ...before, state: 'aborted' },
  )
  const record = (await store.restores()).find((one) => one.tag === tag)
  host.stdout(`RESTORE_ABORT Tag: ${tag}  State: ${record?.state ?? 'unitialized'}\n`)
}

async function wait({ host, options: { tag }, records }: ToolSession): Promise<void> {
  const store = records()
  const known = (await store.restores()).some((one) => one.tag === tag)
  const state = known ? (await waitForEnd(store, tag, host)).state : 'unitialized'
  host.stdout(`waitRestore: Tag: ${tag}  State: ${state}\n`)
}

function isEnded({ state }: RestoreRecord): boolean {
  return state === 'completed' || state === 'aborted'
}

async function waitForEnd(store: Records, tag: string, host: Host): Promise<RestoreRecord> {
  for (;;) {
    const record = (await store.restores()).find((one) => one.tag === tag)
    if (record !== undefined && isEnded(record)) return record
    await sleep(host.clock, POLL_SECONDS)
  }
}
