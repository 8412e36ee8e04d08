// Init: what cannot work at all fails before anything is written; Progressing: what a hand has made of the spec meanwhile, too.
// An unreadable list must not make orphans of all items. Source: spec/landscaper.md 1.3 and decision 5 of appendix B.
// A cycle is not refused here: its items cannot start, the others can (trigger-deploy-items.ts).

import { done, fail, type Outcome, stop } from '../../kit/index.ts'
import { type ExecutionPass, names } from './pass.ts'

export function checkItems({ state: { target } }: ExecutionPass): Outcome {
  if (target.problem !== undefined) return fail('ERR_CONFIGURATION_PROBLEM', target.problem)
  const problems: string[] = []
  const seen = new Set<string>()
  const known = new Set(target.items.map((item) => item.name))
  target.items.forEach((item, index) => {
    if (item.name === '') problems.push(`spec.deployItems[${index}].name is empty; expected a name`)
    else if (seen.has(item.name))
      problems.push(`spec.deployItems[${index}].name "${item.name}" is there twice; expected unique names`)
    seen.add(item.name)
    for (const name of item.dependsOn) {
      if (!known.has(name))
        problems.push(
          `spec.deployItems[${index}] "${item.name}" depends on "${name}", which is not in the list; expected one of ${[...known].slice(0, 20).join(', ')}`,
        )
    }
  })
  return problems.length === 0 ? done : fail('InvalidDeployItems', problems.join('; '))
}

/** As `checkItems`, but items that run already are let finish first. */
export function checkEdits(pass: ExecutionPass): Outcome {
  const outcome = checkItems(pass)
  const { state, jobID } = pass
  const running = state.deployItems.filter((item) => item.jobID === jobID && item.jobIDFinished !== jobID)
  return outcome.faults.length > 0 && running.length > 0
    ? stop(`the items were edited and cannot work; waiting for the running ones: ${names(running)}`)
    : outcome
}
