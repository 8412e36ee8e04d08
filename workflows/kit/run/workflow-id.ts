// How runs are called in Temporal: first what people know, last what makes an ID the only one of its name. Source: docs/adr/0022.
//
//   I1. A controller's run of a subject and job has one ID, whoever starts it: Temporal refuses the second start.
//   I2. Two runs never share one, also where names were cut: uid and job ID stay whole, and neither has a '/'.
//   I3. An ID is stored with its run, and what is asked of the run is asked of its row. Nothing is taken out of an ID again but the
//       controller: rows and open runs of former workers have IDs of another shape, `<controller>/<uid>/<jobID>`.

import { byteLength, cutBytes } from './cut-bytes.ts'
import type { Subject } from './subject.ts'

/** What Temporal's stores in SQL have room for. */
const LONGEST = 255

/**
 * `<controller>/<namespace>/<name>/<uid>/<jobID>`, of which what is empty is left out: the namespace of a kind that has none, the job ID in
 * level mode. Namespace and name are cut to what the others leave of 255 bytes.
 */
export function workflowIDOf(
  controller: string,
  { namespace, name, uid }: Pick<Subject, 'namespace' | 'name' | 'uid'>,
  jobID: string,
): string {
  const place = joined(namespace, name)
  const end = joined(uid, jobID)
  const room = LONGEST - byteLength(`${controller}//${end}`)
  return joined(controller, cutBytes(place, room).replace(/\/+$/, ''), end)
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('/')
}

/** The controller whose run has this ID, also one of a former worker: what stands before the first '/'. Empty when there is none. */
export function controllerInID(workflowID: string): string {
  return workflowID.slice(0, Math.max(0, workflowID.indexOf('/')))
}
