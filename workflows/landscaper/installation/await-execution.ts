// Progressing: waits for the Execution to finish this job. Source: spec/landscaper.md 2.3 "Progressing".

import { done, fail, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export function awaitExecution({ state: { execution, isEmpty }, jobID, subject }: InstallationPass): Outcome {
  if (execution === undefined) return isEmpty ? done : fail('ExecutionMissing', `execution ${subject.name} is gone`)
  if (execution.jobID !== jobID || execution.jobIDFinished !== jobID)
    return stop(`waiting for execution ${subject.name}`)
  if (execution.phase === 'Succeeded') return done
  const found = `execution ${subject.name} is ${execution.phase ?? 'unfinished'}; expected Succeeded`
  return fail('ChildrenFailed', execution.error === undefined ? found : `${found}: ${execution.error}`)
}
