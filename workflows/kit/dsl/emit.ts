// Generates the TypeScript module of a document: for each controller the interfaces of its states and actions, its queries as data, and the steps of
// plans.
// Pure and byte-stable: equal models give equal text.

import { controllerBlocks, namedKinds } from './emit-controller.ts'
import { enclosed, literal } from './layout.ts'
import type { ControllerModel, KindReference } from './model.ts'

export interface EmitOptions {
  /** The document's file name, for the header. */
  readonly source: string
  /** The kit's module path in generated code. */
  readonly kit: string
  /** Text for the top of the file, such as a licence; lines are turned into comments. */
  readonly boilerplate?: string
  /** Converts a bound module path to one relative to the output; default unchanged. */
  readonly specifier?: (module: string) => string
}

/** The module of these controllers. */
export function emit(controllers: readonly ControllerModel[], options: EmitOptions): string {
  const blocks = [header(options), imports(controllers, options), ...controllers.flatMap(controllerBlocks)]
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n')
}

function header({ source, boilerplate = '' }: EmitOptions): string[] {
  const text = boilerplate
    .replace(/\r\n?/g, '\n')
    .replace(/^\ufeff/, '')
    .trim()
  const lines = text === '' ? [] : text.split('\n').map((line) => line.trimEnd())
  const isComment = text.startsWith('/*') && text.indexOf('*/') === text.length - 2
  const top = isComment ? lines : lines.map((line) => (line.startsWith('//') ? line : `// ${line}`.trimEnd()))
  const from = source.replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, '?')
  return [...top, ...(top.length > 0 ? [''] : []), `// Generated from ${from}. Do not edit; run \`npx pawl gen\`.`]
}

function imports(
  controllers: readonly ControllerModel[],
  { kit, specifier = (module) => module }: EmitOptions,
): string[] {
  if (controllers.length === 0) return ['export {}']
  const hasActions = controllers.some(({ actions }) => actions.length > 0)
  const hasLevels = controllers.some(({ mode }) => mode === 'level')
  const kitNames = [
    ...(hasActions ? ['action'] : []),
    ...(hasLevels ? ['type LevelPass'] : []),
    ...(hasActions ? ['type Outcome'] : []),
    ...['type StateQuery', 'type Step'],
  ]
  const kinds = controllers.flatMap(namedKinds)
  const byModule = new Map<string, Map<string, KindReference>>()
  for (const kind of kinds) {
    const from = specifier(kind.module)
    byModule.set(from, (byModule.get(from) ?? new Map<string, KindReference>()).set(kind.alias, kind))
  }
  const modules = [...byModule].sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    ...importLine('import {', kitNames, kit),
    ...modules.flatMap(([module, named]) => importLine('import type {', importedNames([...named.values()]), module)),
  ]
}

function importedNames(kinds: readonly KindReference[]): string[] {
  return kinds.map(({ alias, kind }) => (alias === kind ? kind : `${kind} as ${alias}`)).sort()
}

function importLine(head: string, names: readonly string[], module: string): string[] {
  const from = `} from ${literal(module)}`
  const [only] = names
  return names.length === 1 && only !== undefined ? [`${head} ${only} ${from}`] : enclosed(head, names, from)
}
