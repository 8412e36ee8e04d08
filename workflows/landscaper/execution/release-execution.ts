// Last step of Deleting: removes the finalizer after all items are deleted.

import { FINALIZER } from '../contract.ts'
import { again, GONE, type Outcome, stop } from '../../kit/index.ts'
import type { ExecutionPass } from './pass.ts'

export async function releaseExecution(pass: ExecutionPass): Promise<Outcome> {
  const { target } = pass.state
  if (!target.finalizers.includes(FINALIZER)) return stop('waiting for other finalizers')
  const left = await pass.act.guardSubject({
    by: pass.by,
    subject: pass.subject,
    version: target.version,
    finalizers: target.finalizers,
    guarded: false,
  })
  return left === undefined ? stop(GONE) : again(0)
}
