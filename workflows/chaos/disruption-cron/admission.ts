// What a DisruptionCron must be to be stored, whatever the configuration: rules.ts has what depends on that. Source: spec/chaos.md 2.12.

import type { Admission } from '../../kit/index.ts'
import { disruptionCronKind } from './kind.ts'
import { cronProblems } from './rules.ts'

export const disruptionCronAdmission: Admission = {
  kind: disruptionCronKind,
  operations: ['CREATE', 'UPDATE'],
  validate: ({ object }) => cronProblems(object),
}
