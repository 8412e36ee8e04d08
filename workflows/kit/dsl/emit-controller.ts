// Generates the TypeScript of one controller, by mode.
//
//   M1. In mode level the kit defines the pass, so its type is generated.
//   M2. In mode job the pass is a type parameter, because activities and the run's state are handwritten. Generated code requires only that its state
// contains the document's states.

import { docComment, enclosed, fits, indented, literal, type PlainValue, property } from './layout.ts'
import type { ActionModel, ControllerModel, KindReference, QueryModel, StateModel } from './model.ts'

/** The declarations of a controller, each as lines. */
export function controllerBlocks(controller: ControllerModel): string[][] {
  return controller.mode === 'level' ? levelBlocks(controller) : jobBlocks(controller)
}

/** The kinds whose types the declarations use. */
export function namedKinds({ target, states }: ControllerModel): readonly KindReference[] {
  return [target, ...states.map(({ kind }) => kind)]
}

function levelBlocks(controller: ControllerModel): string[][] {
  const { doc, typeName, valueName, target, states, actions } = controller
  const [asked, pass] = [`${typeName}Actions`, `${typeName}Pass`]
  // The compiler rejects an unused parameter unless its name starts with an underscore.
  const parameter = `${actions.length === 0 ? '_actions' : 'actions'}: ${asked}`
  return [
    block(`export interface ${typeName}State`, stateMembers(states)),
    queries(controller, `keyof ${typeName}State`),
    [...docComment(doc), ...enclosed(`export type ${pass} = LevelPass<`, [`${typeName}State`, target.alias], '>')],
    actionInterface(controller, { head: asked, pass, result: 'Promise<Outcome>' }),
    [...levelHead(`export function ${valueName}Steps(`, parameter, [asked, pass]), ...stepsBody(controller)],
  ]
}

function levelHead(name: string, parameter: string, [asked, pass]: readonly [string, string]): string[] {
  const type = `Readonly<Record<keyof ${asked}, Step<${pass}>>>`
  const line = `${name}${parameter}): ${type} {`
  if (fits(line)) return [line]
  const broken = [name, `  ${parameter},`]
  if (fits(`): ${type} {`)) return [...broken, `): ${type} {`]
  const parts = enclosed('Record<', [`keyof ${asked}`, `Step<${pass}>`], '>', 2)
  return [...broken, '): Readonly<', ...indented(parts), '> {']
}

function jobBlocks(controller: ControllerModel): string[][] {
  const { doc, typeName, target, states, actions } = controller
  const observation = `${typeName}Observation`
  // The compiler rejects an unused type parameter too.
  const pass = actions.length === 0 ? '_Pass' : 'Pass'
  const head = `${typeName}Actions<${pass}>`
  return [
    block(`export interface ${observation}`, [[`readonly target: ${target.alias}`], ...stateMembers(states)]),
    queries(controller, 'string'),
    [...docComment(doc), ...actionInterface(controller, { head, pass, result: 'Outcome | Promise<Outcome>' })],
    [...jobHead(controller, observation), ...stepsBody(controller)],
  ]
}

// Always on several lines: even the shortest names do not fit.
function jobHead({ typeName, valueName, actions }: ControllerModel, observation: string): string[] {
  const asked = `${typeName}Actions<Pass>`
  const [name, pass] = [`export function ${valueName}Steps<`, `Pass extends { readonly state: ${observation} }`]
  const line = `${name}${pass}>(`
  const head = fits(line) ? [line] : [name, `  ${pass},`, '>(']
  const parameter = `${actions.length === 0 ? '_actions' : 'actions'}: ${asked}`
  return [...head, `  ${parameter},`, `): Readonly<Record<keyof ${asked}, Step<Pass>>> {`]
}

function actionInterface(
  { actions }: ControllerModel,
  { head, pass, result }: { readonly head: string; readonly pass: string; readonly result: string },
): string[] {
  return block(
    `export interface ${head}`,
    actions.map((found) => [...docComment(found.doc), ...signature(found, pass, result)]),
  )
}

function stepsBody({ actions }: ControllerModel): string[] {
  if (actions.length === 0) return ['  return {}', '}']
  return ['  return {', ...indented(actions.flatMap(action), '    '), '  }', '}']
}

function block(head: string, members: readonly (readonly string[])[]): string[] {
  return members.length === 0 ? [`${head} {}`] : [`${head} {`, ...indented(members.flat()), '}']
}

/** `cleanUp(pass: CronJobPass, jobs: readonly Job[]): Promise<Outcome>`, inside an interface. */
export function signature({ name, states }: ActionModel, passType: string, result: string): string[] {
  const [head, tail] = [`${name}(`, `): ${result}`]
  const parts = [`pass: ${passType}`, ...states.map((state) => `${state.name}: ${typeOf(state)}`)]
  const line = `${head}${parts.join(', ')}${tail}`
  if (fits(`  ${line}`)) return [line]
  return [head, ...indented([`pass: ${passType},`, ...states.flatMap(parameterLines)]), tail]
}

// A parameter that is too long for its line continues below its colon.
function parameterLines(state: StateModel): string[] {
  const line = `${state.name}: ${typeOf(state)},`
  return fits(' '.repeat(4) + line) || state.query.many ? [line] : [`${state.name}:`, `  ${typeOf(state)},`]
}

function typeOf({ kind, query }: StateModel): string {
  return query.many ? `readonly ${kind.alias}[]` : `${kind.alias} | undefined`
}

const COLUMN = 4

/** `cleanUp: action('cleanUp', (pass) => actions.cleanUp(pass, pass.state.jobs)),`, inside the object of steps. */
export function action({ name, states }: ActionModel): string[] {
  const values = ['pass', ...states.map(valueOfState)]
  const isAsync = states.some(({ query }) => query.fresh)
  const arrow = `${isAsync ? 'async ' : ''}(pass) =>`
  const [head, call] = [`${name}: action(`, `actions.${name}(`]
  const line = `${head}${literal(name)}, ${arrow} ${call}${values.join(', ')})),`
  if (fits(' '.repeat(COLUMN) + line)) return [line]
  const hugging = `${head}${literal(name)}, ${arrow}`
  // The comma after the call counts for the line's length.
  if (fits(' '.repeat(COLUMN) + hugging)) return [hugging, ...indented(enclosed(call, values, '),', COLUMN + 2)), '),']
  const whole = `${arrow} ${call}${values.join(', ')}),`
  const body = fits(' '.repeat(COLUMN + 2) + whole)
    ? [whole]
    : [arrow, ...indented(enclosed(call, values, '),', COLUMN + 4))]
  return [head, ...indented([`${literal(name)},`, ...body]), '),']
}

function valueOfState({ name, query }: StateModel): string {
  return query.fresh ? `await pass.refresh(${literal(name)})` : `pass.state.${name}`
}

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
