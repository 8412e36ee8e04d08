// Holds a paused job back before it has begun anything. Later the steps that begin items hold them back (isHeldBack). Source: pause.ts.

import { done, type Outcome, stop } from '../../kit/index.ts'
import { tellPause } from '../pause.ts'
import { type ExecutionPass, heldBackText, isHeldBack } from './pass.ts'

/** Phases in which nothing has begun, but by a run that was lost. */
const FIRST: readonly string[] = ['Init', 'InitDelete']

export function awaitResume(pass: ExecutionPass): Outcome {
  tellPause(pass)
  const { state, jobID, draft, background: tracks } = pass
  const hasBegun = state.deployItems.some((item) => item.jobID === jobID || tracks.has(item.uid))
  return isHeldBack(pass) && FIRST.includes(draft.phase ?? '') && !hasBegun ? stop(heldBackText(pass)) : done
}
