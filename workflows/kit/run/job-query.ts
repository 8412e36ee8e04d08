// What a query may ask in the modes job and group: children that the subject owns, selected by what a run knows of its subject before it has
// read anything. Whatever else a document asks for is refused when its controller is loaded, so that nothing in it is left undone.

import type { JobModeController } from './controller.ts'
import type { StateQuery } from './query.ts'

/** What a subject says of itself. */
const KNOWN: readonly string[] = ['metadata.name', 'metadata.namespace', 'metadata.uid']

/** @throws a plain Error with the controller, the state, what was found and expected, when a query is none for its mode. */
export function checkJobQueries({ name, mode, queries }: Pick<JobModeController, 'name' | 'mode' | 'queries'>): void {
  for (const [state, query] of Object.entries(queries)) {
    const problem = jobQueryProblem(query)
    if (problem !== undefined) throw new Error(`controller ${name}, in mode ${mode}: state ${state}: ${problem}`)
  }
}

/** Why a controller in mode job or group cannot have the query; undefined when it can. */
export function jobQueryProblem(query: StateQuery): string | undefined {
  const rule = RULES.find(({ isBroken }) => isBroken(query))
  if (rule !== undefined) return rule.problem
  const { name, labels = {} } = query
  const templates = [...(name === undefined ? [] : [name]), ...Object.values(labels)]
  const unknown = templates.flatMap(references).find((reference) => !KNOWN.includes(reference))
  if (unknown === undefined) return undefined
  return `found a reference to target.${unknown}; expected one of ${KNOWN.map((one) => `target.${one}`).join(', ')}`
}

interface Rule {
  readonly isBroken: (query: StateQuery) => boolean
  readonly problem: string
}

const RULES: readonly Rule[] = [
  {
    isBroken: ({ owned }) => owned !== true,
    problem: 'found no owned; expected it: a run reads what its subject owns',
  },
  {
    isBroken: ({ namespace }) => namespace !== undefined,
    problem: 'found a namespace; expected none: what a subject owns is in its own',
  },
  {
    isBroken: ({ fields, controller }) => fields !== undefined || controller !== undefined,
    problem: 'found a selector by fields; expected name or labels',
  },
  {
    isBroken: ({ fresh }) => fresh === true,
    problem: 'found fresh; expected it in mode level only',
  },
  {
    isBroken: ({ many, name }) => many === true && name !== undefined,
    problem: 'found a name for a list; expected labels, or a single state',
  },
  {
    isBroken: ({ many, name }) => many !== true && name === undefined,
    problem: 'found no name for a single object; expected one, or a list',
  },
  {
    isBroken: ({ name, labels = {} }) => name !== undefined && Object.keys(labels).length > 0,
    problem: 'found labels beside a name; expected one of them',
  },
]

function references(template: string): readonly string[] {
  return [...template.matchAll(/\$\{target\.([^}]*)\}/g)].map(([, reference = '']) => reference)
}
