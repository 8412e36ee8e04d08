// What an Execution must be to be stored: its items have names, and an order in which they can run. Of the compressed list nothing is looked at
// here: the Installation that writes it has looked, and a job that begins does. Source: spec/landscaper.md 5.3.

import { type Admission, findCycle, type Node, type NodeDefect, nodeDefects, type Problem } from '../../kit/index.ts'
import { itemDefects, shownName, targetReferenceDefects } from '../item-rules.ts'
import { fieldsOf, type JsonFields, listOf, textOf } from '../json-fields.ts'
import { executionKind } from './kind.ts'

const AT = 'spec.deployItems'
// A longer path is told by its beginning.
const STEPS_SHOWN = 20
const NAMES_SHOWN = 20

export const executionAdmission: Admission = {
  kind: executionKind,
  operations: ['CREATE', 'UPDATE'],
  validate({ object }) {
    const items = listOf(fieldsOf(fieldsOf(object)['spec'])['deployItems']).map(fieldsOf)
    const nodes = items.map(({ name, dependsOn }): Node => ({
      name: textOf(name),
      dependsOn: listOf(dependsOn).map(textOf),
    }))
    const defects = nodeDefects(nodes)
    return [
      ...items.flatMap((item, index) => [
        ...(defects[index] ?? []).map((defect) => nodeProblem(defect, nodes, index)),
        ...itemProblems(item, index),
      ]),
      ...cycleProblems(nodes),
    ]
  },
}

function nodeProblem(defect: NodeDefect, nodes: readonly Node[], index: number): Problem {
  const at = `${AT}[${index}]`
  switch (defect.defect) {
    case 'unnamed':
      return { field: `${at}.name`, found: 'nothing', expected: 'a name' }
    case 'named twice': {
      const name = shownName(nodes[index]?.name ?? '')
      return { field: `${at}.name`, found: `"${name}", which an item before it has`, expected: 'unique names' }
    }
    case 'unknown dependency': {
      const names = [...new Set(nodes.map(({ name }) => shownName(name)))]
      const known = names.slice(0, NAMES_SHOWN).join(', ')
      const found = `"${shownName(defect.name)}", which is no item of the list`
      return { field: `${at}.dependsOn`, found, expected: `names of ${known}` }
    }
  }
}

function itemProblems(item: JsonFields, index: number): readonly Problem[] {
  const own: readonly Problem[] =
    textOf(item['type']) === ''
      ? [{ field: 'type', found: 'nothing', expected: 'the type, which selects the deployer' }]
      : []
  const { config, labels, timeout } = item
  return [
    ...own,
    ...itemDefects({ name: textOf(item['name']), config, labels, timeout }),
    ...targetReferenceDefects(item['target']),
  ].map((one) => ({ ...one, field: `${AT}[${index}]${one.field === '' ? '' : `.${one.field}`}` }))
}

function cycleProblems(nodes: readonly Node[]): readonly Problem[] {
  const cycle = findCycle(nodes)
  if (cycle === undefined) return []
  const shown = cycle.slice(0, STEPS_SHOWN).map(shownName).join(' -> ')
  const path = cycle.length > STEPS_SHOWN ? `${shown} -> ... (${cycle.length - 1} items)` : shown
  return [{ field: AT, found: `items that depend on each other: ${path}`, expected: 'an order in which they can run' }]
}
