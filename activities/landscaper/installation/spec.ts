// Checks the spec of an Installation beyond the CRD's types and required fields.

import { problemText, shortenList } from '../../../workflows/kit/index.ts'
import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { exportProblems, sourceProblems } from '../../../workflows/landscaper/installation/rules/spec-problems.ts'
import { fieldsOf } from '../../../workflows/landscaper/json-fields.ts'
import { finalFailure } from '../../kube/errors.ts'

export type InstallationSpec = Installation['spec']

/**
 * The component of the Installation; undefined without component. Landscaper leaves an empty one in sub-installations without component (v0.127.0).
 */
export function componentOf({
  componentDescriptor,
}: Pick<InstallationSpec, 'componentDescriptor'>): InstallationSpec['componentDescriptor'] {
  const { ref, inline } = componentDescriptor ?? {}
  return ref === undefined && inline === undefined ? undefined : componentDescriptor
}

const MAX_PROBLEMS = 20

/** Applies the webhook's rules to objects that bypassed the webhook. import-sources.ts checks the imports. @throws `ERR_CONFIGURATION_PROBLEM` */
export function checkSpec({ spec }: Pick<Installation, 'spec'>): void {
  const problems = [...sourceProblems(fieldsOf(spec)), ...exportProblems(fieldsOf(spec.exports))].map(problemText)
  if (problems.length > 0)
    throw finalFailure('ERR_CONFIGURATION_PROBLEM', shortenList(problems, MAX_PROBLEMS).join(' | '))
}
