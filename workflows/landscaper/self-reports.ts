// Formats the objects in which the engine reports its own state in this group: LsHealthCheck and CriticalProblems.
// Wire format: spec/landscaper.md 1.10, 1.11; contents: 5.8, 5.9.

import type { ProblemReport, StatusReports } from '../kit/index.ts'
import { fieldsOf, listOf, textOf } from './json-fields.ts'

const apiVersion = 'landscaper.gardener.cloud/v1alpha1'

/** Source: spec/landscaper.md 5.9. */
const MAX_PROBLEMS = 10
const MAX_DESCRIPTION_LENGTH = 2000

export const selfReports: StatusReports = {
  health: {
    apiVersion,
    kind: 'LsHealthCheck',
    plural: 'lshealthchecks',
    fields: ({ state, at, description }) => ({ status: state, lastUpdateTime: at, description: cut(description) }),
    read: (object) => {
      const { status, lastUpdateTime } = fieldsOf(object)
      const isKnown = status === 'Ok' || status === 'Failed' || status === 'Init'
      return isKnown ? { state: status, at: textOf(lastUpdateTime) } : undefined
    },
  },
  problems: {
    apiVersion,
    kind: 'CriticalProblems',
    plural: 'criticalproblems',
    with: (object, problem) => {
      const known = listOf(fieldsOf(fieldsOf(object)['spec'])['criticalProblem'])
      return { spec: { criticalProblem: [entryOf(problem), ...known].slice(0, MAX_PROBLEMS) } }
    },
  },
}

function entryOf({ place, at, description }: ProblemReport) {
  return { podName: place, creationTime: at, description: cut(description) }
}

function cut(text: string): string {
  return text.length > MAX_DESCRIPTION_LENGTH ? `${text.slice(0, MAX_DESCRIPTION_LENGTH - 3)}...` : text
}
