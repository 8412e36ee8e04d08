// A job replayed: its passes, and how its run stands at their end. Pure.

import { UsageError } from '../../server/usage-error.ts'
import { runIDOf, signalsAfter } from './history-events.ts'
import { howEnded } from './how-ended.ts'
import type { LoadedJob } from './load.ts'
import { passesOf, type ReplayedPass } from './passes.ts'
import type { Recording } from './record.ts'

export interface ReplayedJob {
  readonly workflowId: string
  readonly runID: string
  readonly jobID: string
  readonly object: string
  /** How the job stands: `Succeeded`, or `goes on`. */
  readonly state: string
  readonly passes: readonly ReplayedPass[]
  readonly notes: readonly string[]
}

export function replayedJob(job: LoadedJob, { entries, error }: Recording): ReplayedJob {
  const { workflowId, events, rows } = job
  const runID = runIDOf(events)
  const passes = passesOf(entries, rows, runID)
  const began = entries.find((entry) => entry.told === 'began')
  const { subject, jobID } = (began?.input ?? {}) as {
    readonly subject?: { readonly kind: string; readonly namespace: string; readonly name: string }
    readonly jobID?: string
  }
  return {
    ...{ workflowId, runID, jobID: job.jobID || (jobID ?? '') },
    object:
      subject === undefined
        ? workflowId
        : `${subject.kind} ${subject.namespace === '' ? '' : `${subject.namespace}/`}${subject.name}`,
    state: howEnded(entries, events),
    passes,
    notes: notesOf(job, error),
  }
}

function notesOf({ events, rows }: LoadedJob, error: string | undefined): readonly string[] {
  const waiting = signalsAfter(events)
  return [
    ...(error === undefined ? [] : [`these workflows do not come to what the run did: ${error}`]),
    ...(waiting === 0
      ? []
      : [`${waiting} ${waiting === 1 ? 'signal has' : 'signals have'} come that no pass in the history has taken`]),
    ...(rows === undefined ? ['the journal has nothing of this job: writes and events are not shown'] : []),
    ...(rows !== undefined && rows.cut.length > 0
      ? [`the journal has more rows than are shown of: ${rows.cut.join(', ')}`]
      : []),
  ]
}

/** The passes up to this one. @throws UsageError for what is no pass of the job. */
export function upTo({ passes, object }: ReplayedJob, to: string): readonly ReplayedPass[] {
  const last = passes.findIndex(({ pass }) => String(pass) === to)
  if (last < 0)
    throw new UsageError(
      `--to is '${to}', expected a pass of ${object}: ${passes.length === 0 ? 'it has none' : `1 to ${passes.at(-1)?.pass ?? 1}`}`,
    )
  return passes.slice(0, last + 1)
}
