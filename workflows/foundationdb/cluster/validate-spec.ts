// Stops the pass of a cluster whose spec breaks the webhook's rules: the API server may have no webhook, and a running worker must not become the tool of a
// hostile spec.

import { problemText } from '../../kit/index.ts'
import { clusterStep } from './cluster-step.ts'
import { endWith } from './requeue.ts'
import { clusterProblems } from './rules/spec.ts'

export const validateSpec = clusterStep('ValidateSpec', ({ pass }) => {
  const problems = clusterProblems(pass.target)
  return problems.length === 0 ? undefined : endWith(problems.map(problemText).join('; '))
})
