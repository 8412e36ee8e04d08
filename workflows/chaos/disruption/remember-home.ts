// Where the chaos pods of a Disruption are that a build of Pawl has begun which did not say so in its status: such builds knew one namespace. Without that they
// would be looked for where it is configured since, and nobody would end them. Source: docs/chaos.md "Another namespace of chaos pods".

import { action, again, done } from '../../kit/index.ts'
import { CHAOS_NAMESPACE } from '../config.ts'
import { configOf, type DisruptionPass } from './pass.ts'

export const rememberHome = action<DisruptionPass>('rememberHome', (pass) => {
  const { chaosNamespace, originalSpec } = pass.target.status ?? {}
  // chaos-controller keeps no spec; what it has begun is where it was configured.
  if (chaosNamespace !== undefined || originalSpec === undefined) return done
  if (configOf(pass).injector.chaosNamespace === CHAOS_NAMESPACE) return done
  pass.status.chaosNamespace = CHAOS_NAMESPACE
  // What this pass has read was somewhere else.
  return again(0)
})
