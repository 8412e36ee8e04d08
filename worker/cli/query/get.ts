// The command `pawl get`: the objects of Pawl's kinds, their newest jobs, and what they wait for.

import { Command } from 'commander'

import type { ObjectRecord, JobRecord, ObjectName } from '../../../activities/journal/read/object-queries.ts'
import { MOST_LISTED } from '../../../activities/journal/read/limits.ts'
import { type GroupKind, valueAt, writeJson } from '../../../workflows/kit/index.ts'
import { UsageError } from '../../server/usage-error.ts'
import { ApiRefuses } from '../api-place.ts'
import { parseOneOf } from '../usage.ts'
import { yamlText } from '../yaml-text.ts'
import { isOver } from './job-tree.ts'
import { kindNamed } from './object-name.ts'
import { type Asked, asking, type AskFlags, withAskFlags } from './open-journal.ts'
import {
  isBusy,
  isGood,
  phaseIn,
  tableText,
  type Cell,
  between,
  colourOf,
  deletionIn,
  errorText,
  isBad,
  nameOf,
  type Paint,
  shown,
} from './format.ts'
import { readTurns, turnText, pausedText } from './waiting.ts'
import type { AwaitedObject } from '../../../activities/journal/read/event-queries.ts'
import type { QueuePosition } from '../../../activities/journal/read/wake-queue.ts'

const FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const

interface GetFlags extends AskFlags {
  readonly allNamespaces?: boolean
  readonly output: (typeof FORMATS)[number]
  readonly selector?: string
}

export function getCommand(): Command {
  return withAskFlags(
    new Command('get')
      .summary('list objects with phase, job, and what they wait for')
      .description('list objects with phase, newest job, duration, and what they wait for')
      .argument('[kind]', 'any name of a kind, such as inst; without, all kinds of Pawl')
      .option('-A, --all-namespaces', 'of all namespaces')
      .option('-l, --selector <labels>', 'of these labels, such as a=b,c=d, as far as the journal keeps them')
      .option('-o, --output <format>', FORMATS.join(', '), parseOneOf(FORMATS), 'table'),
  )
    .addHelpText('after', '\nExamples:\n  pawl get\n  pawl get inst -A\n  pawl get di -o json')
    .action(async (kind: string | undefined, flags: GetFlags) => {
      process.stdout.write(await asking(flags, async (asked) => await get(asked, kind, flags)))
    })
}

async function get(asked: Asked, kind: string | undefined, flags: GetFlags): Promise<string> {
  const kinds = kind === undefined ? asked.ownKinds : [kindNamed(kind, asked.kinds)]
  const place = flags.allNamespaces === true ? undefined : asked.namespace
  const wanted = labelsOf(flags.selector)
  // Names need nothing else, and there may be ten thousand.
  if (flags.output === 'name' && wanted.size === 0)
    return getNames(
      await listedOf(kinds, async (of) => (await asked.listNames(of, place)).map((one) => ({ ...of, ...one }))),
    )
  const all = await listedOf(kinds, async (of) => await asked.listObjects(of, place))
  const listed = all.filter((object) => hasLabels(object, wanted))
  const form: Form = {
    now: new Date(),
    paint: asked.paint,
    wide: flags.output === 'wide',
    withNamespace: place === undefined,
    withKind: kinds.length > 1,
  }
  if (flags.output === 'name') return getNames(listed)
  return await written(await withJobs(asked, listed), flags.output, form)
}

/** Of all the kinds; what `pawl api` refuses of some is told. @throws ApiRefuses where it refuses all. */
async function listedOf<Row>(
  kinds: readonly GroupKind[],
  list: (of: GroupKind) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const listed: Row[] = []
  const refused: ApiRefuses[] = []
  for (const { group, kind } of kinds) {
    const found = await list({ group, kind }).catch((error: unknown) => {
      if (!(error instanceof ApiRefuses)) throw error
      refused.push(error)
      return []
    })
    if (found.length === MOST_LISTED)
      process.stderr.write(`pawl: only the first ${MOST_LISTED} of kind ${kind} are listed; expected fewer, see -n\n`)
    listed.push(...found)
  }
  const [first] = refused
  if (first !== undefined && refused.length === kinds.length) throw first
  for (const { message } of refused) process.stderr.write(`pawl: ${message}\n`)
  return listed
}

async function withJobs(asked: Asked, objects: readonly ObjectRecord[]): Promise<readonly Found[]> {
  const uids = objects.map(({ uid }) => uid)
  const newest = await asked.newestJobs(uids)
  // Jobs of hosted items are not in the journal: what is there may be of an earlier one.
  const jobs = new Map(
    objects.flatMap((object) => {
      const job = newest.get(object.uid)
      return job === undefined || (!object.deleted && isOver(object, job)) ? [] : [[object.uid, job] as const]
    }),
  )
  const busy = objects.filter(({ projection }) => isBusy(projection))
  const controllers = [...new Set([...jobs.values()].map(({ controller }) => controller))]
  const awaited = await asked.awaitedByAll(
    controllers,
    busy.map(({ uid }) => uid),
  )
  const children = await asked.childrenOf(busy, new Date())
  const unfinished = new Map<string, ObjectRecord[]>()
  for (const child of children) {
    const isThrough = child.deleted || (!isBusy(child.projection) && isGood(phaseIn(child.projection) ?? 'Succeeded'))
    if (!isThrough) unfinished.set(child.owner, [...(unfinished.get(child.owner) ?? []), child])
  }
  const turns = await readTurns(
    asked,
    objects.map((object) => ({ object, job: jobs.get(object.uid) })),
  )
  return objects.map((object) => ({
    object,
    job: jobs.get(object.uid),
    awaited: awaited.get(object.uid) ?? [],
    unfinished: unfinished.get(object.uid) ?? [],
    turn: turns.get(object.uid),
  }))
}

async function written(found: readonly Found[], output: GetFlags['output'], form: Form): Promise<string> {
  if (output === 'json') return `${writeJson(getData(found), 2)}\n`
  if (output === 'yaml') return await yamlText(getData(found))
  return found.length === 0 ? 'none found\n' : getTable(found, form)
}

/** @throws UsageError for what is no list of `label=value`. */
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
  wanted: ReadonlyMap<string, string>,
): boolean {
  return [...wanted].every(([name, value]) => valueAt(projection, ['metadata', 'labels', name]) === value)
}

// Objects with their newest jobs as rows: for a table, for programs, and as names. Pure.

interface Found {
  readonly object: ObjectRecord
  readonly job: JobRecord | undefined
  readonly awaited: readonly AwaitedObject[]
  /** Children that are not through, when the object is not. */
  readonly unfinished: readonly ObjectRecord[]
  /** Its next job is asked for, and has not begun. */
  readonly turn?: QueuePosition | undefined
}

interface Form {
  readonly now: Date
  readonly paint: Paint
  readonly wide: boolean
  readonly withNamespace: boolean
  /** Several kinds are listed. */
  readonly withKind: boolean
}

function getTable(found: readonly Found[], form: Form): string {
  const header = [
    ...(form.withNamespace ? ['NAMESPACE'] : []),
    ...['NAME', 'PHASE', 'JOB', 'DURATION', 'WAITING-FOR'],
    ...(form.wide ? ['STARTED', 'OUTCOME', 'CAUSE', 'RUN'] : []),
  ]
  return tableText(
    header,
    found.map((one) => rowOf(one, form)),
    form.paint,
  )
}

function rowOf(found: Found, { now, wide, withNamespace, withKind }: Form): readonly Cell[] {
  const { object, job } = found
  const phase = standing(found) ?? '-'
  const length = job === undefined ? '-' : between(job.startedAt, job.finishedAt ?? now)
  return [
    ...(withNamespace ? [object.namespace] : []),
    withKind ? `${object.kind.toLowerCase()}/${object.name}` : object.name,
    { text: phase, colour: colourOf(phase) },
    ...[job?.jobID ?? '-', length, shown(waitText(found), wide ? 200 : 80)],
    ...(wide ? wideCells(job) : []),
  ]
}

function wideCells(job: JobRecord | undefined): readonly Cell[] {
  if (job === undefined) return ['-', '-', '-', '-']
  return [job.startedAt.toISOString(), job.outcome ?? '-', job.cause, job.workflowID]
}

function standing({ object, job }: Pick<Found, 'object' | 'job'>): string | undefined {
  return phaseIn(object.projection) ?? job?.phase ?? undefined
}

/** What keeps an object from being ready, in a few words; empty when nothing does. */
export function waitText(found: Found): string {
  const { object, turn } = found
  const texts = [pausedText(object), turn === undefined ? undefined : turnText(turn), restText(found)]
  return texts.filter((text) => text !== undefined && text !== '').join('; ')
}

function restText(found: Found): string {
  const { object, job, awaited, unfinished } = found
  const error = errorText(job?.lastError)
  if (isBad(standing(found))) return error ?? 'see pawl why'
  const named = [...awaited, ...unfinished].map(nameOf)
  if (isBusy(object.projection) && named.length > 0) return few(named)
  return goingText(object) ?? (job?.outcome === null ? error : undefined) ?? ''
}

function goingText({ projection }: ObjectRecord): string | undefined {
  const deletion = deletionIn(projection)
  return deletion === undefined ? undefined : `to be gone: ${deletion.finalizers.join(', ') || 'no finalizers'}`
}

function few(names: readonly string[]): string {
  const more = names.length - 2
  return `${names.slice(0, 2).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** For programs. */
function getData(found: readonly Found[]): readonly object[] {
  return found.map((one) => ({
    group: one.object.group,
    kind: one.object.kind,
    namespace: one.object.namespace,
    name: one.object.name,
    uid: one.object.uid,
    resourceVersion: one.object.version,
    phase: phaseIn(one.object.projection) ?? null,
    waitingFor: waitText(one),
    job: one.job === undefined ? null : jobData(one.job),
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
