// Writes what belongs to the states of a controller: their members in an interface, and their queries as data.

import { docComment, enclosed, fits, indented, type PlainValue, property } from './layout.ts'
import type { ControllerModel, QueryModel, StateModel } from './model.ts'

/** `readonly jobs: readonly Job[]` for each state, with its comment; inside an interface. */
export function stateMembers(states: readonly StateModel[]): string[][] {
  return states.map((state) => [...docComment(state.doc), ...stateMember(state)])
}

function stateMember({ name, kind, query }: StateModel): string[] {
  if (query.many) return [`readonly ${name}: readonly ${kind.alias}[]`]
  const type = `${kind.alias} | undefined`
  const line = `readonly ${name}: ${type}`
  return fits(`  ${line}`) ? [line] : [`readonly ${name}:`, `  ${type}`]
}

/** `export const cronJobQueries = { ... }`. @param key the type of its keys. */
export function queries({ valueName, states }: ControllerModel, key: string): string[] {
  const name = `export const ${valueName}Queries = {`
  const type = [key, 'StateQuery']
  if (states.length === 0) return enclosed(`${name}} as const satisfies Record<`, type, '>')
  const members = states.flatMap((state) => property(state.name, queryValue(state), 2))
  return [name, ...indented(members), `} as const satisfies Record<${type.join(', ')}>`]
}

function queryValue({ kind, query }: StateModel): PlainValue {
  const { many, owned, fresh, ...selectors }: QueryModel = query
  const { name, namespace, namespacesFrom, labels, labelsFrom, fields, controller, pick } = selectors
  return {
    kind: `${kind.groupVersion}/${kind.kind}`,
    many: many || undefined,
    name,
    namespace,
    namespacesFrom,
    labels,
    labelsFrom,
    fields,
    controller,
    owned: owned === false ? undefined : owned,
    pick,
    fresh: fresh || undefined,
  }
}
