// Draws the tree of a job as text: one line per object with its phase, its duration, a bar on the time line of the
// whole job, and its phases. Pure.

import type { JobRecord } from '../../../activities/journal/read/object-queries.ts'
import { deletionOrder } from './deletion-order.ts'
import { isDeletionWaiting } from './edits-during-job.ts'
import { isInLevelMode } from './explain-status.ts'
import type { LiveStatus } from '../live-status.ts'
import { unhandledType } from './root-cause.ts'
import { hasFailed, isOpen, type JobNode, phaseOf, startIn } from './job-tree.ts'
import {
  colourOf,
  deletionIn,
  errorText,
  formatDuration,
  formatSpan,
  formatTime,
  isGood,
  nameOf,
  type Paint,
  singleLine,
} from './format.ts'

const BAR = 20
const SECOND = 1000

interface Line {
  readonly label: string
  readonly node: JobNode
}

export interface DrawOptions {
  readonly now: Date
  readonly paint: Paint
  /** Adds IDs and exact times. */
  readonly wide?: boolean
  /** The status of live objects, by uid. */
  readonly statuses?: ReadonlyMap<string, LiveStatus>
}

export function drawJobTree(root: JobNode, { now, paint, wide = false, statuses = new Map() }: DrawOptions): string {
  const lines = linesOf(root, '', '')
  const width = Math.max(...lines.map(({ label }) => label.length))
  const phases = Math.max(...lines.map(({ node }) => phaseOf(node).length))
  const head = `${stateText(root, now)}\n${wide ? jobText(root.job) : ''}`
  const body = lines.map(({ label, node }) => {
    const phase = phaseOf(node)
    const span = spanOf(node, root.job, now)
    const time = span === undefined ? '-' : `${span.isGuess ? '~' : ''}${formatSpan(span.from, span.to)}`
    const cells = [
      label.padEnd(width),
      paint(colourOf(phase), phase) + ' '.repeat(phases - phase.length),
      time.padStart(7),
      barOf(span, root.job, now),
    ]
    const rest = [countOf(node), phasesText(node.job, now), noteOf(node, paint, statuses)].filter((text) => text !== '')
    return `${[...cells, ...rest].join('  ').trimEnd()}\n`
  })
  return [head, ...body].join('')
}

/** The answer: the state of the job, and the order of a deletion. */
function stateText(root: JobNode, now: Date): string {
  const { job, object } = root
  const name = singleLine(nameOf(object), 200)
  if (job === undefined && !isOpen(root))
    return phaseOf(root) === '-'
      ? `${name}: no job was requested`
      : `${name}: ${phaseOf(root)}; the journal has no job of it`
  const started = job === undefined ? '' : `, started ${formatTime(job.startedAt, now)} (${singleLine(job.cause)})`
  const span = spanOf(root, job, now)
  const time = span === undefined ? '' : ` ${isOpen(root) ? 'for' : 'after'} ${formatSpan(span.from, span.to)}`
  const isDeleting = deletionIn(object.projection) !== undefined && isOpen(root)
  if (isDeletionWaiting(root))
    return `${name}: ${phaseOf(root)}${time}${started}; its deletion waits for this job, see pawl interrupt`
  const order = isDeleting ? deletionOrder(root) : undefined
  return `${name}: ${phaseOf(root)}${time}${started}${order === undefined ? '' : `; deletes ${order}`}`
}

function jobText(job: JobRecord | undefined): string {
  if (job === undefined) return ''
  const { jobID, workflowID, startedAt, finishedAt } = job
  const end = finishedAt === null ? '' : `, ended ${finishedAt.toISOString()}`
  return `job ${singleLine(jobID || '-')} in run ${singleLine(workflowID)}, started ${startedAt.toISOString()}${end}\n`
}

function linesOf(node: JobNode, first: string, rest: string): readonly Line[] {
  const below = node.children.flatMap((child, index) => {
    const isLast = index === node.children.length - 1
    return linesOf(child, `${rest}${isLast ? '└─ ' : '├─ '}`, `${rest}${isLast ? '   ' : '│  '}`)
  })
  return [{ label: `${first}${singleLine(nameOf(node.object), 200)}`, node }, ...below]
}

interface Span {
  readonly from: Date
  readonly to: Date
  /**
   * True if the journal has no job for the object, as for items that the run of their owner handles; then the status
   * and the last change give the times.
   */
  readonly isGuess: boolean
}

export function spanOf(node: JobNode, whole: JobRecord | undefined, now: Date): Span | undefined {
  const { job, object } = node
  if (job !== undefined) return { from: job.startedAt, to: job.finishedAt ?? now, isGuess: false }
  const from = startIn(node, whole)
  // A change after the job may be an edit for the next job.
  const last = Math.min(object.updatedAt.getTime(), whole?.finishedAt?.getTime() ?? Infinity)
  return from && { from, to: isOpen(node) ? now : new Date(last), isGuess: true }
}

/** The position of this job on the time line of the whole job. */
function barOf(part: Span | undefined, whole: JobRecord | undefined, now: Date): string {
  if (part === undefined || whole === undefined) return '·'.repeat(BAR)
  const start = whole.startedAt.getTime()
  const span = Math.max(1, (whole.finishedAt ?? now).getTime() - start)
  const column = (at: Date) => Math.min(BAR, Math.max(0, Math.round(((at.getTime() - start) / span) * BAR)))
  const from = Math.min(BAR - 1, column(part.from))
  const to = Math.max(from + 1, column(part.to))
  return '·'.repeat(from) + '█'.repeat(to - from) + '·'.repeat(BAR - to)
}

/** Without the children that the job removed, unless it deletes the object itself. */
function countOf({ object, children }: JobNode): string {
  const isDeletion = object.deleted || deletionIn(object.projection) !== undefined
  const parts = children.filter((child) => isDeletion || phaseOf(child) !== 'Deleted')
  if (parts.length < 2) return ''
  return `${parts.filter((child) => isGood(phaseOf(child)) && !isOpen(child)).length}/${parts.length}`
}

/** The duration of each phase: `Init 0.1s, Progressing 3.0s`; of the time before the first stored phase, if it is long. */
export function phasesText(job: JobRecord | undefined, now: Date): string {
  if (job === undefined) return ''
  const { phases, startedAt, finishedAt } = job
  const [first] = phases
  const startMs = first === undefined ? 0 : Date.parse(first.at) - startedAt.getTime()
  const texts = phases
    .map(({ phase, at }, index) => {
      const next = phases[index + 1]
      const isEnd = next === undefined && job.outcome !== null
      if (isEnd) return ''
      const until = next === undefined ? (finishedAt ?? now).getTime() : Date.parse(next.at)
      return `${singleLine(phase, 60)} ${formatDuration(until - Date.parse(at))}`
    })
    .filter((text) => text !== '')
  return [...(startMs < SECOND ? [] : [`starting ${formatDuration(startMs)}`]), ...texts].join(', ')
}

function noteOf(node: JobNode, paint: Paint, statuses: DrawOptions['statuses'] = new Map()): string {
  const isExplainedBelow = nodesOf(node).some(
    (one) => one !== node && one.children.length === 0 && hasFailed(one) && noteOf(one, paint, statuses) !== '',
  )
  if (isExplainedBelow) return ''
  const colour = hasFailed(node) ? 'red' : 'yellow'
  const error = errorText(node.job?.lastError)
  if (error !== undefined) return paint(colour, singleLine(error, 160))
  if (!hasFailed(node) && !isOpen(node)) return ''
  const summary = statusText(statuses.get(node.object.uid)) || (unhandledType(node) ?? '')
  return paint(colour, singleLine(summary, 240) || awaitedText(node))
}

function awaitedText(node: JobNode): string {
  const [first, ...rest] = node.awaited
  if (first === undefined || !isOpen(node) || isInLevelMode(node)) return ''
  return `waits for ${nameOf(first)}${rest.length === 0 ? '' : ` and ${rest.length} more`}`
}

/** The summary of a live status with the reason of the first pod. */
export function statusText({ summary = '', pods: [pod] = [] }: Partial<LiveStatus> = {}): string {
  return pod === undefined ? summary : `${summary} (${pod.text})`
}

/** For output that is not a terminal: one line for each object that is new or whose phase changed. */
export function changedLines(before: JobNode | undefined, after: JobNode, now: Date): readonly string[] {
  const old = new Map(before === undefined ? [] : nodesOf(before).map((node) => [node.object.uid, phaseOf(node)]))
  return (
    nodesOf(after)
      .filter((node) => old.get(node.object.uid) !== phaseOf(node))
      // Items that the job has not reached yet.
      .filter((node) => node.isFromEarlierJob !== true || old.has(node.object.uid))
      .map((node) =>
        `${formatTime(now, now)}  ${singleLine(nameOf(node.object))}  ${phaseOf(node)}  ${noteOf(node, (_colour, text) => text)}`.trimEnd(),
      )
  )
}

export function nodesOf(node: JobNode): readonly JobNode[] {
  return [node, ...node.children.flatMap(nodesOf)]
}
