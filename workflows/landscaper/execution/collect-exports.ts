// Completing: what the items export becomes one DataObject. Source: spec/landscaper.md 2.7 "Completing".

import { done, type Outcome } from '../../kit/index.ts'
import type { ExecutionPass } from './pass.ts'

export async function collectExports(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act, draft } = pass
  const items = state.deployItems
    .filter((item) => item.exportRef !== undefined)
    .map(({ item, exportRef }) => ({ item, exportRef }))
  // Without exports the reference of an earlier job goes, so that nobody reads what is exported no more.
  draft.fields['exportRef'] = items.length > 0 ? await act.collectExports({ by, subject, jobID, items }) : null
  return done
}
