// Answers the questions of `pawl journal export` and `pawl replay` for one user. Rows that the user may not read are
// left out and counted: programs read these rows, so placeholder texts would be of no use. The rules J1 to J4 are those
// of authorized-questions.ts.

import type { ExportedRows, Row } from '../../activities/journal/read/exported-job.ts'
import type { LocatedObject } from '../../activities/journal/read/object-locations.ts'
import type { JournalQueries } from '../../activities/journal/read/queries.ts'
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

/** The permission checks of one user. */
interface Visibility {
  /** True if the user may get objects of this kind in this namespace. */
  readonly mayRead: PlaceCheck
  /** True if the user may get and list objects of this kind in this namespace. */
  readonly mayList: PlaceCheck
  /** The objects that the user may get, by uid. */
  readonly readableObjects: (uids: readonly string[]) => Promise<ReadonlyMap<string, LocatedObject>>
  /** The objects of runs, without a permission check. */
  readonly placesOfRuns: (workflowIDs: readonly string[]) => Promise<ReadonlyMap<string, LocatedObject>>
}

export function authorizedRowQuestions(
  questions: JournalQueries,
  { mayRead, mayList, readableObjects, placesOfRuns }: Visibility,
): Pick<JournalQueries, 'exportedRows' | 'eventsAt'> {
  /** Returns the rows whose object the user may read. */
  const filterRows = async (rows: readonly Row[], isAllowed = mayRead): Promise<readonly Row[]> => {
    const decisions = await Promise.all(
      rows.map(async (row) => {
        const { api_group: group, kind, namespace } = row
        return await isAllowed({ group: text(group), kind: text(kind), namespace: text(namespace) })
      }),
    )
    return rows.filter((_row, index) => decisions[index] === true)
  }

  /**
   * Redacts the writers that the user may not read, because their workflow IDs contain namespace and name; also the
   * names of objects in texts (J3).
   */
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
      if (run === undefined || !(await mayRead(run)) || !(await readableObjects([uid])).has(uid)) return NO_ROWS
      const rows = await questions.exportedRows(workflowID, uid)
      const hostedObjects = await readableObjects(rows.hostedJobs.map((row) => text(row['uid'])))
      const isOfRun = (row: Row) => [uid, ...hostedObjects.keys()].includes(text(row['uid']))
      const visible = {
        hostedJobs: rows.hostedJobs.filter((row) => hostedObjects.has(text(row['uid']))),
        writes: await filterRows(rows.writes),
        events: await redactWriters(await filterRows(rows.events)),
        awaited: await filterRows(rows.awaited.filter(isOfRun)),
        // Wakes are about the run's objects. Their causes name other objects, which `redactWriters` redacts below.
        wakes: rows.wakes.filter(isOfRun),
      }
      const unseen = Object.entries(visible).reduce(
        (sum, [name, visibleRows]) => sum + rows[name as keyof typeof visible].length - visibleRows.length,
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
    // A caller can try all sequence numbers and so list all events: this query needs the verb list (J4).
    eventsAt: async (seqs, since) =>
      await redactWriters(await filterRows(await questions.eventsAt(seqs, since), mayList)),
  }
}

/** Redacts the names of other objects in the texts of the row. */
function redactedRow(row: Row): Row {
  const redactedTexts = (['cause', 'reason'] as const).flatMap((name) =>
    typeof row[name] === 'string' ? [[name, withoutNames(row[name])] as const] : [],
  )
  return { ...row, ...Object.fromEntries(redactedTexts) }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
