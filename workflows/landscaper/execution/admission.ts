// What an Execution must be to be stored: its items have names, and an order in which they can run. Of the compressed list nothing is looked at
// here: the Installation that writes it has looked, and a job that begins does. Source: spec/landscaper.md 5.3.
//
//   X1. The work is linear in the size of the object, whatever stands in it, and ends when nobody takes another problem.

import { type Admission, findCycle, type Node, type NodeDefect, nodeDefects, type Problem } from '../../kit/index.ts'
import { countDefect, itemDefects, shownName, shownNames, targetReferenceDefects } from '../item-rules.ts'
import { fieldsOf, type JsonFields, listOf, textOf } from '../json-fields.ts'
import { executionKind } from './kind.ts'

const AT = 'spec.deployItems'
// A longer path is told by its beginning.
const STEPS_SHOWN = 20

export const executionAdmission: Admission = {
  kind: executionKind,
  operations: ['CREATE', 'UPDATE'],
  validate({ object }) {
    const items = listOf(fieldsOf(fieldsOf(object)['spec'])['deployItems'])
    const excess = countDefect(items.length)
    return excess === undefined ? listProblems(items.map(fieldsOf)) : [{ ...excess, field: AT }]
  },
}

function* listProblems(items: readonly JsonFields[]): Generator<Problem> {
  const nodes = items.map(({ name, dependsOn }): Node => ({
    name: textOf(name),
    dependsOn: listOf(dependsOn).map(textOf),
  }))
  const known = shownNames(nodes.map(({ name }) => name))
  const defects = nodeDefects(nodes)
  for (const [index, item] of items.entries()) {
    const at = `${AT}[${index}]`
    for (const defect of defects[index] ?? []) yield nodeProblem(defect, at, { name: textOf(item['name']), known })
    yield* itemProblems(item, at)
  }
  yield* cycleProblems(nodes)
}

/** @param at the item's path. @param known the names of items, in words. */
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
  const own: readonly Problem[] =
    textOf(item['type']) === ''
      ? [{ field: 'type', found: 'nothing', expected: 'the type, which selects the deployer' }]
      : []
  const { config, labels, timeout } = item
  return [
    ...own,
    ...itemDefects({ name: textOf(item['name']), config, labels, timeout }),
    ...targetReferenceDefects(item['target']),
  ].map((one) => ({ ...one, field: `${at}${one.field === '' ? '' : `.${one.field}`}` }))
}

function cycleProblems(nodes: readonly Node[]): readonly Problem[] {
  const cycle = findCycle(nodes)
  if (cycle === undefined) return []
  const shown = cycle.slice(0, STEPS_SHOWN).map(shownName).join(' -> ')
  const path = cycle.length > STEPS_SHOWN ? `${shown} -> ... (${cycle.length - 1} items)` : shown
  return [{ field: AT, found: `items that depend on each other: ${path}`, expected: 'an order in which they can run' }]
}
