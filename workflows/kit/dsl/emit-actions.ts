// Writes what belongs to one action: its method in the interface, and its step.

import { enclosed, fits, indented, literal } from './layout.ts'
import type { ActionModel, StateModel } from './model.ts'

/** `cleanUp(pass: CronJobPass, jobs: readonly Job[]): Promise<Outcome>`, inside an interface. */
export function signature({ name, states }: ActionModel, passType: string, result: string): string[] {
  const [head, tail] = [`${name}(`, `): ${result}`]
  const parts = [`pass: ${passType}`, ...states.map((state) => `${state.name}: ${typeOf(state)}`)]
  const line = `${head}${parts.join(', ')}${tail}`
  if (fits(`  ${line}`)) return [line]
  return [head, ...indented([`pass: ${passType},`, ...states.flatMap(parameterLines)]), tail]
}

// A parameter that is too long for its line goes on below its colon.
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
  // The comma after the call belongs to its line.
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
