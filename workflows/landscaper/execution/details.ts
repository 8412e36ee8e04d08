// What a person sees of the Execution in Temporal's UI, below its Installation where that hosts it: its phase, its items and what they wait for.
// A list of Markdown, for tables grow wider than the page.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { ExecutionPass } from './pass.ts'

// Temporal keeps at most 20,000 bytes of details (spec/engine.md 1.3); a line is below two hundred as a rule.
const MOST_LINES = 60
const MOST_ITEMS = 200
const LONGEST_ERROR = 120

export function executionDetails({ subject, state, draft, jobID, tracks }: ExecutionPass): string {
  const { deployItems } = state
  const isBig = deployItems.length > MOST_ITEMS
  const finished = deployItems.filter((item) => isFinished(item, jobID)).length
  const done = deployItems.length === 0 ? '' : `, ${finished} of ${deployItems.length} items finished`
  const error = draft.lastError === undefined ? '' : `: ${cut(draft.lastError.message)}`
  const shown = isBig ? deployItems.filter((item) => isNotable(item, jobID)) : deployItems
  const isHere = ({ uid }: DeployItemView) => tracks.has(uid)
  const lines = shown
    .slice(0, MOST_LINES)
    .map((item) => `  - ${item.item} (${item.type}): ${stateOf(item, { deployItems, jobID, isHere })}`)
  return [
    `- **Execution ${subject.namespace}/${subject.name}**: ${draft.phase ?? 'not started'}${done}${error}`,
    ...(isBig ? countedLines(deployItems, jobID) : []),
    ...lines,
    ...(shown.length > MOST_LINES ? [`  - and ${shown.length - MOST_LINES} more`] : []),
  ].join('\n')
}

/** Runs, or has failed. */
function isNotable(item: DeployItemView, jobID: string): boolean {
  return item.jobID === jobID && (item.jobIDFinished !== jobID || item.error !== undefined)
}

interface Setting {
  readonly deployItems: readonly DeployItemView[]
  readonly jobID: string
  /** This run is at work on it. */
  readonly isHere: (item: DeployItemView) => boolean
}

function stateOf(item: DeployItemView, setting: Setting): string {
  const { jobID, isHere } = setting
  if (isFinished(item, jobID)) return endOf(item)
  return item.jobID === jobID || isHere(item) ? workOn(item, setting) : waitOf(item, setting)
}

function endOf({ phase = '', tookMs, error }: DeployItemView): string {
  const took = tookMs === undefined ? '' : ` after ${seconds(tookMs)}`
  return `${phase === '' ? 'finished' : phase}${took}${error === undefined ? '' : `: ${cut(error)}`}`
}

function workOn(item: DeployItemView, { jobID, isHere }: Setting): string {
  // Until the first status write of its job the item shows the one before.
  if (item.jobID !== jobID) return 'begun'
  const { phase = '', type, since } = item
  const begun = since === undefined ? '' : ` since ${since}`
  if (phase !== '') return `${phase}${begun}`
  return isHere(item) ? `begun${begun}` : `waits for a deployer of type ${type}${begun}`
}

function waitOf(item: DeployItemView, { deployItems, jobID }: Setting): string {
  if (item.deleting) return 'to be uninstalled'
  const isAhead = (name: string) => deployItems.some((one) => one.item === name && !isFinished(one, jobID))
  const ahead = item.dependsOn.filter(isAhead)
  return ahead.length === 0 ? 'not begun' : `not begun, waits for ${ahead.join(', ')}`
}

function isFinished({ jobID, jobIDFinished }: DeployItemView, job: string): boolean {
  return jobID === job && jobIDFinished === job
}

/** As `12 Succeeded, 3 Failed, 185 not begun`. */
function countedLines(items: readonly DeployItemView[], jobID: string): readonly string[] {
  const counts = new Map<string, number>()
  for (const item of items) {
    const state = item.jobID === jobID ? (item.phase ?? 'begun') : 'not begun'
    counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  return [`  - ${[...counts].map(([state, count]) => `${count} ${state}`).join(', ')}`]
}

function seconds(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`
}

function cut(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ')
  return line.length <= LONGEST_ERROR ? line : `${line.slice(0, LONGEST_ERROR)}...`
}
