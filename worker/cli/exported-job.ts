// Reads one job with its history and its journal rows: the content of the file that `pawl journal export` writes and
// `pawl replay` reads.

import type { ExportedRows, Row } from '../../activities/journal/read/exported-job.ts'
import type { JobRecord } from '../../activities/journal/read/object-queries.ts'
import type { TemporalTarget } from '../server/temporal.ts'
import { UsageError } from '../server/usage-error.ts'
import { objectAndJobs } from './query/diff.ts'
import { findJob, type FoundJob } from './query/find-object.ts'
import type { JournalSession } from './query/open-journal.ts'
import { nameOf } from './query/format.ts'
import { runIDOf } from './replay/history-events.ts'

const SIGNALED = 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED'
const EXPORT_FORMAT = 'pawl.job/1'

type Cells = Readonly<Record<string, unknown>>

interface ExportedHistory {
  readonly events: readonly Cells[]
}

/** The content of the file. */
interface ExportedJob {
  readonly format: typeof EXPORT_FORMAT
  readonly workflowId: string
  readonly runId: string
  readonly jobID: string
  /**
   * Temporal's history; encrypted payloads stay encrypted. Undefined if Temporal no longer has the history, or its
   * address is unknown.
   */
  readonly history: ExportedHistory | undefined
  /** Histories of the previous runs of the same job (continue-as-new), the earliest first. Absent without previous runs. */
  readonly earlier?: readonly ExportedHistory[]
  /**
   * The journal's rows; undefined without rows. `wokenBy` contains the events that the history names, also those
   * of other objects.
   */
  readonly journal: (ExportedRows & { readonly wokenBy: readonly Row[] }) | undefined
}

type NamedJob = FoundJob & { readonly job: JobRecord }

/** @throws UsageError for several jobs; an Error if the object has no job. */
export async function findNamedJob(journal: JournalSession, words: readonly string[]): Promise<NamedJob> {
  const [named, jobs] = objectAndJobs(words)
  if (jobs.length > 1) throw new UsageError(`found ${jobs.length} jobs (${jobs.join(', ')}); give one job`)
  const { object, job } = await findJob(journal, named, jobs[0])
  if (job === undefined) throw new Error(`${nameOf(object)}: the journal has no job; start one with pawl reconcile`)
  return { object, job }
}

/** @param runID an earlier run with the same workflow ID; undefined: the newest. */
export async function exportedJob(
  journal: JournalSession,
  { object, job: { workflowID, jobID, startedAt } }: NamedJob,
  target: TemporalTarget | undefined,
  runID?: string,
): Promise<ExportedJob> {
  const rows = await journal.exportedRows(workflowID, object.uid)
  const { fetchRun, historyJson } = await import('./temporal-runs.ts')
  const runs = target === undefined ? [] : await fetchRun(target, workflowID, runID)
  const histories = runs.map((run) => ({ events: historyJson(run) }))
  const [earlier, history] = [histories.slice(0, -1), histories.at(-1)]
  const seqs = histories.flatMap(({ events }) => wakeNumbersIn(events))
  const journalRows = { ...rows, wokenBy: await eventsOf(journal, seqs, runID === undefined ? startedAt : new Date(0)) }
  return {
    format: EXPORT_FORMAT,
    workflowId: workflowID,
    runId: runIDOf(history?.events ?? []),
    jobID,
    history,
    ...(earlier.length > 0 && { earlier }),
    journal: journalRows,
  }
}

// `pawl api` limits the length of lists.
const SEQS_AT_ONCE = 5000

async function eventsOf(journal: JournalSession, seqs: readonly number[], since: Date): Promise<readonly Row[]> {
  const rows: Row[] = []
  for (let from = 0; from < seqs.length; from += SEQS_AT_ONCE)
    rows.push(...(await journal.eventsAt(seqs.slice(from, from + SEQS_AT_ONCE), since)))
  return rows
}

interface Payloads {
  readonly payloads?: readonly { readonly data?: string }[]
}

/** The event numbers in signals and in results of settles; none from encrypted payloads. */
function wakeNumbersIn(events: ExportedHistory['events']): readonly number[] {
  return events.flatMap((event) => {
    if (event['eventType'] === SIGNALED) {
      const { input } = event['workflowExecutionSignaledEventAttributes'] as { readonly input?: Payloads }
      const { seq } = jsonOf(input) as { readonly seq?: unknown }
      return typeof seq === 'number' && seq > 0 ? [seq] : []
    }
    const { wokenBy } = jsonOf(answerIn(event)) as { readonly wokenBy?: unknown }
    return Array.isArray(wokenBy) ? wokenBy.filter((seq) => typeof seq === 'number') : []
  })
}

/** The result of an activity. Settles are local activities, or activities after several failed attempts. */
function answerIn({
  markerRecordedEventAttributes,
  activityTaskCompletedEventAttributes,
}: Cells): Payloads | undefined {
  const { details } = (markerRecordedEventAttributes ?? {}) as {
    readonly details?: Readonly<Record<string, Payloads>>
  }
  const { result = details?.['result'] } = (activityTaskCompletedEventAttributes ?? {}) as {
    readonly result?: Payloads
  }
  return result
}

/** The JSON of the first payload; {} if it is encrypted. */
function jsonOf({ payloads }: Payloads = {}): object {
  const [{ data = '' } = {}] = payloads ?? []
  if (data === '') return {}
  try {
    const value: unknown = JSON.parse(Buffer.from(data, 'base64').toString())
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
