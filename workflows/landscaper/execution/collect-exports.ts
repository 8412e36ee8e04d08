// Completing: what the items export becomes one DataObject. Source: spec/landscaper.md 2.7 "Completing".

import { done, type Outcome } from '../../kit/index.ts'
import type { ExecutionPass } from './pass.ts'

export async function collectExports(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act, draft } = pass
  const items = state.deployItems
    .filter((item) => item.exportRef !== undefined)
    .map(({ item, exportRef }) => ({ item, exportRef }))
  // Without exports those of an earlier job go, and the reference, so that nobody reads what is exported no more.
  const isDue = items.length > 0 || state.target.hasExports
  draft.fields['exportRef'] = isDue ? await act.collectExports({ by, subject, jobID, items }) : null
  return done
}
