// Phase Completing: writes the exports of all items into one DataObject. Source: spec/landscaper.md 2.7 "Completing".

import { done, type Outcome } from '../../kit/index.ts'
import type { ExecutionPass } from './pass.ts'

export async function collectExports(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act, draft } = pass
  const items = state.deployItems
    .filter((item) => item.exportRef !== undefined)
    .map(({ item, exportRef }) => ({ item, exportRef }))
  // Without exports, the DataObject of an earlier job and its reference are removed, so that no reader gets outdated exports.
  const isDue = items.length > 0 || state.target.hasExports
  draft.fields['exportRef'] = isDue ? await act.collectExports({ by, subject, jobID, items }) : null
  return done
}
