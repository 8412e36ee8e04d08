// What Temporal's UI shows of a run from its start on, in Markdown. Pure. What it shows of its passes is said by the run: workflows/kit/run/loop/temporal.ts.

import type { JobInput } from '../../workflows/kit/index.ts'

type Told = Pick<JobInput, 'subject' | 'jobID' | 'cause'>

/** Which object it is about. */
export function runSummary({ subject: { kind, namespace, name } }: Pick<Told, 'subject'>): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}

/** Which job it is of, why it was started, and the command that replays it. */
export function runDetails({ subject, jobID, cause }: Told): string {
  return [...(jobID === '' ? [] : [`Job ${jobID}.`]), `Cause: ${cause}.`, `Replay: \`${replay(subject, jobID)}\``].join(
    ' ',
  )
}

/** In level mode there are no jobs: it is the newest run of the object then. */
function replay({ kind, namespace, name }: Told['subject'], jobID: string): string {
  const job = jobID === '' ? '' : ` ${jobID}`
  return `pawl replay ${kind.toLowerCase()}/${name}${job}${namespace === '' ? '' : ` -n ${namespace}`}`
}
