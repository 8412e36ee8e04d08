// Formats the Execution's details for Temporal's UI: its phase, its items and the dependencies that they wait for. A hosted Execution is shown below
// its Installation. The format is a Markdown list, because tables grow wider than the page. The UI shows about 12 lines of 70 characters and scrolls
// the rest, so failed items come first and succeeded items last, and no message is repeated.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { inlineCode } from '../../kit/index.ts'
import { executionKind } from './kind.ts'
import type { ExecutionPass } from './pass.ts'

// Temporal keeps at most 20,000 bytes of details (spec/engine.md 1.3); a line rarely exceeds 200 bytes.
const MAX_LINES = 60
const MAX_ITEMS = 200
const MAX_ERROR_LENGTH = 120
// Below this duration, start and end were part of the same write.
const SAME_WRITE_MS = 50

export function executionDetails({ subject, state, draft, jobID, background: background }: ExecutionPass): string {
  const { deployItems } = state
  const isBig = deployItems.length > MAX_ITEMS
  const finished = deployItems.filter((item) => isFinished(item, jobID)).length
  const done = deployItems.length === 0 ? '' : `, ${finished} of ${deployItems.length} items finished`
  const isHere = ({ uid }: DeployItemView) => background.has(uid)
  const setting = { deployItems, jobID, isHere, isOver: draft.phase === 'Failed' }
  const notable = isBig ? deployItems.filter((item) => isNotable(item, jobID)) : [...deployItems]
  const shown = notable.sort((one, other) => rankOf(one, setting) - rankOf(other, setting)).slice(0, MAX_LINES)
  const hidden = notable.length - shown.length
  // The Execution's error repeats the errors of its items.
  const isTold = shown.some((item) => isFinished(item, jobID) && item.error !== undefined)
  const error =
    draft.lastError === undefined || isTold ? '' : `: ${inlineCode(draft.lastError.message, MAX_ERROR_LENGTH)}`
  return [
    `- **Execution ${subject.namespace}/${subject.name}**: ${draft.phase ?? 'not started'}${done}${error}`,
    ...(isBig ? formatCounts(deployItems, jobID) : []),
    ...shown.map((item) => `  - ${item.item} (${shortType(item)}): ${formatState(item, setting)}`),
    ...(hidden > 0 ? [`  - and ${hidden} more`] : []),
  ].join('\n')
}

/** Order of the lines: failed, running, waiting, succeeded. */
function rankOf(item: DeployItemView, { jobID, isHere }: Context): number {
  if (isFinished(item, jobID)) return hasFailed(item) ? 0 : 3
  return item.jobID === jobID || isHere(item) ? 1 : 2
}

/** `mock` for a type of Landscaper's group, `example.com/helm` for another type. */
function shortType({ type }: DeployItemView): string {
  const own = `${executionKind.group}/`
  return type.startsWith(own) ? type.slice(own.length) : type
}

/** The item runs or has failed. */
function isNotable(item: DeployItemView, jobID: string): boolean {
  return item.jobID === jobID && (item.jobIDFinished !== jobID || item.error !== undefined)
}

interface Context {
  readonly deployItems: readonly DeployItemView[]
  readonly jobID: string
  /** This run works on the item. */
  readonly isHere: (item: DeployItemView) => boolean
  /** The job has failed: an item that has not started will not start. */
  readonly isOver: boolean
}

function formatState(item: DeployItemView, setting: Context): string {
  const { jobID, isHere } = setting
  if (isFinished(item, jobID)) return formatEnd(item)
  return item.jobID === jobID || isHere(item) ? formatProgress(item, setting) : formatWait(item, setting)
}

function formatEnd({ phase = '', tookMs, error, isSkipped }: DeployItemView): string {
  if (isSkipped === true && phase === 'Succeeded') return 'skipped'
  let took = ''
  if (tookMs !== undefined) took = tookMs < SAME_WRITE_MS ? ' at once' : ` after ${formatDuration(tookMs)}`
  return `${phase === '' ? 'finished' : phase}${took}${error === undefined ? '' : `: ${inlineCode(error, MAX_ERROR_LENGTH)}`}`
}

function formatProgress(item: DeployItemView, { jobID, isHere }: Context): string {
  // Until the first status write of its job, the item shows the phase of the previous job.
  if (item.jobID !== jobID) return 'begun'
  const { phase = '', since } = item
  const sinceText = since === undefined ? '' : ` since ${formatTime(since)}`
  if (phase !== '') return `${phase}${sinceText}`
  return isHere(item) ? `begun${sinceText}` : `waits for its deployer${sinceText}`
}

function formatWait(item: DeployItemView, { deployItems, jobID, isOver }: Context): string {
  if (item.deleting) return 'to be uninstalled'
  const needed = deployItems.filter((one) => item.dependsOn.includes(one.item))
  const failed = needed.filter((one) => isFinished(one, jobID) && hasFailed(one))
  if (failed.length > 0) return `not begun: ${failed.map((one) => `${one.item} ${one.phase ?? 'failed'}`).join(', ')}`
  const ahead = needed.filter((one) => !isFinished(one, jobID))
  if (ahead.length === 0) return 'not begun'
  return `not begun, ${isOver ? 'needs' : 'waits for'} ${ahead.map((one) => one.item).join(', ')}`
}

function isFinished({ jobID, jobIDFinished }: DeployItemView, job: string): boolean {
  return jobID === job && jobIDFinished === job
}

function hasFailed({ phase, error }: DeployItemView): boolean {
  return error !== undefined || phase === 'Failed' || phase === 'DeleteFailed'
}

/** For example `12 Succeeded, 3 Failed, 185 not begun`. */
function formatCounts(items: readonly DeployItemView[], jobID: string): readonly string[] {
  const counts = new Map<string, number>()
  for (const item of items) {
    const state = item.jobID === jobID ? (item.phase ?? 'begun') : 'not begun'
    counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  return [`  - ${[...counts].map(([state, count]) => `${count} ${state}`).join(', ')}`]
}

function formatDuration(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`
}

/** `2030-01-01 00:00:00 UTC`, the format of Temporal's UI. */
function formatTime(time: string): string {
  return time.replace(/^([\d-]+)T([\d:]+)(?:\.\d+)?Z$/, '$1 $2 UTC')
}
