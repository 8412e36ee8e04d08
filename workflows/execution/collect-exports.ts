// Completing: what the items export becomes one DataObject. Source: spec/landscaper.md 2.7 "Completing".

import { done, type Outcome } from '../kit/index.ts'
import type { ExecutionPass } from './controller.ts'

export async function collectExports(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act, draft } = pass
  const items = state.deployItems
    .filter((item) => item.exportRef !== undefined)
    .map(({ item, exportRef }) => ({ item, exportRef }))
  if (items.length > 0) draft.fields['exportRef'] = await act.collectExports({ by, subject, jobID, items })
  return done
}
