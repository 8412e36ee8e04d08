// What a person sees of the run in Temporal's UI: the phase, what is waited for, and the items.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { ExecutionPass } from './pass.ts'

// Temporal keeps at most 20,000 bytes of details (spec/engine.md 1.3); a row is about a hundred.
const ROWS_SHOWN = 100

export function executionDetails({ subject, state, draft, jobID }: ExecutionPass): string {
  const rows = state.deployItems
    .slice(0, ROWS_SHOWN)
    .map((item) => `| ${item.item} | ${item.type} | ${progress(item, jobID)} | ${item.dependsOn.join(', ')} |`)
  const more =
    state.deployItems.length > ROWS_SHOWN ? [`| and ${state.deployItems.length - ROWS_SHOWN} more | | | |`] : []
  return [
    `**Execution ${subject.namespace}/${subject.name}**: ${draft.phase ?? 'not started'}`,
    ...(draft.lastError === undefined ? [] : ['', `Error (${draft.lastError.reason}): ${draft.lastError.message}`]),
    '',
    '| item | type | state | depends on |',
    '|---|---|---|---|',
    ...rows,
    ...more,
  ].join('\n')
}

function progress(item: DeployItemView, jobID: string): string {
  if (item.jobID !== jobID) return item.deleting ? 'to be uninstalled' : 'not triggered'
  if (item.jobIDFinished === jobID) return item.phase ?? 'finished'
  return item.phase === undefined || item.phase === '' ? `waiting for a deployer of type ${item.type}` : item.phase
}
