// Formats a preview as text and as JSON. Pure.

import type { KubeObject } from '../../../activities/kube/client.ts'
import type { DryWrite } from '../../../activities/kube/dry-run.ts'
import { type DryRunJob, groupKindOf, joinNames } from '../../../workflows/kit/index.ts'
import { formatDuration, type Paint, keepIndentation, singleLine } from '../query/format.ts'
import { expectedName, similarName, suggestedCommand } from '../suggestion.ts'
import { type Change, changesOf, maskSecrets, type DisplayRules } from './object-changes.ts'
import type { Importer } from '../../../activities/run/preview.ts'
import type { Preview } from './preview.ts'

type State = 'new' | 'changed' | 'unchanged' | 'deleted'

interface PlannedWrite {
  readonly state: State
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** The Target and the item of the write; absent for writes on the cluster of the objects. */
  readonly target?: string
  readonly item?: string
  readonly changes: readonly Change[]
  /**
   * `manifest`: an object of the files; `child`: an object that Pawl creates for them; `internal`: a child that holds
   * only bookkeeping; absent for objects on Targets.
   */
  readonly origin?: 'manifest' | 'child' | 'internal'
  readonly importedBy?: readonly PlannedImporter[]
}

/** An existing object that imports a changed object of the files, and is not in the files. */
type PlannedImporter = Omit<Importer, 'imports'>

interface PlannedJob {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly end: DryRunJob['end']
  readonly told?: string
  readonly expectedMs?: number
  readonly items: readonly {
    readonly item: string
    readonly type: string
    readonly level: number
    readonly state: State | 'orphaned'
    readonly problem?: string
    readonly unknown?: string
    readonly warning?: string
  }[]
  readonly jobs: readonly PlannedJob[]
}

interface Plan {
  /** Documents that the API server refuses. */
  readonly refused: readonly {
    readonly at: string
    readonly kind: string
    readonly name: string
    readonly problem: string
  }[]
  readonly writes: readonly PlannedWrite[]
  readonly jobs: readonly PlannedJob[]
  /** New Namespaces: the API server did not validate the objects in them. */
  readonly unvalidated: readonly string[]
  /** Problems of items that belong to no job of the plan. */
  readonly problems: readonly { readonly item: string; readonly problem: string }[]
  /** Why Pawl does not know the objects that import the changed objects of a namespace. */
  readonly unknownImporters: readonly { readonly namespace: string; readonly reason: string }[]
  /** The same as `problems` for warnings. */
  readonly warnings: readonly { readonly item: string; readonly warning: string }[]
}

/** The key of an object: objects of several kinds may have the same name. */
export function objectKey({ group = '', kind, namespace, name }: Omit<DryRunJob['subject'], 'uid'>): string {
  return [group, kind, namespace, name].join('/')
}

/** @param expected durations by `objectKey` of the job's object. */
export function createPlan(preview: Preview, secrets: readonly string[], expected: ReadonlyMap<string, number>): Plan {
  const showing = { ...preview, secrets }
  const text = (one: string) => maskSecrets(singleLine(one), showing)
  const manifests = new Set(preview.applied.map(({ object }) => writeKey({ after: object })))
  const onTarget = new Set(
    preview.works.flatMap(({ namespace, name, writes }) => writes.map(() => `${namespace}/${name}`)),
  )
  const shownElsewhere = new Set(preview.jobs.flatMap((job) => keysIn(job, onTarget)))
  const own = preview.writes.map((write): PlannedWrite => {
    if (manifests.has(writeKey(write))) {
      const planned = plannedWrite(write, showing)
      const importedBy = planned.state === 'unchanged' ? [] : importersOf(planned, preview)
      return { ...planned, origin: 'manifest', ...(importedBy.length > 0 && { importedBy }) }
    }
    const { kind = '' } = write.after ?? write.before ?? {}
    const internal = [
      ...showing.internal,
      ...CHILD_FIELDS,
      ...(preview.internalOfChildren[kind] ?? []),
      ...(write.before === undefined && shownElsewhere.has(writeKey(write)) ? ['spec'] : []),
    ]
    const origin = preview.internalOfChildren[kind] === undefined ? 'child' : 'internal'
    return { ...plannedWrite(write, { ...showing, internal }), origin }
  })
  const states = new Map(own.map((one, index) => [writeKey(preview.writes[index]), one.state]))
  const works = preview.works.map((one) => ({ ...one, ...typeProblem(one) }))
  const itemPreviews = new Map(works.map((one) => [`${one.namespace}/${one.name}`, one]))
  const inJobs = new Set<string>()
  const plannedJob = ({ subject, end, told: reason, items, jobs }: DryRunJob): PlannedJob => {
    const { kind, namespace, name } = subject
    const expectedMs = expected.get(objectKey(subject))
    return {
      kind,
      namespace,
      name,
      end,
      ...(reason !== undefined && { told: text(reason) }),
      ...(expectedMs !== undefined && { expectedMs }),
      items: items.map((one) => {
        const key = `${namespace}/${one.name}`
        inJobs.add(key)
        const { problem, unknown, warning } = itemPreviews.get(key) ?? {}
        return {
          item: one.item,
          type: one.type,
          level: one.level,
          state: one.uninstalls
            ? ('orphaned' as const)
            : (states.get(objectKey({ ...one, namespace })) ?? ('unchanged' as const)),
          ...(problem !== undefined && { problem: text(problem) }),
          ...(unknown !== undefined && { unknown: text(unknown) }),
          ...(warning !== undefined && { warning: text(warning) }),
        }
      }),
      jobs: jobs.map(plannedJob),
    }
  }
  const jobs = preview.jobs.map(plannedJob)
  const onTargets = preview.works.flatMap(({ target, name, writes }) =>
    writes.map((write) => ({ ...plannedWrite(write, showing), ...(target !== undefined && { target }), item: name })),
  )
  return {
    refused: preview.applied.flatMap(({ at, object, refused }) =>
      refused === undefined
        ? []
        : [{ at, kind: object.kind ?? '', name: object.metadata.name, problem: text(refused) }],
    ),
    writes: [...own, ...onTargets],
    jobs,
    unvalidated: preview.unvalidated,
    unknownImporters: [...preview.unknownImporters].map(([namespace, reason]) => ({ namespace, reason: text(reason) })),
    problems: preview.works.flatMap(({ namespace, name, problem }) =>
      problem === undefined || inJobs.has(`${namespace}/${name}`) ? [] : [{ item: name, problem: text(problem) }],
    ),
    warnings: works.flatMap(({ namespace, name, warning }) =>
      warning === undefined || inJobs.has(`${namespace}/${name}`) ? [] : [{ item: name, warning: text(warning) }],
    ),
  }
}

/** Without importers in the files: the plan shows their jobs. */
function importersOf({ kind, namespace, name }: PlannedWrite, preview: Preview): readonly PlannedImporter[] {
  const isInFiles = (one: Importer) =>
    preview.applied.some(
      ({ object, namespace: within }) =>
        object.kind === one.kind && within === one.namespace && object.metadata.name === one.name,
    )
  return preview.importers
    .filter((one) => one.namespace === namespace && one.imports.includes(`${kind} ${name}`) && !isInFiles(one))
    .map(({ imports: _imports, ...one }) => one)
}

/** Fields that Pawl sets in the objects that it creates. */
const CHILD_FIELDS = ['apiVersion', 'kind', 'metadata']

/** The keys of a job's object and of its items with objects on Targets; both also of nested jobs. */
function keysIn({ subject, items, jobs }: DryRunJob, onTarget: ReadonlySet<string>): readonly string[] {
  const { namespace } = subject
  return [
    objectKey(subject),
    ...items.filter(({ name }) => onTarget.has(`${namespace}/${name}`)).map((one) => objectKey({ ...one, namespace })),
    ...jobs.flatMap((job) => keysIn(job, onTarget)),
  ]
}

const MAX_TYPES = 8

/** For an item whose type has no deployer of Pawl: a warning if the user probably misspelt a type. */
function typeProblem({ unhandled }: Preview['works'][number]): {
  readonly unknown?: string
  readonly warning?: string
} {
  if (unhandled === undefined) return {}
  const { type, handled } = unhandled
  const problem = `spec.type: Pawl has no deployer for type "${type}"`
  const types = `Pawl handles the types ${joinNames(handled, MAX_TYPES)}; another type needs its own deployer`
  return similarName(type, handled) === undefined
    ? { unknown: `${problem}; ${types}` }
    : { warning: `${problem}; ${expectedName(type, handled)} ${types}` }
}

function writeKey({ before, after = before }: Partial<DryWrite> = {}): string {
  const { apiVersion = '', kind = '', metadata } = after ?? { metadata: { name: '' } }
  return objectKey({ ...groupKindOf({ apiVersion, kind }), namespace: metadata.namespace ?? '', name: metadata.name })
}

function plannedWrite(write: DryWrite, showing: DisplayRules): PlannedWrite {
  const object: KubeObject | undefined = write.after ?? write.before
  const changes = changesOf(write, showing)
  const { kind = '', metadata } = object ?? { metadata: { name: '' } }
  return { state: stateOf(write, changes), kind, namespace: metadata.namespace ?? '', name: metadata.name, changes }
}

function stateOf({ before, after }: DryWrite, changes: readonly Change[]): State {
  if (before === undefined) return 'new'
  const isLeaving = after?.metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined
  if (after === undefined || isLeaving) return 'deleted'
  return changes.length === 0 ? 'unchanged' : 'changed'
}

/** 0: nothing would change; 1: something is refused or would fail; 3: something would change. */
export function exitCodeOf({ refused, writes, jobs, problems }: Plan): 0 | 1 | 3 {
  const fails = (job: PlannedJob): boolean =>
    job.end === 'fails' || job.items.some(({ problem }) => problem !== undefined) || job.jobs.some(fails)
  if (refused.length > 0 || problems.length > 0 || jobs.some(fails)) return 1
  return writes.some(({ state }) => state !== 'unchanged') ? 3 : 0
}

const SIGN: Readonly<Record<State | 'orphaned', readonly [string, Parameters<Paint>[0]]>> = {
  new: ['+', 'green'],
  changed: ['~', 'yellow'],
  unchanged: ['=', 'dim'],
  deleted: ['-', 'red'],
  orphaned: ['-', 'red'],
}
/** By the sign of a line in a difference. */
const COLOURS: Readonly<Record<string, Parameters<Paint>[0]>> = { '-': 'red', '+': 'green' }
const MOST_FIELDS = 30
const MAX_IMPORTERS = 8
const MOST_OBJECTS = 200

interface PlanTextOptions {
  readonly paint: Paint
  /** False if durations could not be read. */
  readonly hasJournal: boolean
  /** The files of the manifests; `-` is stdin. */
  readonly files: readonly string[]
  /** Also shows Pawl's bookkeeping. */
  readonly isWide?: boolean
}

export function planText(plan: Plan, { paint, hasJournal, files, isWide = false }: PlanTextOptions): string {
  const refused = plan.refused.map(({ at, kind, name, problem }) =>
    paint('red', `! ${at}: ${kind} ${name}: ${problem}`),
  )
  const problems = plan.problems.map(({ item, problem }) => paint('red', `! ${item}: ${problem}`))
  const jobs = plan.jobs.flatMap((job) => jobText(job, paint, ''))
  const warnings = plan.warnings.map(({ item, warning }) => paint('yellow', `! ${item}: warning: ${warning}`))
  const all = plan.writes.filter(({ state }) => state !== 'unchanged')
  const changed = isWide
    ? all
    : all
        .map(withoutInternal)
        .filter((one) => !isBookkeeping(one))
        .sort(byOrigin)
  const internal = all.length - changed.length
  const writes = changed.slice(0, MOST_OBJECTS).flatMap((one) => writeText(one, paint))
  const more =
    changed.length > MOST_OBJECTS
      ? [`and ${changed.length - MOST_OBJECTS} more objects; -o json shows all of them`]
      : []
  const summary =
    internal === 0
      ? []
      : [
          paint(
            'dim',
            `and ${internal} ${internal === 1 ? 'object' : 'objects'} of Pawl's own; -o wide shows ${internal === 1 ? 'it' : 'them'}`,
          ),
        ]
  const unvalidated = plan.unvalidated.map((namespace) =>
    paint('dim', `Namespace ${namespace} does not exist yet: the API server did not validate the objects in it.`),
  )
  const times =
    hasJournal || plan.jobs.length === 0
      ? []
      : [paint('dim', 'Durations are unknown without a journal; set --database-url, --data-dir or $PAWL_DATABASE_URL.')]
  const next =
    exitCodeOf(plan) !== 3 || files.includes('-')
      ? []
      : [`next: kubectl apply --server-side --force-conflicts -f ${files.join(',')}${reconcileHint(plan.writes)}`]
  const unknown = plan.unknownImporters.map(({ namespace, reason }) =>
    paint('dim', `Pawl cannot list the Installations in namespace ${namespace} that import these objects: ${reason}`),
  )
  const blocks = [
    [answerText(plan, paint)],
    [...refused, ...problems, ...warnings],
    jobs,
    [...writes, ...more, ...summary],
    [...unvalidated, ...unknown, ...times, ...next],
  ]
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

/** The commands that start the jobs of importers: a changed import starts no job. */
function reconcileHint(writes: readonly PlannedWrite[]): string {
  const importers = writes.flatMap(({ importedBy = [] }) => importedBy)
  const commands = [...new Set(importers.map(({ namespace }) => namespace))].map((namespace) => {
    const names = importers.filter((one) => one.namespace === namespace).map((one) => `${one.shortName}/${one.name}`)
    return `, then ${suggestedCommand(`reconcile ${[...new Set(names)].join(' ')} -n ${namespace}`)}`
  })
  return commands.join('')
}

function withoutInternal(write: PlannedWrite): PlannedWrite {
  return { ...write, changes: write.changes.filter(({ internal }) => internal !== true) }
}

/** @param write without internal changes. */
function isBookkeeping({ origin, state, changes }: PlannedWrite): boolean {
  if (state === 'deleted') return origin === 'internal'
  return (origin === 'child' || origin === 'internal') && changes.length === 0
}

const ORIGINS = [undefined, 'manifest', 'child', 'internal'] as const

/** Objects on Targets are first, objects that Pawl creates are last. */
function byOrigin(left: PlannedWrite, right: PlannedWrite): number {
  return ORIGINS.indexOf(left.origin) - ORIGINS.indexOf(right.origin)
}

/** The first line. */
function answerText(plan: Plan, paint: Paint): string {
  const count = (state: State) => plan.writes.filter((one) => one.state === state).length
  const counts = (['new', 'changed', 'deleted'] as const)
    .filter((state) => count(state) > 0)
    .map((state) => `${count(state)} ${state}`)
    .join(', ')
  const changes = `${counts === '' ? 'No changes' : `Changes: ${counts}`} (${count('unchanged')} unchanged)`
  const [failing, refused] = [failuresIn(plan), plan.refused.length]
  const warnings = warningsIn(plan)
  const warned = warnings === 0 ? '' : `${paint('yellow', `Warnings: ${warnings}`)}. `
  if (failing + refused === 0) return `${warned}${changes}`
  const problems = [
    ...(refused === 0 ? [] : [`the API server rejects ${refused} ${refused === 1 ? 'object' : 'objects'}`]),
    ...(failing === 0 ? [] : [`${failing} ${failing === 1 ? 'job or item' : 'jobs and items'} would fail`]),
  ]
  return `${paint('red', `Fails: ${problems.join(', ')}`)}. ${warned}${changes}`
}

function warningsIn({ jobs, warnings }: Plan): number {
  const inJob = (job: PlannedJob): number =>
    job.jobs.reduce((sum, one) => sum + inJob(one), job.items.filter(({ warning }) => warning !== undefined).length)
  return jobs.reduce((sum, job) => sum + inJob(job), warnings.length)
}

function failuresIn({ jobs, problems }: Plan): number {
  const inJob = (job: PlannedJob): number => {
    const items = job.items.filter(({ problem }) => problem !== undefined).length
    const below = job.jobs.reduce((sum, one) => sum + inJob(one), items)
    return below === 0 && job.end === 'fails' ? 1 : below
  }
  return jobs.reduce((sum, job) => sum + inJob(job), problems.length)
}

const ENDS = { succeeds: ['', 'green'], waits: [' waits', 'yellow'], fails: [' fails', 'red'] } as const

function jobText(job: PlannedJob, paint: Paint, indent: string): readonly string[] {
  const [end, colour] = ENDS[job.end]
  const time = job.expectedMs === undefined ? '' : paint('dim', ` (about ${formatDuration(job.expectedMs)})`)
  const outcome = job.told === undefined ? '' : `: ${job.told}`
  const items = [...job.items]
    .sort((left, right) => left.level - right.level)
    .map((one) => {
      const warning = one.warning === undefined ? '' : paint('yellow', ` warning: ${one.warning}`)
      const [sign, of] = SIGN[one.state]
      const what = `${indent}  ${one.state === 'orphaned' ? ' ' : one.level} ${sign} ${one.item} ${paint('dim', one.type)}`
      const problem = one.problem === undefined ? '' : paint('red', ` fails: ${one.problem}`)
      return `${paint(of, what)}${problem}${warning}${one.unknown === undefined ? '' : paint('dim', ` (${one.unknown})`)}`
    })
  const head = `${indent}${paint('bold', `${job.kind} ${job.namespace}/${job.name}`)}${paint(colour, `${end}${outcome}`)}${time}`
  return [head, ...items, ...job.jobs.flatMap((one) => jobText(one, paint, `${indent}  `))]
}

function differenceLine(line: string, paint: Paint): string {
  return paint(COLOURS[line[0] ?? ''] ?? 'dim', `      ${line.slice(0, 1)}${keepIndentation(line.slice(1))}`)
}

function writeText(
  { state, kind, namespace, name, target, item, changes, importedBy = [] }: PlannedWrite,
  paint: Paint,
): readonly string[] {
  const [sign, colour] = SIGN[state]
  const on = target === undefined ? '' : ` on target ${target}, by ${item ?? ''}`
  const head = paint(colour, `${sign} ${kind} ${namespace === '' ? '' : `${namespace}/`}${name}${on}`)
  const importers =
    importedBy.length === 0
      ? []
      : [
          `    imported by ${joinNames(
            importedBy.map((one) => `${one.kind} ${one.namespace}/${one.name}`),
            MAX_IMPORTERS,
          )}; add ${importedBy.length === 1 ? 'its manifest to see its' : 'their manifests to see their'} changes`,
        ]
  if (state === 'deleted') return [head]
  const lines = changes
    .slice(0, MOST_FIELDS)
    .flatMap(({ field, before, after, lines }) =>
      lines !== undefined
        ? [`    ~ ${singleLine(field)}:`, ...lines.map((line) => differenceLine(line, paint))]
        : [
            ...(before === undefined ? [] : [paint('red', `    - ${singleLine(field)}: ${singleLine(before)}`)]),
            ...(after === undefined ? [] : [paint('green', `    + ${singleLine(field)}: ${singleLine(after)}`)]),
          ],
    )
  const more = changes.length > MOST_FIELDS ? [`    and ${changes.length - MOST_FIELDS} more fields`] : []
  return [head, ...lines, ...more, ...importers]
}
