// Validates the list of an Execution's items: names, and an order of the dependencies. Pure. Used for the plain list of the spec and for the unpacked
// compressed list. Source: spec/landscaper.md 5.3.
//
//   L1. The work is linear in the size of the list, and ends when the caller stops reading problems.

import { findCycle, type Node, type NodeDefect, nodeDefects, type Problem } from '../kit/index.ts'
import { countDefect, itemDefects, shownName, shownNames, targetReferenceDefects } from './item-rules.ts'
import { fieldsOf, type JsonFields, listOf, textOf } from './json-fields.ts'

/** @param at the list's path. */
export function listProblems(list: readonly unknown[], at: string): Iterable<Problem> {
  const excess = countDefect(list.length)
  return excess === undefined ? eachProblem(list.map(fieldsOf), at) : [{ ...excess, field: at }]
}

function* eachProblem(items: readonly JsonFields[], list: string): Generator<Problem> {
  const nodes = items.map(({ name, dependsOn }): Node => ({
    name: textOf(name),
    dependsOn: listOf(dependsOn).map(textOf),
  }))
  const known = shownNames(nodes.map(({ name }) => name))
  const defects = nodeDefects(nodes)
  for (const [index, item] of items.entries()) {
    const at = `${list}[${index}]`
    for (const defect of defects[index] ?? []) yield nodeProblem(defect, at, { name: textOf(item['name']), known })
    yield* itemProblems(item, at)
  }
  const cycle = findCycle(nodes)
  if (cycle === undefined) return
  const found = `items that depend on each other: ${pathInWords(cycle)}`
  yield { field: list, found, expected: 'an order in which they can run' }
}

/** @param at the item's path. @param known the names of the items, formatted. */
function nodeProblem(
  defect: NodeDefect,
  at: string,
  { name, known }: { readonly name: string; readonly known: string },
): Problem {
  switch (defect.defect) {
    case 'unnamed':
      return { field: `${at}.name`, found: 'nothing', expected: 'a name' }
    case 'named twice':
      return {
        field: `${at}.name`,
        found: `"${shownName(name)}", which an item before it has`,
        expected: 'unique names',
      }
    case 'unknown dependency': {
      const found = `"${shownName(defect.name)}", which is no item of the list`
      return { field: `${at}.dependsOn`, found, expected: `names of ${known}` }
    }
  }
}

/** @param at the item's path. */
function itemProblems(item: JsonFields, at: string): readonly Problem[] {
  const { type, config, labels, timeout } = item
  return [
    ...itemDefects({ name: textOf(item['name']), type, config, labels, timeout }),
    ...targetReferenceDefects(item['target']),
  ].map((one) => ({ ...one, field: `${at}${one.field === '' ? '' : `.${one.field}`}` }))
}

// Of a longer path the message shows the beginning.
const STEPS_SHOWN = 20

/** Formats a closed path of `findCycle`. */
export function pathInWords(cycle: readonly string[]): string {
  const shown = cycle.slice(0, STEPS_SHOWN).map(shownName).join(' -> ')
  return cycle.length > STEPS_SHOWN ? `${shown} -> ... (${cycle.length - 1} items)` : shown
}
