// Puts the finalizer on before anything is created, so that nothing created is ever forgotten.

import { FINALIZER } from '../contract.ts'
import { done, GONE, type Outcome, stop } from '../../kit/index.ts'
import type { ExecutionPass } from './pass.ts'

export async function guardExecution(pass: ExecutionPass): Promise<Outcome> {
  const { target } = pass.state
  if (target.finalizers.includes(FINALIZER)) return done
  const guarded = await pass.act.guardSubject({
    by: pass.by,
    subject: pass.subject,
    version: target.version,
    finalizers: target.finalizers,
    guarded: true,
  })
  if (guarded === undefined) return stop(GONE)
  pass.state = { ...pass.state, target: { ...target, ...guarded } }
  return done
}
