// Init: ends a job that has not begun anything when the Installation is deleted. The deletion's job follows at once, so it needs no blueprint, component
// registry, context, import or sibling that this job may be waiting for. Source: spec/landscaper.md 2.2 "Delete while a job runs".

import { done, fail, type Outcome } from '../../kit/index.ts'
import { isExecutionBegun } from './interrupt-installation.ts'
import type { InstallationPass } from './pass.ts'

export function yieldToDeletion(pass: InstallationPass): Outcome {
  if (!pass.state.target.deleting || isExecutionBegun(pass)) return done
  return fail('InterruptOperation', 'the installation was deleted before this job began anything; the deletion follows')
}
