// What `pawl journal export` and `pawl replay` read of a job, as far as one user may see it. Rows about others are left out and counted: a file of
// rows is read by programs, which have no use for words in the place of names. The rules are those of judged.ts.

import type { ExportedRows, Row } from '../../activities/journal/read/exported-job.ts'
import type { LocatedObject } from '../../activities/journal/read/object-locations.ts'
import type { JournalQueries } from '../../activities/journal/read/queries.ts'
import type { GroupKind } from '../../workflows/kit/index.ts'
import { tellable } from './told-texts.ts'
import { UNSEEN } from './unseen.ts'

const NOTHING: ExportedRows = {
  job: undefined,
  hostedJobs: [],
  writes: [],
  events: [],
  awaited: [],
  wakes: [],
  cut: [],
}

type Judge = (place: GroupKind & { readonly namespace: string }) => Promise<boolean>

/** What one user may see. */
interface Sight {
  readonly maySee: Judge
  /** And list all like it there. */
  readonly mayList: Judge
  /** Those of the objects that he may get, by uid. */
  readonly seen: (uids: readonly string[]) => Promise<ReadonlyMap<string, LocatedObject>>
  /** Whoever may see them. */
  readonly placesOfRuns: (workflowIDs: readonly string[]) => Promise<ReadonlyMap<string, LocatedObject>>
}

export function ofRows(
  questions: JournalQueries,
  { maySee, mayList, seen, placesOfRuns }: Sight,
): Pick<JournalQueries, 'exportedRows' | 'eventsAt'> {
  /** By what they are about. */
  const placed = async (rows: readonly Row[], may = maySee): Promise<readonly Row[]> => {
    const judgements = await Promise.all(
      rows.map(async (row) => {
        const { api_group: group, kind, namespace } = row
        return await may({ group: text(group), kind: text(kind), namespace: text(namespace) })
      }),
    )
    return rows.filter((_row, index) => judgements[index] === true)
  }

  /** Workflow IDs say namespace and name (J3). */
  const withRuns = async (rows: readonly Row[]): Promise<readonly Row[]> => {
    const runs = [...new Set(rows.map((row) => text(row['writer'])).filter((run) => run !== ''))]
    const places = await placesOfRuns(runs)
    const judgements = await Promise.all(
      runs.map(async (run) => {
        const place = places.get(run)
        return place !== undefined && (await maySee(place)) ? [run] : []
      }),
    )
    const told = new Set(judgements.flat())
    return rows.map((row) => {
      const { writer } = row
      return toldRow(typeof writer === 'string' && !told.has(writer) ? { ...row, writer: UNSEEN } : row)
    })
  }

  return {
    exportedRows: async (workflowID, uid) => {
      const run = (await placesOfRuns([workflowID])).get(workflowID)
      if (run === undefined || !(await maySee(run)) || !(await seen([uid])).has(uid)) return NOTHING
      const rows = await questions.exportedRows(workflowID, uid)
      const hosts = await seen(rows.hostedJobs.map((row) => text(row['uid'])))
      const isOfRun = (row: Row) => [uid, ...hosts.keys()].includes(text(row['uid']))
      const kept = {
        hostedJobs: rows.hostedJobs.filter((row) => hosts.has(text(row['uid']))),
        writes: await placed(rows.writes),
        events: await withRuns(await placed(rows.events)),
        awaited: await placed(rows.awaited.filter(isOfRun)),
        // They name the run's own objects, and in their causes others.
        wakes: rows.wakes.filter(isOfRun),
      }
      const unseen = Object.entries(kept).reduce(
        (sum, [name, left]) => sum + rows[name as keyof typeof kept].length - left.length,
        0,
      )
      return {
        ...kept,
        job: rows.job && toldRow(rows.job),
        wakes: await withRuns(kept.wakes),
        cut: rows.cut,
        ...(unseen > 0 && { unseen }),
      }
    },
    // Numbers can be counted through (J4).
    eventsAt: async (seqs, since) => await withRuns(await placed(await questions.eventsAt(seqs, since), mayList)),
  }
}

/** Without the names of others in its texts. */
function toldRow(row: Row): Row {
  const told = (['cause', 'reason'] as const).flatMap((name) =>
    typeof row[name] === 'string' ? [[name, tellable(row[name])] as const] : [],
  )
  return { ...row, ...Object.fromEntries(told) }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
