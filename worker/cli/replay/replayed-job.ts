// Combines the passes and the state of a replayed job. Pure.

import { UsageError } from '../../server/usage-error.ts'
import { nameOf } from '../query/format.ts'
import {
  runBefore,
  runIDOf,
  runIDsDuring,
  resetTimes,
  signalsAfter,
  howEnded,
  openTaskFailure,
  replayObstacle,
} from './history-events.ts'
import type { LoadedJob } from './load.ts'
import { EXACT_TIMES, type EventTexts, passesOf, type ReplayedPass } from './passes.ts'
import type { Recording } from './record.ts'

export interface ReplayedJob {
  readonly workflowId: string
  readonly runID: string
  readonly jobID: string
  readonly object: string
  /** The state of the job: `Succeeded`, or `unfinished`. */
  readonly state: string
  readonly passes: readonly ReplayedPass[]
  readonly notes: readonly string[]
}

/** @param recordings of the job's runs, the earliest first. @param times for the texts about events. */
export function replayedJob(job: LoadedJob, recordings: readonly Recording[], times = EXACT_TIMES): ReplayedJob {
  const { workflowId, events, rows, earlier } = job
  const runs = [...earlier, job]
  const passes = runs.flatMap((run, index) =>
    passesOf(recordings[index]?.entries ?? [], {
      rows,
      runIDsDuring: (from, until) => runIDsDuring(run.events, from, until),
      times,
    }),
  )
  const entries = recordings.at(-1)?.entries ?? []
  const { subject, jobID } = inputOf(recordings[0])
  return {
    workflowId,
    runID: runIDOf(events),
    jobID: job.jobID || (jobID ?? ''),
    object: subject === undefined ? workflowId : nameOf(subject),
    state: howEnded(entries, events),
    passes: passes.map((one, index) => ({ ...one, pass: index + 1 })),
    notes: [...recordings.flatMap(errorNote), ...notesOf(job, times)],
  }
}

function inputOf(recording: Recording | undefined) {
  const began = recording?.entries.find((entry) => entry.told === 'began')
  return (began?.input ?? {}) as { readonly subject?: Parameters<typeof nameOf>[0]; readonly jobID?: string }
}

function errorNote({ error, advice }: Recording): readonly string[] {
  if (error === undefined) return []
  return [
    advice === undefined
      ? `your workflow code cannot replay this run: ${error}; replay it with the Pawl version that ran it`
      : `${error}; ${advice}`,
  ]
}

function failureNote(events: LoadedJob['events']): readonly string[] {
  const failure = replayObstacle(events) === undefined ? openTaskFailure(events) : undefined
  return failure === undefined
    ? []
    : [
        `the workflow task after these passes failed: ${failure}; fix the code and restart the worker, which runs the pass again`,
      ]
}

function notesOf({ workflowId, events, rows, earlier }: LoadedJob, times: EventTexts): readonly string[] {
  const waiting = signalsAfter(events)
  const missing = runBefore(earlier[0]?.events ?? events)
  return [
    ...failureNote(events),
    ...(missing === ''
      ? []
      : [`the first passes of the job are missing: Temporal has deleted the history of its earlier run ${missing}`]),
    ...[{ workflowId, events }, ...earlier].flatMap((run) =>
      resetTimes(run.events).map(
        (time) =>
          `an operator reset the run in Temporal at ${times.format(time)}: later passes are those of the new run, and passes that the reset discarded are not shown`,
      ),
    ),
    ...(waiting === 0
      ? []
      : [
          `${waiting} pending ${waiting === 1 ? 'signal' : 'signals'}: the job has not processed ${waiting === 1 ? 'it' : 'them'} yet`,
        ]),
    ...(rows === undefined ? ['the journal has no rows of this job: writes and events are not shown'] : []),
    ...(rows !== undefined && rows.cut.length > 0
      ? [`only part of the journal's rows is shown; incomplete: ${rows.cut.join(', ')}`]
      : []),
    ...(rows !== undefined && rows.unseen > 0
      ? [`${rows.unseen} rows of the journal are not shown, because you may not read their objects`]
      : []),
  ]
}

/** The passes up to this one. @throws UsageError if the job has no such pass. */
export function upTo({ passes, object }: ReplayedJob, to: string): readonly ReplayedPass[] {
  const last = passes.findIndex(({ pass }) => String(pass) === to)
  if (last < 0)
    throw new UsageError(
      `${object}: --to: no pass "${to}"; ${passes.length === 0 ? 'the job has no passes' : `the job has passes 1 to ${passes.at(-1)?.pass ?? 1}`}`,
    )
  return passes.slice(0, last + 1)
}
