// Finds the controller of the run that calls an activity.

import { type By, controllerInID, type JobModeController, type Mode } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { finalFailure } from '../kube/errors.ts'

/** The caller of an activity: `controller` is set for the pass of a hosted object. */
type Caller = Pick<By, 'workflowID' | 'controller'>

/** Returns the name of the controller that calls. @throws `InvalidWorkflowID` (final). */
export function controllerOf({ workflowID, controller: hosted }: Caller): string {
  const controller = hosted ?? controllerInID(workflowID)
  if (controller === '')
    throw finalFailure('InvalidWorkflowID', `workflow ID "${workflowID}"; expected <controller>/<namespace>/<name>/...`)
  return controller
}

/** Returns the mode of the run's controller. @throws a plain Error (a bug) when this process has no controller of this name. */
export function modeOf({ modes }: Pick<Deps, 'modes'>, { workflowID }: Pick<By, 'workflowID'>): Mode {
  const name = controllerOf({ workflowID })
  const mode = modes[name]
  if (mode !== undefined) return mode
  throw new Error(`run ${workflowID}: found controller ${name}; expected one of ${Object.keys(modes).join(', ')}`)
}

/** Returns the job-mode controller that calls. @throws a plain Error (a bug) when this process has no such controller. */
export function jobController({ controllers }: Pick<Deps, 'controllers'>, by: Caller): JobModeController {
  const name = controllerOf(by)
  const found = controllers.get(name)
  if (found !== undefined && found.mode !== 'level') return found
  const known = [...controllers.values()].filter(({ mode }) => mode !== 'level').map((one) => one.name)
  throw new Error(
    `run ${by.workflowID}: found controller ${name}; expected a controller in mode job: ${known.join(', ')}`,
  )
}
