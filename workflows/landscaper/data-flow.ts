// The data flow between siblings: exporters and importers of the names in their shared scope. Pure.
// Source: spec/landscaper.md 2.3 "Init" 3, 2.5, 2.6. Unlike in Landscaper, maps of targets count in both directions (appendix B 8).

import { findCycle, type Node } from '../kit/index.ts'
import { fieldsOf, type JsonFields, listOf, textOf } from './json-fields.ts'

interface Named {
  readonly name: string
}

/** The parts of a spec that the data flow depends on; of Installations and of templates. */
export interface DataFlow {
  readonly imports?: {
    readonly data?: readonly (Partial<Named> & { readonly dataRef?: string })[]
    readonly targets?: readonly (Partial<Named> & {
      readonly target?: string
      readonly targets?: readonly string[]
      readonly targetMap?: Readonly<Record<string, string>>
      readonly targetListRef?: string
      readonly targetMapRef?: string
    })[]
  }
  readonly exports?: {
    readonly data?: readonly (Named & { readonly dataRef?: string })[]
    readonly targets?: readonly (Named & { readonly target?: string })[]
  }
}

/** Reads a spec that may be invalid; fields with another type count as absent. */
export function readFlow(spec: JsonFields): DataFlow {
  const [imports, exports] = [fieldsOf(spec['imports']), fieldsOf(spec['exports'])]
  const entries = (list: unknown) => listOf(list).map(fieldsOf)
  return {
    imports: {
      data: entries(imports['data']).map(({ dataRef }) => ({ dataRef: textOf(dataRef) })),
      targets: entries(imports['targets']).map(({ target, targets, targetMap }) => ({
        target: textOf(target),
        targets: listOf(targets).map(textOf),
        targetMap: Object.fromEntries(Object.entries(fieldsOf(targetMap)).map(([key, name]) => [key, textOf(name)])),
      })),
    },
    exports: {
      data: entries(exports['data']).map(({ name, dataRef }) => ({ name: textOf(name), dataRef: textOf(dataRef) })),
      targets: entries(exports['targets']).map(({ name, target }) => ({ name: textOf(name), target: textOf(target) })),
    },
  }
}

/** A name in the shared scope, with its kind: a DataObject and a Target may have the same name. */
export type SharedName = `data ${string}` | `target ${string}`

/** The names that a spec imports, in its order. The names of list and map references belong to the parent, never to a sibling. */
export function importedNames({ imports = {} }: DataFlow): readonly SharedName[] {
  const data = (imports.data ?? []).flatMap(({ dataRef = '' }): SharedName[] =>
    dataRef === '' ? [] : [`data ${dataRef}`],
  )
  const targets = (imports.targets ?? []).flatMap(({ target = '', targets: list = [], targetMap = {} }) =>
    [target, ...list, ...Object.values(targetMap)].flatMap((name): SharedName[] =>
      name === '' ? [] : [`target ${name}`],
    ),
  )
  return [...data, ...targets]
}

/** The names that a spec exports, without empty names. */
export function exportedNames({ exports = {} }: DataFlow): readonly SharedName[] {
  const data = (exports.data ?? []).flatMap(({ dataRef = '' }): SharedName[] =>
    dataRef === '' ? [] : [`data ${dataRef}`],
  )
  const targets = (exports.targets ?? []).flatMap(({ target = '' }): SharedName[] =>
    target === '' ? [] : [`target ${target}`],
  )
  return [...data, ...targets]
}

/** Whether `one` imports a name that `of` exports. */
export function isSuccessor(one: DataFlow, of: DataFlow): boolean {
  const exported = new Set(exportedNames(of))
  return exported.size > 0 && importedNames(one).some((name) => exported.has(name))
}

type Sibling = DataFlow & Named

/** The siblings as a graph: each depends on the siblings whose exports it imports. */
export function flowGraph(siblings: readonly Sibling[]): readonly Node[] {
  const exporters = new Map<SharedName, Set<string>>()
  for (const one of siblings) {
    for (const name of exportedNames(one)) exporters.set(name, (exporters.get(name) ?? new Set()).add(one.name))
  }
  return siblings.map((one) => ({
    name: one.name,
    dependsOn: [...new Set(importedNames(one).flatMap((name) => [...(exporters.get(name) ?? [])]))],
  }))
}

/** Formats the names that two siblings export; empty without conflicts. */
export function exportProblems(siblings: readonly Sibling[]): readonly string[] {
  const exporters = new Map<SharedName, string>()
  return siblings.flatMap((one) =>
    exportedNames(one).flatMap((name) => {
      const other = exporters.get(name)
      exporters.set(name, other ?? one.name)
      return other === undefined
        ? []
        : [`${name} is exported by ${other} and ${one.name}; export it from only one of them`]
    }),
  )
}

/** Formats a cycle of siblings that import from each other; undefined without a cycle. */
export function cycleProblem(siblings: readonly Sibling[]): string | undefined {
  const cycle = findCycle(flowGraph(siblings))
  return cycle && `they import from each other: ${cycle.join(' -> ')}; remove one of these imports`
}

/** The shortest cycle through a sibling, as a closed path of names; undefined without a cycle. */
export function shortestCycle(name: string, siblings: readonly Node[]): readonly string[] | undefined {
  const dependsOn = new Map(siblings.map((one) => [one.name, one.dependsOn]))
  const paths: (readonly string[])[] = [[name]]
  const seen = new Set([name])
  // Breadth-first search: the loop also visits the appended paths.
  for (const path of paths) {
    for (const next of dependsOn.get(path.at(-1) ?? '') ?? []) {
      if (next === name) return [...path, name]
      if (seen.has(next)) continue
      seen.add(next)
      paths.push([...path, next])
    }
  }
  return undefined
}
