// What `pawl journal export` and `pawl replay` read of a job, as far as one user may see it. Rows about others are left out and counted: a file of
// rows is read by programs, which have no use for words in the place of names. The rules are those of judged.ts.

import type { ExportedRows, Row } from '../../activities/journal/read/exported-job.ts'
import type { PlacedObject } from '../../activities/journal/read/places.ts'
import type { Questions } from '../../activities/journal/read/questions.ts'
import type { GroupKind } from '../../workflows/kit/index.ts'
import { withoutNames, REDACTED } from './redaction.ts'

const NO_ROWS: ExportedRows = {
  job: undefined,
  hostedJobs: [],
  writes: [],
  events: [],
  awaited: [],
  wakes: [],
  cut: [],
}

type PlaceCheck = (place: GroupKind & { readonly namespace: string }) => Promise<boolean>

/** What one user may see. */
interface Visibility {
  readonly mayRead: PlaceCheck
  /** And list all like it there. */
  readonly mayList: PlaceCheck
  /** Those of the objects that he may get, by uid. */
  readonly readableObjects: (uids: readonly string[]) => Promise<ReadonlyMap<string, PlacedObject>>
  /** Whoever may see them. */
  readonly placesOfRuns: (workflowIDs: readonly string[]) => Promise<ReadonlyMap<string, PlacedObject>>
}

export function rowQuestions(
  questions: Questions,
  { mayRead: mayRead, mayList, readableObjects: seen, placesOfRuns }: Visibility,
): Pick<Questions, 'exportedRows' | 'eventsAt'> {
  /** By what they are about. */
  const filterRows = async (rows: readonly Row[], may = mayRead): Promise<readonly Row[]> => {
    const decisions = await Promise.all(
      rows.map(async (row) => {
        const { api_group: group, kind, namespace } = row
        return await may({ group: text(group), kind: text(kind), namespace: text(namespace) })
      }),
    )
    return rows.filter((_row, index) => decisions[index] === true)
  }

  /** Workflow IDs say namespace and name (J3). */
  const redactWriters = async (rows: readonly Row[]): Promise<readonly Row[]> => {
    const runs = [...new Set(rows.map((row) => text(row['writer'])).filter((run) => run !== ''))]
    const places = await placesOfRuns(runs)
    const decisions = await Promise.all(
      runs.map(async (run) => {
        const place = places.get(run)
        return place !== undefined && (await mayRead(place)) ? [run] : []
      }),
    )
    const readableRuns = new Set(decisions.flat())
    return rows.map((row) => {
      const { writer } = row
      return redactedRow(typeof writer === 'string' && !readableRuns.has(writer) ? { ...row, writer: REDACTED } : row)
    })
  }

  return {
    exportedRows: async (workflowID, uid) => {
      const run = (await placesOfRuns([workflowID])).get(workflowID)
      if (run === undefined || !(await mayRead(run)) || !(await seen([uid])).has(uid)) return NO_ROWS
      const rows = await questions.exportedRows(workflowID, uid)
      const hosts = await seen(rows.hostedJobs.map((row) => text(row['uid'])))
      const belongsToRun = (row: Row) => [uid, ...hosts.keys()].includes(text(row['uid']))
      const visible = {
        hostedJobs: rows.hostedJobs.filter((row) => hosts.has(text(row['uid']))),
        writes: await filterRows(rows.writes),
        events: await redactWriters(await filterRows(rows.events)),
        awaited: await filterRows(rows.awaited.filter(belongsToRun)),
        // They name the run's own objects, and in their causes others.
        wakes: rows.wakes.filter(belongsToRun),
      }
      const unseen = Object.entries(visible).reduce(
        (sum, [name, left]) => sum + rows[name as keyof typeof visible].length - left.length,
        0,
      )
      return {
        ...visible,
        job: rows.job && redactedRow(rows.job),
        wakes: await redactWriters(visible.wakes),
        cut: rows.cut,
        ...(unseen > 0 && { unseen }),
      }
    },
    // Numbers can be counted through (J4).
    eventsAt: async (seqs, since) => await redactWriters(await filterRows(await questions.eventsAt(seqs, since), mayList)),
  }
}

/** Without the names of others in its texts. */
function redactedRow(row: Row): Row {
  const readableRuns = (['cause', 'reason'] as const).flatMap((name) =>
    typeof row[name] === 'string' ? [[name, withoutNames(row[name])] as const] : [],
  )
  return { ...row, ...Object.fromEntries(readableRuns) }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
