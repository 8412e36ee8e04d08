// Formats a plan as text. Pure.

import { joinNames } from '../../../workflows/kit/index.ts'
import { formatDuration, type Paint, keepIndentation, singleLine } from '../query/format.ts'
import { suggestedCommand } from '../suggestion.ts'
import { exitCodeOf, type Plan, type PlannedJob, type PlannedWrite, type State } from './create-plan.ts'

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
      : [`next: kubectl apply --server-side --force-conflicts -f ${files.join(',')}${reconcileHint(plan)}`]
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

/** The commands that start the jobs that applying the files does not start: a changed import starts no job. */
function reconcileHint({ writes, toReconcile }: Plan): string {
  const roots = [...toReconcile, ...writes.flatMap(({ importedBy = [] }) => importedBy)]
  const commands = [...new Set(roots.map(({ namespace }) => namespace))].map((namespace) => {
    const names = roots
      .filter((one) => one.namespace === namespace)
      .map((one) => `${one.kind.toLowerCase()}/${one.name}`)
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
