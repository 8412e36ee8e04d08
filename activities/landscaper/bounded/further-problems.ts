// What rules of admission say about data that has to be unpacked or parsed first: done in the data thread, of which only the problems come back.

import type { Problem } from '../../../workflows/kit/index.ts'
import { listProblems } from '../../../workflows/landscaper/item-rules.ts'
import { listedCycles } from '../render/listed-subinstallations.ts'
import { definitionOf, yamlValue } from './data-answers.ts'
import { unpackedItems } from './packed-items.ts'

/** More than anybody shows. */
const MOST_PROBLEMS = 50

/** Of the items of an Execution in their packed form. */
export function packedProblems(packed: string): readonly Problem[] {
  const unpacked = unpackedItems(packed)
  if (unpacked === undefined) return []
  if ('problem' in unpacked) return [packedProblem(unpacked.found)]
  const problems: Problem[] = []
  for (const problem of listProblems(unpacked.items, PACKED)) {
    problems.push(problem)
    if (problems.length === MOST_PROBLEMS) break
  }
  return problems
}

const PACKED = 'spec.deployItemsCompressed'

/** @param found in words. */
export function packedProblem(found: string): Problem {
  return { field: PACKED, found, expected: 'base64 of a gzipped JSON list of deploy items with name and type' }
}

/** Of the blueprint of an Installation. */
export async function blueprintProblems(blueprint: unknown): Promise<readonly Problem[]> {
  const data = {
    yaml: (text: string) => Promise.resolve().then(() => yamlValue(text)),
    definition: (text: string) => Promise.resolve().then(() => definitionOf(text)),
  }
  return (await listedCycles(data, blueprint)).slice(0, MOST_PROBLEMS)
}
