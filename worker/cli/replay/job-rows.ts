// Converts the journal's rows of a job, as `pawl journal export` writes them, to typed values. Pure.

interface RowOfJob {
  readonly controller: string
  readonly namespace: string
  readonly name: string
  readonly cause: string
  readonly outcome: string | undefined
  readonly startedAt: Date
  readonly finishedAt: Date | undefined
}

/** A write of a pass, with the API server's answer. */
export interface RowOfWrite {
  readonly runID: string
  readonly pass: number
  readonly step: string
  readonly object: string
  readonly verb: string
  readonly fieldManager: string
  readonly version: number | undefined
  /** `code` and `message` of the stored error. */
  readonly error: string | undefined
  readonly tookMs: number | undefined
}

export interface RowOfEvent {
  readonly seq: number
  readonly at: Date
  readonly object: string
  readonly version: number
  readonly type: string
  /** Workflow ID of the run that wrote the version; undefined for other clients. */
  readonly writer: string | undefined
  /** Field manager of a version without `writer`, if the journal has it. */
  readonly manager: string | undefined
  readonly phase: string | undefined
}

export interface JobRows {
  readonly job: RowOfJob | undefined
  readonly writes: readonly RowOfWrite[]
  readonly events: readonly RowOfEvent[]
  /** Tables with more rows than the export contains. */
  readonly cut: readonly string[]
  /** Number of rows about objects that the user may not see. */
  readonly unseen: number
}

type Cells = Readonly<Record<string, unknown>>

/** @param given rows of the tables; times may be texts. */
export function jobRows(given: unknown): JobRows {
  const { job, writes, events, wokenBy, cut, unseen } = cellsOf(given)
  return {
    job: job === undefined || job === null ? undefined : jobOf(cellsOf(job)),
    writes: listOf(writes).map(writeOf),
    events: [...listOf(events), ...listOf(wokenBy)].map(eventOf),
    cut: Array.isArray(cut) ? cut.map(String) : [],
    unseen: typeof unseen === 'number' ? unseen : 0,
  }
}

function jobOf(row: Cells): RowOfJob {
  return {
    controller: text(row['controller']),
    namespace: text(row['namespace']),
    name: text(row['name']),
    cause: text(row['cause']),
    outcome: textOr(row['outcome']),
    startedAt: time(row['started_at']) ?? new Date(0),
    finishedAt: time(row['finished_at']),
  }
}

function writeOf(row: Cells): RowOfWrite {
  const [began, ended] = [time(row['started_at']), time(row['finished_at'])]
  const { code, reason = code, message } = cellsOf(row['error'])
  const said = [reason, message].map(textOr).filter((one) => one !== undefined)
  return {
    runID: text(row['run_id']),
    pass: Number(row['pass']),
    step: text(row['step']),
    object: text(row['object']),
    verb: text(row['verb']),
    fieldManager: text(row['field_manager']),
    version: typeof row['resource_version'] === 'number' ? row['resource_version'] : undefined,
    error: row['error'] === null || row['error'] === undefined ? undefined : said.join(': ') || 'refused',
    tookMs: began === undefined || ended === undefined ? undefined : ended.getTime() - began.getTime(),
  }
}

function eventOf(row: Cells): RowOfEvent {
  const [kind, namespace, name] = [text(row['kind']), text(row['namespace']), text(row['name'])]
  return {
    seq: Number(row['seq']),
    at: time(row['at']) ?? new Date(0),
    version: Number(row['resource_version']),
    object: `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`,
    type: text(row['type']),
    writer: textOr(row['writer']),
    manager: textOr(row['manager']),
    phase: textOr(cellsOf(cellsOf(row['projection'])['status'])['phase']),
  }
}

function cellsOf(value: unknown): Cells {
  return typeof value === 'object' && value !== null ? (value as Cells) : {}
}

function listOf(value: unknown): readonly Cells[] {
  return Array.isArray(value) ? value.map(cellsOf) : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function time(value: unknown): Date | undefined {
  if (value instanceof Date) return value
  return typeof value === 'string' ? new Date(value) : undefined
}
