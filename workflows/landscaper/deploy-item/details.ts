// Formats the details of an item's run for Temporal's UI.

import { codeBlock } from '../../kit/index.ts'
import type { ItemPass } from './pass.ts'

const LONGEST_ERROR = 2000

export function itemDetails({ subject, state }: ItemPass): string {
  const [item] = state.deployItems
  const shown = item === undefined ? 'gone' : `${item.type}, ${item.phase ?? 'not started'}`
  const { error, reason = 'Unknown' } = item ?? {}
  const failed = error === undefined ? '' : `\n\nError (${reason}):${codeBlock(error, LONGEST_ERROR)}`
  return `**Deploy item ${subject.namespace}/${subject.name}**: ${shown}${failed}`
}
