// The command `pawl get`: lists objects with their newest jobs, and what each object waits for.

import { Command } from 'commander'

import type { ObjectRecord, JobRecord, ObjectName } from '../../../activities/journal/read/object-queries.ts'
import { MOST_LISTED } from '../../../activities/journal/read/limits.ts'
import { type GroupKind, valueAt, writeJson, joinNames } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { ApiForbidden } from '../api-place.ts'
import { requireNamespace } from '../missing-object.ts'
import { parseOneOf } from '../usage.ts'
import { yamlText } from '../yaml-text.ts'
import { isOver } from './job-tree.ts'
import { kindNamed } from './object-name.ts'
import { type JournalSession, withJournal, type JournalFlags, addJournalFlags } from './open-journal.ts'
import {
  isBusy,
  isGood,
  phaseIn,
  tableText,
  type Cell,
  formatSpan,
  colourOf,
  deletionIn,
  errorText,
  isBad,
  nameOf,
  type Paint,
  singleLine,
} from './format.ts'
import { readQueuePositions, queueText, pausedText } from './waiting.ts'
import type { AwaitedObject } from '../../../activities/journal/read/event-queries.ts'
import type { QueuePosition } from '../../../activities/journal/read/wake-queue.ts'

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
      .argument('[kind]', 'any name of a kind, such as inst; without, all kinds of Pawl')
      .option('-A, --all-namespaces', 'of all namespaces')
      .option('-l, --selector <labels>', 'of these labels, such as a=b,c=d, as far as the journal keeps them')
      .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'table'),
  )
    .addHelpText('after', '\nExamples:\n  pawl get\n  pawl get inst -A\n  pawl get di -o json')
    .action(async (kind: string | undefined, flags: GetFlags) => {
      process.stdout.write(await withJournal(flags, async (journal) => await get(journal, kind, flags)))
    })
}

async function get(journal: JournalSession, kind: string | undefined, flags: GetFlags): Promise<string> {
  const kinds = kind === undefined ? journal.ownKinds : [kindNamed(kind, journal.kinds)]
  const place = flags.allNamespaces === true ? undefined : journal.namespace
  const labels = labelsOf(flags.selector)
  // Names need no jobs, and there may be 10,000 of them.
  if (flags.output === 'name' && labels.size === 0)
    return getNames(
      await listAll(kinds, async (of) => (await journal.listNames(of, place)).map((row) => ({ ...of, ...row }))),
    )
  const all = await listAll(kinds, async (of) => await journal.listObjects(of, place))
  const listed = all.filter((object) => hasLabels(object, labels))
  if (all.length === 0 && !['json', 'yaml'].includes(flags.output)) await requireNamespace(journal, place)
  const form: TableOptions = {
    now: new Date(),
    paint: journal.paint,
    wide: flags.output === 'wide',
    withNamespace: place === undefined,
    withKind: kinds.length > 1,
  }
  if (flags.output === 'name') return getNames(listed)
  return await formatOutput(await withJobs(journal, listed), flags.output, form)
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
  const busy = objects.filter(({ projection }) => isBusy(projection))
  const controllers = [...new Set([...jobs.values()].map(({ controller }) => controller))]
  const awaited = await journal.awaitedByAll(
    controllers,
    busy.map(({ uid }) => uid),
  )
  const children = await journal.childrenOf(busy, new Date())
  const unfinished = new Map<string, ObjectRecord[]>()
  for (const child of children) {
    const isThrough = child.deleted || (!isBusy(child.projection) && isGood(phaseIn(child.projection) ?? 'Succeeded'))
    if (!isThrough) unfinished.set(child.owner, [...(unfinished.get(child.owner) ?? []), child])
  }
  const queuePositions = await readQueuePositions(
    journal,
    objects.map((object) => ({ object, job: jobs.get(object.uid) })),
  )
  return objects.map((object): ListedObject => ({
    object,
    job: jobs.get(object.uid),
    awaited: awaited.get(object.uid) ?? [],
    unfinished: unfinished.get(object.uid) ?? [],
    queuePosition: queuePositions.get(object.uid),
  }))
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

// An object with its newest job.

interface ListedObject {
  readonly object: ObjectRecord
  readonly job: JobRecord | undefined
  readonly awaited: readonly AwaitedObject[]
  /** Children that have not finished, if the object has not finished. */
  readonly unfinished: readonly ObjectRecord[]
  /** Set if the object's next job has not started. */
  readonly queuePosition?: QueuePosition | undefined
}

interface TableOptions {
  readonly now: Date
  readonly paint: Paint
  readonly wide: boolean
  readonly withNamespace: boolean
  /** True if the rows have several kinds. */
  readonly withKind: boolean
}

function getTable(rows: readonly ListedObject[], form: TableOptions): string {
  const header = [
    ...(form.withNamespace ? ['NAMESPACE'] : []),
    ...['NAME', 'PHASE', 'JOB', 'DURATION', 'WAITING-FOR'],
    ...(form.wide ? ['STARTED', 'OUTCOME', 'CAUSE', 'RUN'] : []),
  ]
  return tableText(
    header,
    rows.map((row) => rowOf(row, form)),
    form.paint,
  )
}

function rowOf(row: ListedObject, { now, wide, withNamespace, withKind }: TableOptions): readonly Cell[] {
  const { object, job } = row
  const phase = phaseOfRow(row) ?? '-'
  const length = job === undefined ? '-' : formatSpan(job.startedAt, job.finishedAt ?? now)
  return [
    ...(withNamespace ? [object.namespace] : []),
    withKind ? `${object.kind.toLowerCase()}/${object.name}` : object.name,
    { text: phase, colour: colourOf(phase) },
    ...[job?.jobID ?? '-', length, singleLine(waitText(row), wide ? 200 : 80)],
    ...(wide ? wideCells(job) : []),
  ]
}

function wideCells(job: JobRecord | undefined): readonly Cell[] {
  if (job === undefined) return ['-', '-', '-', '-']
  return [job.startedAt.toISOString(), job.outcome ?? '-', job.cause, job.workflowID]
}

function phaseOfRow({ object, job }: Pick<ListedObject, 'object' | 'job'>): string | undefined {
  return phaseIn(object.projection) ?? job?.phase ?? undefined
}

/** Why an object is not ready, in a few words; empty if it is ready. */
export function waitText(row: ListedObject): string {
  const { object, queuePosition } = row
  const texts = [
    pausedText(object),
    queuePosition === undefined ? undefined : queueText(queuePosition),
    unfinishedText(row),
  ]
  return texts.filter((text) => text !== undefined && text !== '').join('; ')
}

function unfinishedText(row: ListedObject): string {
  const { object, job, awaited, unfinished } = row
  const error = errorText(job?.lastError)
  if (isBad(phaseOfRow(row))) return error ?? 'see pawl why'
  const named = [...awaited, ...unfinished].map(nameOf)
  if (isBusy(object.projection) && named.length > 0) return joinNames(named, 2)
  return deletionText(object) ?? (job?.outcome === null ? error : undefined) ?? ''
}

function deletionText({ projection }: ObjectRecord): string | undefined {
  const deletion = deletionIn(projection)
  return deletion === undefined ? undefined : `to be gone: ${deletion.finalizers.join(', ') || 'no finalizers'}`
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
    phase: phaseIn(row.object.projection) ?? null,
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
