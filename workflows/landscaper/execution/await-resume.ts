// Holds a paused job before it starts anything. Later, the steps that start items check the pause themselves (isHeldBack). Source:
// pause.ts.

import { done, type Outcome, stop } from '../../kit/index.ts'
import { tellPause } from '../pause.ts'
import { type ExecutionPass, heldBackText, isHeldBack } from './pass.ts'

/** Phases in which no item has started, unless an earlier run of the job was lost. */
const FIRST: readonly string[] = ['Init', 'InitDelete']

export function awaitResume(pass: ExecutionPass): Outcome {
  tellPause(pass)
  const { state, jobID, draft, background: tracks } = pass
  const hasBegun = state.deployItems.some((item) => item.jobID === jobID || tracks.has(item.uid))
  return isHeldBack(pass) && FIRST.includes(draft.phase ?? '') && !hasBegun ? stop(heldBackText(pass)) : done
}
