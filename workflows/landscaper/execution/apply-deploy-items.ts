// Validates the items of the spec, writes their DeployItems and, at the end of the job, the DataObject with their exports.
//
// Items are validated in Init before anything is written, and in Progressing again after edits of the spec. An unreadable list fails the job; otherwise
// all items would count as orphans. Source: spec/landscaper.md 1.3 and decision 5 of appendix B.
// A cycle is allowed here: its items cannot start, the others can (trigger-deploy-items.ts).

import {
  done,
  fail,
  joinOutcomes,
  type NodeDefect,
  nodeDefects,
  type Outcome,
  stop,
  shortenList,
} from '../../kit/index.ts'
import { shownNames } from '../item-rules.ts'
import { applyResult, type ExecutionPass, isRunning, names } from './pass.ts'
import { startItems } from './start-items.ts'
import { versionsOf } from './observe-execution.ts'

const PROBLEMS_SHOWN = 20

export function checkItems({ state: { target } }: ExecutionPass): Outcome {
  if (target.problem !== undefined) return fail('ERR_CONFIGURATION_PROBLEM', target.problem)
  const defects = nodeDefects(target.items).flatMap((some, index) => some.map((defect) => ({ defect, index })))
  if (defects.length === 0) return done
  const known = shownNames(target.items.map(({ name }) => name))
  const problems = defects.map(({ defect, index }) => {
    const name = target.items[index]?.name ?? ''
    return `spec.deployItems[${index}]${describeDefect(defect, name, known)}`
  })
  return fail('InvalidDeployItems', shortenList(problems, PROBLEMS_SHOWN).join(' | '))
}

/** @param known the names of the items, formatted. */
function describeDefect(defect: NodeDefect, name: string, known: string): string {
  switch (defect.defect) {
    case 'unnamed':
      return '.name: found nothing; expected a name'
    case 'named twice':
      return `.name: found "${name}" twice; expected unique names`
    case 'unknown dependency':
      return `.dependsOn: no item "${defect.name}"; expected names of ${known}`
  }
}

/** Validates like `checkItems`, but waits for running items before it fails the job. */
export async function checkEdits(pass: ExecutionPass): Promise<Outcome> {
  const outcome = checkItems(pass)
  if (outcome.faults.length === 0) return outcome
  const inFlightRuns = () => pass.state.deployItems.filter((item) => isRunning(pass, item))
  const taken = await startItems(pass, inFlightRuns())
  const running = inFlightRuns()
  if (running.length === 0) return outcome
  const waiting = stop(`an edit made the items invalid; waiting for the running items: ${names(running)}`)
  return joinOutcomes(waiting, taken)
}

/**
 * Phase Init: writes the DeployItems that the spec names and deletes the DeployItems that it no longer names (orphans).
 * Source: seeds/landscaper-execution-controller.txt "Init".
 */
export async function applyDeployItems(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  const { generation } = state.target
  const items = state.target.items.map(({ name }) => ({ name }))
  let applied = done
  let only: readonly string[] | undefined
  do {
    const known = versionsOf(pass.state.deployItems)
    const result = await act.applyDeployItems({ by, subject, jobID, generation, items, known, ...(only && { only }) })
    applied = joinOutcomes(applied, applyResult(pass, result))
    only = result.left ?? []
  } while (only.length > 0)
  pass.draft.observedGeneration = generation
  pass.draft.marks.push('waitTime')
  // With faults the step runs again, and each repetition would write the names again.
  if (applied.faults.length === 0) setDeployItemCache(pass)
  return applied
}

// Writes `status.deployItemCache`: the name of the DeployItem of each item, for users and for programs that read Landscaper's status.
// Source: spec/landscaper.md 1.3.
//
//   C1. The names are part of the first status write of a job and of the last write of its items; they cause no write of their own.
//   C2. No decision reads the names: the controller finds DeployItems by their labels.
//   C3. The names are in the order of the spec, because the order in which DeployItems were read differs after a crash.

/** Above this number of items the names would be most of the status. */
const MAX_NAMES = 500

export function setDeployItemCache({ state: { target, deployItems }, draft }: ExecutionPass): void {
  const place = new Map(target.items.map(({ name }, index) => [name, index]))
  const isActive = ({ item, deleting }: (typeof deployItems)[number]) => place.has(item) && !deleting
  const placeOf = ({ item }: (typeof deployItems)[number]) => place.get(item) ?? 0
  const active = deployItems.filter(isActive).sort((a, b) => placeOf(a) - placeOf(b))
  const activeDIs = active.map(({ item, name }) => ({ specName: item, objectName: name }))
  const orphanedDIs = deployItems
    .filter((item) => !isActive(item))
    .map(({ name }) => name)
    .sort()
  draft.fields['deployItemCache'] = deployItems.length > MAX_NAMES ? null : { activeDIs, orphanedDIs }
}

/**
 * Phase Completing: writes the exports of all items into one DataObject. Source: spec/landscaper.md 2.7 "Completing".
 */
export async function collectExports(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act, draft } = pass
  const items = state.deployItems
    .filter((item) => item.exportRef !== undefined)
    .map(({ item, exportRef }) => ({ item, exportRef }))
  // Without exports, the DataObject of an earlier job and its reference are removed, so that no reader gets outdated exports.
  const isDue = items.length > 0 || state.target.hasExports
  draft.fields['exportRef'] = isDue ? await act.collectExports({ by, subject, jobID, items }) : null
  return done
}
