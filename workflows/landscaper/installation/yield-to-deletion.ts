// Phase Init: ends a job that has not started anything when the Installation is deleted. The deletion's job follows at once, so it needs no blueprint,
// component registry, context, import or sibling that this job may be waiting for. The job of a sub-installation ends only after a failed read: its
// deletion
// needs the next job of the parent, and a failed sub-installation fails the current one. Source: spec/landscaper.md 2.2 "Delete while a job runs".

import { done, fail, type Outcome } from '../../kit/index.ts'
import { isExecutionBegun } from './interrupt-installation.ts'
import type { InstallationPass } from './pass.ts'

export function yieldToDeletion(pass: InstallationPass): Outcome {
  const { deleting, hasParent, lastError } = pass.state.target
  if (!deleting || isExecutionBegun(pass) || (hasParent && lastError === undefined)) return done
  return fail('InterruptOperation', 'the installation was deleted before this job began anything; the deletion follows')
}
