// Checks queries in job mode: they may select only children that the object owns, by data of the object's reference, because a run reads nothing
// before.
// Code generation and loading of the controller both reject other queries.

import type { JobModeController } from '../controller.ts'
import type { StateQuery } from '../level/query.ts'

/** The fields of the object's reference. */
const KNOWN: readonly string[] = ['metadata.name', 'metadata.namespace', 'metadata.uid']

/** A query in documents and generated code, without the kind. */
export interface AskedQuery extends Omit<StateQuery, 'kind' | 'many' | 'owned' | 'fresh'> {
  readonly many?: boolean
  readonly owned?: boolean | 'label'
  readonly fresh?: boolean
}

export interface JobQueryProblem {
  /** The value found and the value expected. */
  readonly text: string
  /** Prefix of the selector's key; undefined for a missing selector. */
  readonly selector: string | undefined
}

/** @throws a plain Error with controller, state, found and expected value for an unsupported query. */
export function checkJobQueries({ name, mode, queries }: Pick<JobModeController, 'name' | 'mode' | 'queries'>): void {
  for (const [state, query] of Object.entries(queries)) {
    const problem = jobQueryProblem(query)
    if (problem !== undefined) throw new Error(`controller ${name}, in mode ${mode}: state ${state}: ${problem.text}`)
  }
}

/** Why job mode does not support the query; undefined when it does. */
export function jobQueryProblem(query: AskedQuery): JobQueryProblem | undefined {
  return RULES.find(({ isBroken }) => isBroken(query)) ?? unknownReference(query)
}

interface Rule extends JobQueryProblem {
  readonly isBroken: (query: AskedQuery) => boolean
}

const RULES: readonly Rule[] = [
  {
    isBroken: ({ owned }) => owned === 'label',
    text: "found 'owned' by label; mode job does not support it, use mode level",
    selector: 'owned',
  },
  {
    isBroken: ({ owned }) => owned !== true,
    text: "'owned' is missing; add it, because mode job reads only objects that the target owns",
    selector: undefined,
  },
  {
    isBroken: ({ namespace }) => namespace !== undefined,
    text: "found 'namespace'; remove it, because owned objects are in the namespace of the target",
    selector: 'namespace',
  },
  {
    isBroken: ({ fields, controller }) => fields !== undefined || controller !== undefined,
    text: 'found a field selector; expected name or labels',
    selector: 'fields/',
  },
  ...(
    ['namespacesFrom', 'namesFrom', 'labelsFrom', 'fieldsFrom', 'onlyIf', 'lazy', 'quiet', 'pick', 'view'] as const
  ).map((selector) => ({
    isBroken: (query: AskedQuery) => query[selector] !== undefined,
    text: `found '${selector}'; mode job does not support it, use mode level`,
    selector,
  })),
  {
    isBroken: ({ fresh }) => fresh === true,
    text: "found 'fresh'; mode job does not support it, use mode level",
    selector: 'fresh',
  },
  {
    isBroken: ({ many, name }) => many === true && name !== undefined,
    text: "found 'name' for a list; expected labels, or a single object",
    selector: 'name',
  },
  {
    isBroken: ({ many, name }) => many !== true && name === undefined,
    text: "'name' is missing for a single object; add it, or declare a list",
    selector: undefined,
  },
  {
    isBroken: ({ name, labels = {} }) => name !== undefined && Object.keys(labels).length > 0,
    text: 'found labels and name; expected one of them',
    selector: 'labels/',
  },
]

function unknownReference({ name, labels = {} }: AskedQuery): JobQueryProblem | undefined {
  const ofLabels = Object.entries(labels).map(([key, template]) => [`labels/${key}`, template] as const)
  const templates = [...(name === undefined ? [] : [['name', name] as const]), ...ofLabels]
  const unknown = templates
    .flatMap(([selector, template]) => references(template).map((reference) => ({ selector, reference })))
    .find(({ reference }) => !KNOWN.includes(reference))
  if (unknown === undefined) return undefined
  const expected = KNOWN.map((one) => `target.${one}`).join(', ')
  return {
    text: `found a reference to target.${unknown.reference}; expected one of ${expected}`,
    selector: unknown.selector,
  }
}

function references(template: string): readonly string[] {
  return [...template.matchAll(/\$\{target\.([^}]*)\}/g)].map(([, reference = '']) => reference)
}
