// Validates the items: in Init before anything is written, in Progressing again after edits of the spec.
// An unreadable list fails the job; otherwise all items would count as orphans. Source: spec/landscaper.md 1.3 and decision 5 of appendix
// B.
// A cycle is allowed here: its items cannot start, the others can (trigger-deploy-items.ts).

import { done, fail, joinOutcomes, type NodeDefect, nodeDefects, type Outcome, stop } from '../../kit/index.ts'
import { shownNames } from '../item-rules.ts'
import { type ExecutionPass, isAtWork, names } from './pass.ts'
import { takeUpItems } from './take-up-items.ts'

const PROBLEMS_SHOWN = 20

export function checkItems({ state: { target } }: ExecutionPass): Outcome {
  if (target.problem !== undefined) return fail('ERR_CONFIGURATION_PROBLEM', target.problem)
  const defects = nodeDefects(target.items).flatMap((some, index) => some.map((defect) => ({ defect, index })))
  if (defects.length === 0) return done
  const known = shownNames(target.items.map(({ name }) => name))
  const told = defects.slice(0, PROBLEMS_SHOWN).map(({ defect, index }) => {
    const name = target.items[index]?.name ?? ''
    return `spec.deployItems[${index}]${inWords(defect, name, known)}`
  })
  const more = defects.length - told.length
  return fail('InvalidDeployItems', [...told, ...(more > 0 ? [`and ${more} more`] : [])].join('; '))
}

/** @param known the names of the items, formatted. */
function inWords(defect: NodeDefect, name: string, known: string): string {
  switch (defect.defect) {
    case 'unnamed':
      return '.name is empty; expected a name'
    case 'named twice':
      return `.name "${name}" is there twice; expected unique names`
    case 'unknown dependency':
      return ` "${name}" depends on "${defect.name}", which is not in the list; expected one of ${known}`
  }
}

/** Validates like `checkItems`, but waits for running items before it fails the job. */
export async function checkEdits(pass: ExecutionPass): Promise<Outcome> {
  const outcome = checkItems(pass)
  if (outcome.faults.length === 0) return outcome
  const inFlightRuns = () => pass.state.deployItems.filter((item) => isAtWork(pass, item))
  const taken = await takeUpItems(pass, inFlightRuns())
  const running = inFlightRuns()
  if (running.length === 0) return outcome
  const waiting = stop(`the items were edited and cannot work; waiting for the running ones: ${names(running)}`)
  return joinOutcomes(waiting, taken)
}
