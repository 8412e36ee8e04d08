// What a person sees of an item's run in Temporal's UI.

import type { ItemPass } from './pass.ts'

export function itemDetails({ subject, state }: ItemPass): string {
  const [item] = state.deployItems
  const shown = item === undefined ? 'gone' : `${item.type}, ${item.phase ?? 'not started'}`
  return `**Deploy item ${subject.namespace}/${subject.name}**: ${shown}`
}
