// Has the status say where the chaos pods are of a Disruption that a former build has begun (`chaosHomeOf`): states are read by that, and without it they would
// be looked for where it is configured since, and ended by nobody. Source: docs/chaos.md "Another namespace of chaos pods".

import { action, again, done } from '../../kit/index.ts'
import { chaosHomeOf } from '../config.ts'
import { configOf, type DisruptionPass } from './pass.ts'

export const rememberHome = action<DisruptionPass>('rememberHome', (pass) => {
  const { status = {} } = pass.target
  const { chaosNamespace: configured } = configOf(pass).injector
  const home = chaosHomeOf(status, configured)
  if (status.chaosNamespace !== undefined || home === configured) return done
  pass.status.chaosNamespace = home
  // What this pass has read was somewhere else.
  return again(0)
})
