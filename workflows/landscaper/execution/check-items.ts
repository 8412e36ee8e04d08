// Init: what cannot work at all fails before anything is written; Progressing: what a hand has made of the spec meanwhile, too.
// An unreadable list must not make orphans of all items. Source: spec/landscaper.md 1.3 and decision 5 of appendix B.
// A cycle is not refused here: its items cannot start, the others can (trigger-deploy-items.ts).

import {
  done,
  fail,
  joinOutcomes,
  type Node,
  type NodeDefect,
  nodeDefects,
  type Outcome,
  stop,
} from '../../kit/index.ts'
import { type ExecutionPass, isAtWork, names } from './pass.ts'
import { takeUpItems } from './take-up-items.ts'

export function checkItems({ state: { target } }: ExecutionPass): Outcome {
  if (target.problem !== undefined) return fail('ERR_CONFIGURATION_PROBLEM', target.problem)
  const problems = nodeDefects(target.items).flatMap((defects, index) =>
    defects.map((defect) => `spec.deployItems[${index}]${inWords(defect, target.items, index)}`),
  )
  return problems.length === 0 ? done : fail('InvalidDeployItems', problems.join('; '))
}

const NAMES_SHOWN = 20

function inWords(defect: NodeDefect, items: readonly Node[], index: number): string {
  const name = items[index]?.name ?? ''
  switch (defect.defect) {
    case 'unnamed':
      return '.name is empty; expected a name'
    case 'named twice':
      return `.name "${name}" is there twice; expected unique names`
    case 'unknown dependency': {
      const known = [...new Set(items.map((item) => item.name))].slice(0, NAMES_SHOWN).join(', ')
      return ` "${name}" depends on "${defect.name}", which is not in the list; expected one of ${known}`
    }
  }
}

/** As `checkItems`, but items that run already are let finish first. */
export async function checkEdits(pass: ExecutionPass): Promise<Outcome> {
  const outcome = checkItems(pass)
  if (outcome.faults.length === 0) return outcome
  const atWork = () => pass.state.deployItems.filter((item) => isAtWork(pass, item))
  const taken = await takeUpItems(pass, atWork())
  const running = atWork()
  if (running.length === 0) return outcome
  const waiting = stop(`the items were edited and cannot work; waiting for the running ones: ${names(running)}`)
  return joinOutcomes(waiting, taken)
}
