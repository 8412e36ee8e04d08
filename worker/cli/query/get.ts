// The command `pawl get`: lists objects with their newest jobs, and what each object waits for.

import { Command } from 'commander'

import type { ObjectRecord, JobRecord, ObjectName } from '../../../activities/journal/read/object-queries.ts'
import { MOST_LISTED } from '../../../activities/journal/read/limits.ts'
import { type GroupKind, valueAt, writeJson } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { ApiForbidden } from '../api-place.ts'
import { requireNamespace } from '../missing-object.ts'
import { parseOneOf } from '../usage.ts'
import { yamlText } from '../yaml-text.ts'
import { endedInEarlierJob, hasFailed, isOpen, isOver } from './job-tree.ts'
import { readLiveStatuses } from '../live-status.ts'
import { causeIn, type ListedObject, phaseOfRow, waitText, withAwaitedRows } from './listed-object.ts'
import { isInLevelMode } from './explain-status.ts'
import { nextAfterGet } from './next-step.ts'
import { kindsNamed } from './object-name.ts'
import { type JournalSession, withJournal, type JournalFlags, addJournalFlags } from './open-journal.ts'
import {
  isBusy,
  isGood,
  phaseIn,
  tableText,
  type Cell,
  formatSpan,
  formatTime,
  colourOf,
  isBad,
  type Paint,
  singleLine,
  textOf as cellText,
} from './format.ts'
import { readQueuePositions } from './waiting.ts'

const FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const

interface GetFlags extends JournalFlags {
  readonly allNamespaces?: boolean
  readonly output: (typeof FORMATS)[number]
  readonly selector?: string
}

export function getCommand(): Command {
  return addJournalFlags(
    new Command('get')
      .summary('list objects with phase, job, and what they wait for')
      .description('list objects with phase, newest job, duration, and reason for waiting')
      .argument('[kind]', 'kinds by any of their names, such as inst or inst,di; without, all kinds of Pawl')
      .option('-A, --all-namespaces', 'of all namespaces')
      .option('-l, --selector <labels>', 'of these labels, such as a=b,c=d, as far as the journal keeps them')
      .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'table'),
  )
    .addHelpText('after', '\nExamples:\n  pawl get\n  pawl get inst -A\n  pawl get di -o json')
    .action(async (kind: string | undefined, flags: GetFlags) => {
      const { text, next } = await withJournal(flags, async (journal) => await get(journal, kind, flags))
      process.stdout.write(text)
      // Scripts read stdout.
      if (next !== undefined) process.stderr.write(`${next}\n`)
    })
}

/** Only lines of terminals are cut. */
function lineWidthOf({ output }: GetFlags): number {
  return output === 'wide' || !process.stdout.isTTY ? Infinity : process.stdout.columns
}

interface Listing {
  readonly text: string
  /** The line with the next useful command. */
  readonly next?: string | undefined
}

async function get(journal: JournalSession, kind: string | undefined, flags: GetFlags): Promise<Listing> {
  const kinds = kind === undefined ? journal.ownKinds : kindsNamed(kind, journal.kinds)
  const place = flags.allNamespaces === true ? undefined : journal.namespace
  const scope = { place, isNamed: kind !== undefined }
  const labels = labelsOf(flags.selector)
  // Names need no jobs, and there may be 10,000 of them.
  if (flags.output === 'name' && labels.size === 0)
    return {
      text: getNames(
        await listAll(kinds, async (of) =>
          (await listIn(journal.listNames, of, scope)).map((row) => ({ ...of, ...row })),
        ),
      ),
    }
  const all = await listAll(kinds, async (of) => await listIn(journal.listObjects, of, scope))
  const listed = all.filter((object) => hasLabels(object, labels))
  if (all.length === 0 && !['json', 'yaml'].includes(flags.output)) await requireNamespace(journal, place)
  const form: TableOptions = {
    now: new Date(),
    paint: journal.paint,
    wide: flags.output === 'wide',
    withNamespace: place === undefined,
    withKind: kinds.length > 1,
    lineWidth: lineWidthOf(flags),
  }
  if (flags.output === 'name') return { text: getNames(listed) }
  const rows = withAwaitedRows(await withLiveStatuses(await withJobs(journal, listed), flags))
  const unready = causeIn(rows)
  const isTable = flags.output === 'table' || flags.output === 'wide'
  return {
    text: await formatOutput(rows, flags.output, form),
    next: unready === undefined || !isTable ? undefined : nextAfterGet(unready.object, flags),
  }
}

/** The objects in a namespace. Objects of a cluster-scoped kind are listed without a namespace. */
export async function listIn<Row>(
  list: (of: GroupKind, place: string | undefined) => Promise<readonly Row[]>,
  of: GroupKind,
  { place, isNamed }: { readonly place: string | undefined; readonly isNamed: boolean },
): Promise<readonly Row[]> {
  const near = await list(of, place)
  return near.length > 0 || !isNamed || place === undefined ? near : await list(of, '')
}

/** Adds what the API server knows about waiting and failed items. */
async function withLiveStatuses(rows: readonly ListedObject[], flags: GetFlags): Promise<readonly ListedObject[]> {
  const explained = rows.map(({ object, job, reason = object }) => ({ object: reason, job }))
  const open = explained.filter((node) => isOpen(node) || hasFailed(node)).map(({ object }) => object)
  const distinct = [...new Map(open.map((object) => [object.uid, object])).values()]
  const { statuses, problems } = await readLiveStatuses(distinct, flags)
  for (const problem of problems) process.stderr.write(`pawl: ${problem}\n`)
  return rows.map((row) => ({ ...row, status: statuses.get((row.reason ?? row.object).uid) }))
}

/** Lists all kinds. Kinds that `pawl api` refuses are reported on stderr. @throws ApiForbidden if it refuses all. */
async function listAll<Row>(
  kinds: readonly GroupKind[],
  list: (of: GroupKind) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const listed: Row[] = []
  const refused: ApiForbidden[] = []
  for (const { group, kind } of kinds) {
    const rows = await list({ group, kind }).catch((error: unknown) => {
      if (!(error instanceof ApiForbidden)) throw error
      refused.push(error)
      return []
    })
    if (rows.length === MOST_LISTED)
      process.stderr.write(`pawl: only the first ${MOST_LISTED} of kind ${kind} are listed; expected fewer, see -n\n`)
    listed.push(...rows)
  }
  const [first] = refused
  if (first !== undefined && refused.length === kinds.length) throw first
  for (const { message } of refused) process.stderr.write(`pawl: ${message}\n`)
  return listed
}

async function withJobs(journal: JournalSession, objects: readonly ObjectRecord[]): Promise<readonly ListedObject[]> {
  const uids = objects.map(({ uid }) => uid)
  const newest = await journal.newestJobs(uids)
  // Jobs of hosted items are not in the journal, so the newest row may belong to an earlier job.
  const jobs = new Map(
    objects.flatMap((object) => {
      const job = newest.get(object.uid)
      return job === undefined || (!object.deleted && isOver(object, job)) ? [] : [[object.uid, job] as const]
    }),
  )
  const unready = objects.filter(({ projection }) => isBusy(projection) || isBad(phaseIn(projection)))
  const controllers = [...new Set([...jobs.values()].map(({ controller }) => controller))]
  const awaited = await journal.awaitedByAll(
    controllers,
    unready.map(({ uid }) => uid),
  )
  const children = await journal.childrenOf(unready, new Date())
  const unfinished = unfinishedOf(children, objects, jobs)
  const reasons = await lowestOpen(journal, unfinished)
  const queuePositions = await readQueuePositions(
    journal,
    objects.map((object) => ({ object, job: jobs.get(object.uid) })),
  )
  return objects.map((object): ListedObject => ({
    object,
    job: jobs.get(object.uid),
    awaited: awaited.get(object.uid) ?? [],
    unfinished: unfinished.get(object.uid) ?? [],
    reason: reasonIn(object, unfinished, reasons),
    queuePosition: queuePositions.get(object.uid),
  }))
}

type OwnedObject = ObjectRecord & { readonly owner: string }

/** The unfinished children by owner. @param jobs the owners' current jobs by uid, as far as they are known. */
export function unfinishedOf(
  children: readonly OwnedObject[],
  owners: readonly ObjectRecord[],
  jobs: ReadonlyMap<string, JobRecord> = new Map(),
): ReadonlyMap<string, readonly OwnedObject[]> {
  const ownerOf = new Map(owners.map((owner) => [owner.uid, owner]))
  const unfinished = new Map<string, OwnedObject[]>()
  for (const child of children) {
    const owner = ownerOf.get(child.owner)
    const isEarlier = owner !== undefined && endedInEarlierJob(child, owner, jobs.get(owner.uid))
    const isThrough =
      child.deleted || isEarlier || (!isBusy(child.projection) && isGood(phaseIn(child.projection) ?? 'Succeeded'))
    const known = unfinished.get(child.owner) ?? []
    // A failed child is the reason of its parent's failure.
    if (!isThrough)
      unfinished.set(child.owner, hasFailed({ object: child, job: undefined }) ? [child, ...known] : [...known, child])
  }
  return unfinished
}

const DEEPEST = 24

/** The unfinished children of each object below `unfinished`, by owner. */
async function lowestOpen(
  journal: JournalSession,
  unfinished: ReadonlyMap<string, readonly OwnedObject[]>,
): Promise<ReadonlyMap<string, readonly OwnedObject[]>> {
  const all = new Map<string, readonly OwnedObject[]>()
  let level = [...unfinished.values()].flat()
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth++) {
    const below = unfinishedOf(await journal.childrenOf(level, new Date()), level)
    for (const [owner, found] of below) all.set(owner, found)
    level = [...below.values()].flat()
  }
  return all
}

function reasonIn(
  object: ObjectRecord,
  unfinished: ReadonlyMap<string, readonly OwnedObject[]>,
  below: ReadonlyMap<string, readonly OwnedObject[]>,
): ObjectRecord | undefined {
  let [reason] = unfinished.get(object.uid) ?? []
  for (let depth = 0; depth < DEEPEST && reason !== undefined; depth++) {
    const next: OwnedObject | undefined = below.get(reason.uid)?.[0]
    if (next === undefined) break
    reason = next
  }
  return reason
}

async function formatOutput(
  rows: readonly ListedObject[],
  output: GetFlags['output'],
  form: TableOptions,
): Promise<string> {
  if (output === 'json') return `${writeJson(getData(rows), 2)}\n`
  if (output === 'yaml') return await yamlText(getData(rows))
  return rows.length === 0 ? 'none found\n' : getTable(rows, form)
}

/** @throws UsageError for a selector that is not a list of `label=value`. */
export function labelsOf(selector: string | undefined): ReadonlyMap<string, string> {
  if (selector === undefined) return new Map()
  return new Map(
    selector.split(',').map((part) => {
      const [, name, value] = /^([^=!\s]+)==?([^=!\s]*)$/.exec(part.trim()) ?? []
      if (name === undefined) throw new UsageError(`--selector has '${part}', expected label=value`)
      return [name, value ?? ''] as const
    }),
  )
}

export function hasLabels(
  { projection }: Pick<ObjectRecord, 'projection'>,
  labels: ReadonlyMap<string, string>,
): boolean {
  return [...labels].every(([name, value]) => valueAt(projection, ['metadata', 'labels', name]) === value)
}

interface TableOptions {
  readonly now: Date
  readonly paint: Paint
  readonly wide: boolean
  readonly withNamespace: boolean
  /** True if the rows have several kinds. */
  readonly withKind: boolean
  /** WAITING-FOR ends at this width, but has at least SHORTEST_WAIT characters. */
  readonly lineWidth: number
}

/** A reason begins with the name of its object. */
const SHORTEST_WAIT = 80
/** Blanks between two columns. */
const GAP = 3

/** Without the column PHASE if the journal has no phase and no condition `Ready` of any row. */
export function getTable(rows: readonly ListedObject[], form: TableOptions): string {
  const withPhase = rows.some((row) => phaseOfRow(row) !== undefined)
  const header = [
    ...(form.withNamespace ? ['NAMESPACE'] : []),
    ...['NAME', ...(withPhase ? ['PHASE'] : []), 'DURATION', 'WAITING-FOR'],
    ...(form.wide ? ['JOB', 'STARTED', 'OUTCOME', 'CAUSE', 'RUN'] : []),
  ]
  return tableText(
    header,
    cutWaits(
      rows.map((row) => rowOf(row, { ...form, withPhase })),
      form.lineWidth,
      header,
    ),
    form.paint,
  )
}

function cutWaits(
  rows: readonly (readonly Cell[])[],
  lineWidth: number,
  header: readonly string[],
): readonly (readonly Cell[])[] {
  if (lineWidth === Infinity) return rows
  const column = header.indexOf('WAITING-FOR')
  const before = header
    .slice(0, column)
    .map((title, index) => Math.max(title.length, ...rows.map((row) => cellText(row[index] ?? '').length)) + GAP)
  const longest = Math.max(SHORTEST_WAIT, lineWidth - before.reduce((sum, width) => sum + width, 0)) - '...'.length
  return rows.map((row) => row.map((cell, index) => (index === column ? singleLine(cellText(cell), longest) : cell)))
}

/** Empty for kinds in level mode, which need no phase. */
function phaseCell(row: ListedObject): string {
  return phaseOfRow(row) ?? (isInLevelMode(row) ? '' : '-')
}

function rowOf(
  row: ListedObject,
  { now, wide, withNamespace, withKind, withPhase }: TableOptions & { readonly withPhase: boolean },
): readonly Cell[] {
  const { object, job } = row
  const phase = phaseCell(row)
  const length = job === undefined ? '-' : formatSpan(job.startedAt, job.finishedAt ?? now)
  return [
    ...(withNamespace ? [object.namespace] : []),
    withKind ? `${object.kind.toLowerCase()}/${object.name}` : object.name,
    ...(withPhase ? [{ text: phase, colour: colourOf(phase) }] : []),
    ...[length, waitText(row, wide ? undefined : (at) => formatTime(at, now))],
    ...(wide ? wideCells(job) : []),
  ]
}

function wideCells(job: JobRecord | undefined): readonly Cell[] {
  if (job === undefined) return ['-', '-', '-', '-', '-']
  return [job.jobID, job.startedAt.toISOString(), job.outcome ?? '-', job.cause, job.workflowID]
}

/** The rows as JSON. */
function getData(rows: readonly ListedObject[]): readonly object[] {
  return rows.map((row) => ({
    group: row.object.group,
    kind: row.object.kind,
    namespace: row.object.namespace,
    name: row.object.name,
    uid: row.object.uid,
    resourceVersion: row.object.version,
    phase: phaseOfRow(row) ?? null,
    waitingFor: waitText(row),
    job: row.job === undefined ? null : jobData(row.job),
  }))
}

function jobData(job: JobRecord): object {
  const { jobID, workflowID, controller, cause, phase, phases, outcome, lastError, startedAt, finishedAt } = job
  return { jobID, workflowID, controller, cause, phase, phases, outcome, lastError, startedAt, finishedAt }
}

function getNames(objects: readonly (GroupKind & ObjectName)[]): string {
  return objects
    .map(({ group, kind, name }) => `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${name}\n`)
    .join('')
}
