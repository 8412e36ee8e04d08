// Writes one controller, by its mode.
//
//   M1. In mode level the pass is the kit's, so its type is generated.
//   M2. In mode job the pass is a parameter: activities and what a run remembers beside its states are written by hand,
//       and with them the type of the pass. Only that its state has what the document says is asked of it.

import { action, signature } from './emit-actions.ts'
import { queries, stateMembers } from './emit-states.ts'
import { docComment, enclosed, fits, indented } from './layout.ts'
import type { ControllerModel, KindReference } from './model.ts'

/** The declarations of a controller, each as lines. */
export function controllerBlocks(controller: ControllerModel): string[][] {
  return controller.mode === 'level' ? levelBlocks(controller) : jobBlocks(controller)
}

/** The kinds whose types the declarations name. */
export function namedKinds({ target, states }: ControllerModel): readonly KindReference[] {
  return [target, ...states.map(({ kind }) => kind)]
}

function levelBlocks(controller: ControllerModel): string[][] {
  const { doc, typeName, valueName, target, states, actions } = controller
  const [asked, pass] = [`${typeName}Actions`, `${typeName}Pass`]
  // A parameter that nothing uses is an error to the compiler, unless its name begins so.
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
  // A type that nothing uses is an error too.
  const pass = actions.length === 0 ? '_Pass' : 'Pass'
  const head = `${typeName}Actions<${pass}>`
  return [
    block(`export interface ${observation}`, [[`readonly target: ${target.alias}`], ...stateMembers(states)]),
    queries(controller, 'string'),
    [...docComment(doc), ...actionInterface(controller, { head, pass, result: 'Outcome | Promise<Outcome>' })],
    [...jobHead(controller, observation), ...stepsBody(controller)],
  ]
}

// Always on more than one line: even the shortest names do not fit.
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
