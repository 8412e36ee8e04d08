// What a person sees of the group in Temporal's UI.

import { type DeployGroupPass, isUnfinished } from './pass.ts'

// Temporal keeps at most 20,000 bytes of details (spec/engine.md 1.3).
const ROWS_SHOWN = 100

export function deployDetails({ subject, state, jobID }: DeployGroupPass): string {
  const unfinished = state.deployItems.filter((item) => isUnfinished(item, jobID)).length
  const rows = state.deployItems
    .slice(0, ROWS_SHOWN)
    .map((item) => `| ${item.item} | ${item.type} | ${item.phase ?? 'not started'} |`)
  return [
    `**Deploy items of ${subject.kind} ${subject.namespace}/${subject.name}**: ${state.deployItems.length - unfinished} of ${state.deployItems.length} triggered items finished`,
    '',
    '| item | type | phase |',
    '|---|---|---|',
    ...rows,
  ].join('\n')
}
