// Explains the status of a restore to users.

import { fieldsOf, type StatusExplanation, textOf } from '../../kit/index.ts'
import { withReason } from '../explain-progress.ts'

/** @param restore the live object, or its projection without conditions. */
export function explainRestore(restore: object): StatusExplanation {
  const state = textOf(fieldsOf(fieldsOf(restore)['status'])['state'])
  return withReason({ phase: PHASES[state] ?? 'Restoring' }, restore)
}

const PHASES: Readonly<Record<string, string>> = { '': 'Pending', completed: 'Completed', aborted: 'Aborted' }
