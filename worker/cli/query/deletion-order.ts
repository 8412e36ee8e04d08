// The order in which a deletion removes items: an item goes before the items that it depends on. Pure.

import { classifyBackward, textAt } from '../../../workflows/kit/index.ts'
import { siblingsOf } from './explain-status.ts'
import { type JobNode, phaseOf } from './job-tree.ts'
import { isGood } from './format.ts'

interface Item {
  readonly name: string
  readonly dependsOn: readonly string[]
}

const MOST_NAMED = 12

/** `3 items in reverse order: app, then cache and db`; undefined without remaining items. */
export function deletionOrder(root: JobNode): string | undefined {
  const families = itemFamilies(root)
  const count = families.reduce((sum, items) => sum + items.length, 0)
  const [only, ...others] = families
  if (only === undefined) return undefined
  const total = `${count} ${count === 1 ? 'item' : 'items'}`
  if (count === 1) return `${total}: ${only[0]?.name ?? ''}`
  if (others.length > 0 || count > MOST_NAMED) return `${total} in reverse order of their dependencies`
  return `${total} in reverse order: ${layersOf(only).map(joined).join(', then ')}`
}

/** The remaining items below the object, by parent. */
function itemFamilies({ children }: JobNode): readonly (readonly Item[])[] {
  const items = children.flatMap(({ object, job }): readonly Item[] => {
    const siblings = siblingsOf(object)
    if (siblings?.after === undefined || object.deleted || isGone({ object, job })) return []
    const name = siblings.name === undefined ? undefined : textAt(object.projection, siblings.name)
    const after = textAt(object.projection, siblings.after) ?? ''
    return [{ name: name ?? object.name, dependsOn: after.split(',').filter((one) => one !== '') }]
  })
  return [...(items.length === 0 ? [] : [items]), ...children.flatMap(itemFamilies)]
}

function isGone(node: Pick<JobNode, 'object' | 'job'>): boolean {
  return isGood(node.job?.outcome ?? undefined) && phaseOf(node) === 'Deleted'
}

function layersOf(items: readonly Item[]): readonly (readonly string[])[] {
  const { ready } = classifyBackward(items, () => 'waiting')
  // Without a start there is a cycle.
  if (ready.length === 0) return items.length === 0 ? [] : [items.map(({ name }) => name)]
  return [ready.map(({ name }) => name), ...layersOf(items.filter((item) => !ready.includes(item)))]
}

function joined(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`
}
