// Writes what belongs to one action: its method in the interface, and its step.

import { enclosed, fits, indented, literal } from './layout.ts'
import type { ActionModel, StateModel } from './model.ts'

/** `cleanUp(pass: CronJobPass, jobs: readonly Job[]): Promise<Outcome>`, inside an interface. */
export function signature({ name, states }: ActionModel, passType: string): string[] {
  return enclosed(`${name}(`, [`pass: ${passType}`, ...states.map(parameter)], '): Promise<Outcome>', 2)
}

function parameter({ name, kind, query }: StateModel): string {
  return query.many ? `${name}: readonly ${kind.alias}[]` : `${name}: ${kind.alias} | undefined`
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
