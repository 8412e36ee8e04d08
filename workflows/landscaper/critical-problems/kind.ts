// CriticalProblems: defects of the controllers themselves. Wire format: spec/landscaper.md 1.11.

import { defineKind, list, type ObjectOf, record, required, text, timestamp } from '../../kit/index.ts'

export const criticalProblemsKind = defineKind({
  group: 'landscaper.gardener.cloud',
  version: 'v1alpha1',
  kind: 'CriticalProblems',
  plural: 'criticalproblems',
  singular: 'criticalproblems',
  shortNames: ['cps'],
  statusSubresource: true,
  printerColumns: [],
  description: 'CriticalProblems list the bugs that the controllers found in themselves.',
  schema: {
    spec: required(
      record('The defects.', {
        criticalProblem: list(
          'The defects, at most ten.',
          record('A defect.', {
            podName: text('The place in the source code.'),
            creationTime: timestamp('The time of the defect.'),
            description: text('A description of the defect.'),
          }),
        ),
      }),
    ),
    status: record('Always empty.', {}),
  },
  projection: [],
  workerVerbs: [],
})

export type CriticalProblems = ObjectOf<typeof criticalProblemsKind>
