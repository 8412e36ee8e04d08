// Adds the finalizer before the job creates any object, so that no created object is left behind after a deletion.

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
