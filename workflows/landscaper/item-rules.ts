// Validates deploy items and lists of them with Pawl's own messages, before the API server would reject a DeployItem. Pure.
// Used for items that templates rendered, and for items of an Execution that a user wrote: at admission and when the job starts.
// Source: spec/landscaper.md 1.1, 1.3, 1.15 and 5.3.

import { findCycle, type Node, type NodeDefect, nodeDefects, type Problem, problemText } from '../kit/index.ts'
import { fieldsOf, type JsonFields, listOf, textOf } from './json-fields.ts'

/** An unchecked item; only the fields that the rules read. */
export interface WrittenItem {
  readonly name?: string
  readonly type?: unknown
  readonly config?: unknown
  readonly labels?: unknown
  readonly target?: unknown
  readonly timeout?: unknown
}

type Fields = Readonly<Record<string, unknown>>

// The name becomes a part of the object's name and the value of a label.
const NAME_LIMIT = 63
/** Each DeployItem has the name of its Execution in a label. */
export const EXECUTION_NAME_LIMIT = 63
const DNS_LABEL = '[a-z0-9]([a-z0-9-]*[a-z0-9])?'
const DNS_SUBDOMAIN = new RegExp(`^${DNS_LABEL}(\\.${DNS_LABEL})*$`)
const QUALIFIED_NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/
const PREFIX_LIMIT = 253
const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/
/** Without a sign, because a timeout is not negative. */
const GO_DURATION = /^(none|0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/
const LONGEST_SHOWN = 80

/** Shortens an item's name for messages. */
export function shownName(name: string): string {
  return name.length <= LONGEST_SHOWN ? name : `${name.slice(0, LONGEST_SHOWN)}...`
}

const NAMES_SHOWN = 20

/** Formats the first distinct names for messages. */
export function shownNames(names: readonly string[]): string {
  const shown = new Set<string>()
  for (const name of names) {
    if (shown.size === NAMES_SHOWN) break
    shown.add(shownName(name))
  }
  return [...shown].join(', ')
}

/** Checks whether the name of an Execution, or of the Installation of the same name, is too long for its items; undefined for a valid name. */
export function ownerNameProblem(kind: string, name: string): string | undefined {
  if (name.length <= EXECUTION_NAME_LIMIT) return undefined
  const found = `${kind} "${shownName(name)}": metadata.name: found ${name.length} characters`
  return `${found}; expected at most ${EXECUTION_NAME_LIMIT}, because its deploy items have the name as a label`
}

/** The defects of an item as texts with field, found value and expected value. The texts quote names, not values. */
export function itemProblems(item: WrittenItem): string[] {
  return [...itemDefects(item), ...targetDefects(item.target)].map(problemText)
}

/** The defects of an item without its target. Fields are paths from the item; an empty field is the item itself. */
export function itemDefects({ name = '', type, config, labels, timeout }: WrittenItem): Problem[] {
  return [
    ...(textOf(type) === '' ? [NO_TYPE] : []),
    ...(name === '' ? [] : nameProblems(name)),
    ...configProblems(config),
    ...labelsProblems(labels),
    ...timeoutProblems(timeout),
  ]
}

function nameProblems(name: string): Problem[] {
  if (name.length > NAME_LIMIT)
    return [{ field: 'name', found: `${name.length} characters`, expected: `at most ${NAME_LIMIT}` }]
  if (DNS_SUBDOMAIN.test(name)) return []
  return [
    {
      field: 'name',
      found: 'invalid characters',
      expected: 'lower-case letters and digits, with dashes and dots between them',
    },
  ]
}

const NO_TYPE: Problem = { field: 'type', found: 'nothing', expected: 'the type, which selects the deployer' }

const NO_CONFIG: Problem = { field: 'config', found: 'nothing', expected: 'a map with apiVersion and kind' }

const CONFIG_FIELDS = [
  ['apiVersion', "the API version of the deployer's configuration"],
  ['kind', "the kind of the deployer's configuration"],
] as const

// The API server requires both fields in an embedded object.
function configProblems(config: unknown): Problem[] {
  if (!isMap(config) || Object.keys(config).length === 0) return [NO_CONFIG]
  return CONFIG_FIELDS.flatMap(([field, expected]) => {
    const value = config[field]
    if (typeof value === 'string' && value !== '') return []
    const found = value === undefined || value === null || value === '' ? 'nothing' : 'another type'
    return [{ field: `config.${field}`, found, expected }]
  })
}

function labelsProblems(labels: unknown): Problem[] {
  if (labels === undefined || labels === null) return []
  if (!isMap(labels)) return [{ field: 'labels', found: 'another type', expected: 'a map of texts' }]
  return Object.entries(labels).flatMap(([key, value]) => labelProblems(key, value))
}

/** The defects of a target reference that a user writes: it needs name and namespace. */
export function targetReferenceDefects(target: unknown): Problem[] {
  if (target === undefined || target === null) return []
  const fields = fieldsOf(target)
  return ['name', 'namespace'].flatMap((name) =>
    textOf(fields[name]) === ''
      ? [{ field: `target.${name}`, found: 'nothing', expected: `the ${name} of a Target` }]
      : [],
  )
}

/** The defects of a rendered item's target reference. */
function targetDefects(target: unknown): Problem[] {
  if (target === undefined || target === null) return []
  if (isMap(target) && typeof target['name'] === 'string' && target['name'] !== '') return []
  return [{ field: 'target.name', found: 'nothing', expected: 'the name of a Target of this namespace' }]
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function labelProblems(key: string, value: unknown): Problem[] {
  const at = `labels.${shownName(key)}`
  if (!isLabelKey(key))
    return [{ field: at, found: 'an invalid label key', expected: 'a name such as tier or example.org/tier' }]
  if (typeof value === 'string' && LABEL_VALUE.test(value)) return []
  return [
    {
      field: at,
      found: 'an invalid label value',
      expected: 'at most 63 letters, digits, dots, dashes and underscores',
    },
  ]
}

function isLabelKey(key: string): boolean {
  const [name = '', prefix, ...more] = key.split('/').reverse()
  if (more.length > 0 || !QUALIFIED_NAME.test(name)) return false
  return prefix === undefined || (prefix.length <= PREFIX_LIMIT && DNS_SUBDOMAIN.test(prefix))
}

function timeoutProblems(timeout: unknown): Problem[] {
  if (timeout === undefined || timeout === null) return []
  if (typeof timeout === 'string' && GO_DURATION.test(timeout)) return []
  return [{ field: 'timeout', found: 'an invalid duration', expected: 'a duration such as 10m, or none' }]
}

/** Each item is an object and a row of the journal, and a run has a background activity for each. */
export const MAX_ITEMS = 5000

/** The defect of a list with so many items, as a text. */
export function countProblem(items: number): string | undefined {
  const defect = countDefect(items)
  return defect && problemText(defect)
}

/** The same as a problem; its field is the list. */
export function countDefect(items: number): Problem | undefined {
  return items > MAX_ITEMS ? { field: '', found: `${items} deploy items`, expected: `at most ${MAX_ITEMS}` } : undefined
}

// Validates the list of an Execution's items: names, and an order of the dependencies. Pure. Used for the plain list of the spec and for the unpacked
// compressed list. Source: spec/landscaper.md 5.3.
//
//   L1. The work is linear in the size of the list, and ends when the caller stops reading problems.

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
    yield* listedItemProblems(item, at)
  }
  const cycle = findCycle(nodes)
  if (cycle === undefined) return
  const found = `items that depend on each other: ${formatCycle(cycle)}`
  yield { field: list, found, expected: 'no cycle' }
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
      const found = `"${shownName(defect.name)}", which is not in the list`
      return { field: `${at}.dependsOn`, found, expected: `names of ${known}` }
    }
  }
}

/** @param at the item's path. */
function listedItemProblems(item: JsonFields, at: string): readonly Problem[] {
  const { type, config, labels, timeout } = item
  return [
    ...itemDefects({ name: textOf(item['name']), type, config, labels, timeout }),
    ...targetReferenceDefects(item['target']),
  ].map((one) => ({ ...one, field: `${at}${one.field === '' ? '' : `.${one.field}`}` }))
}

// Of a longer path the message shows the beginning.
const STEPS_SHOWN = 20

/** Formats a closed path of `findCycle`. */
export function formatCycle(cycle: readonly string[]): string {
  const shown = cycle.slice(0, STEPS_SHOWN).map(shownName).join(' -> ')
  return cycle.length > STEPS_SHOWN ? `${shown} -> ... (${cycle.length - 1} items)` : shown
}
