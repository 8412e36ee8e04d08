// Writes the TypeScript of a document: for each controller the interface of its states, their queries as data, the interface of its
// actions, and the steps that plans are made of. Pure and byte-stable: equal models give equal text.

import { action, signature } from './emit-actions.ts'
import { docComment, enclosed, fits, indented, literal, type PlainValue, property } from './layout.ts'
import type { ControllerModel, KindReference, QueryModel, StateModel } from './model.ts'

export interface EmitOptions {
  /** The document's file name, for the header. */
  readonly source: string
  /** From where generated code imports the kit. */
  readonly kit: string
  /** Text for the top of the file, such as a licence; lines that are no comments become some. */
  readonly boilerplate?: string
  /** How a bound module is spelt from where the output lies; default as bound. */
  readonly specifier?: (module: string) => string
}

/** The module for these controllers. */
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
  const kitNames = [...(hasActions ? ['action'] : []), 'type LevelPass']
  if (hasActions) kitNames.push('type Outcome')
  kitNames.push('type StateQuery', 'type Step')
  const kinds = controllers.flatMap(({ target, states }) => [target, ...states.map(({ kind }) => kind)])
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

function controllerBlocks(controller: ControllerModel): string[][] {
  const { doc, typeName, target } = controller
  const pass = enclosed(`export type ${typeName}Pass = LevelPass<`, [`${typeName}State`, target.alias], '>')
  return [
    stateInterface(controller),
    queries(controller),
    [...docComment(doc), ...pass],
    actionInterface(controller),
    steps(controller),
  ]
}

function stateInterface({ typeName, states }: ControllerModel): string[] {
  return block(
    `export interface ${typeName}State`,
    states.map((state) => [...docComment(state.doc), ...stateMember(state)]),
  )
}

function stateMember({ name, kind, query }: StateModel): string[] {
  if (query.many) return [`readonly ${name}: readonly ${kind.alias}[]`]
  const type = `${kind.alias} | undefined`
  const line = `readonly ${name}: ${type}`
  return fits(`  ${line}`) ? [line] : [`readonly ${name}:`, `  ${type}`]
}

function queries({ typeName, valueName, states }: ControllerModel): string[] {
  const name = `export const ${valueName}Queries = {`
  const type = [`keyof ${typeName}State`, 'StateQuery']
  if (states.length === 0) return enclosed(`${name}} as const satisfies Record<`, type, '>')
  const members = states.flatMap((state) => property(state.name, queryValue(state), 2))
  return [name, ...indented(members), `} as const satisfies Record<${type.join(', ')}>`]
}

function queryValue({ kind, query }: StateModel): PlainValue {
  const { many, owned, fresh, ...selectors }: QueryModel = query
  const { name, namespace, labels, fields, controller } = selectors
  return {
    kind: `${kind.groupVersion}/${kind.kind}`,
    many: many || undefined,
    name,
    namespace,
    labels,
    fields,
    controller,
    owned: owned || undefined,
    fresh: fresh || undefined,
  }
}

function actionInterface(controller: ControllerModel): string[] {
  const { typeName, actions } = controller
  return block(
    `export interface ${typeName}Actions`,
    actions.map((found) => [...docComment(found.doc), ...signature(found, `${typeName}Pass`)]),
  )
}

function steps({ typeName, valueName, actions }: ControllerModel): string[] {
  const [asked, pass] = [`${typeName}Actions`, `${typeName}Pass`]
  // A parameter that nothing uses is an error to the compiler, unless its name begins so.
  const parameter = `${actions.length === 0 ? '_actions' : 'actions'}: ${asked}`
  const name = `export function ${valueName}Steps(`
  const type = `Readonly<Record<keyof ${asked}, Step<${pass}>>>`
  const body =
    actions.length === 0
      ? ['  return {}', '}']
      : ['  return {', ...indented(actions.flatMap(action), '    '), '  }', '}']
  const line = `${name}${parameter}): ${type} {`
  if (fits(line)) return [line, ...body]
  const broken = [name, `  ${parameter},`]
  if (fits(`): ${type} {`)) return [...broken, `): ${type} {`, ...body]
  const parts = enclosed('Record<', [`keyof ${asked}`, `Step<${pass}>`], '>', 2)
  return [...broken, '): Readonly<', ...indented(parts), '> {', ...body]
}

function block(head: string, members: readonly (readonly string[])[]): string[] {
  return members.length === 0 ? [`${head} {}`] : [`${head} {`, ...indented(members.flat()), '}']
}
