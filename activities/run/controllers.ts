// Whose run it is that an activity works for.

import { type By, controllerInID, type JobModeController, type Mode } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { finalFailure } from '../kube/errors.ts'

/** Whose pass it is: of a hosted object, or of the run's own. */
type Acting = Pick<By, 'workflowID' | 'controller'>

/** The name of the controller that acts. @throws `InvalidWorkflowID` (final). */
export function controllerOf({ workflowID, controller: hosted }: Acting): string {
  const controller = hosted ?? controllerInID(workflowID)
  if (controller === '')
    throw finalFailure('InvalidWorkflowID', `workflow ID "${workflowID}"; expected <controller>/<namespace>/<name>/...`)
  return controller
}

/** The mode of the controller whose run it is. @throws a plain Error (a bug) when this process has none of the name. */
export function modeOf({ modes }: Pick<Deps, 'modes'>, { workflowID }: Pick<By, 'workflowID'>): Mode {
  const name = controllerOf({ workflowID })
  const mode = modes[name]
  if (mode !== undefined) return mode
  throw new Error(`run ${workflowID} is of controller ${name}; expected one of ${Object.keys(modes).join(', ')}`)
}

/** The controller in mode job that acts. @throws a plain Error (a bug) when this process has none of the name. */
export function jobController({ controllers }: Pick<Deps, 'controllers'>, by: Acting): JobModeController {
  const name = controllerOf(by)
  const found = controllers.get(name)
  if (found !== undefined && found.mode !== 'level') return found
  const known = [...controllers.values()].filter(({ mode }) => mode !== 'level').map((one) => one.name)
  throw new Error(`run ${by.workflowID} is of controller ${name}; expected one in mode job: ${known.join(', ')}`)
}
