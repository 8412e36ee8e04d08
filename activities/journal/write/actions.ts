// Action rows of runs' writes: a row is stored before the request (write intent) and completed with its answer.
//
//   A1. A repeated activity finds and restarts its own row; it never adds a second one.
//   A2. While a row is unfinished, for at most HOLD_MS, the bridge holds the watch events of its object, so that the
//       answer is journaled first.
//   A3. A run whose job is over stores no intents and must not write. A worker that was stopped for long continues in
//       the middle of a pass, reads objects of later jobs and would write on their versions. Writes on objects read
//       before this check are fenced by their versions.

import { type Insertable, type Kysely, sql } from 'kysely'
import { groupKindOf, groupKindText } from '../../../workflows/kit/index.ts'
import type { ActionTable, Database, Json } from '../database.ts'

type Key = Pick<Insertable<ActionTable>, 'workflow_id' | 'run_id' | 'pass' | 'step' | 'object' | 'verb'>

/**
 * Names an object in actions: `Widget.example.com/ns/name` or `Pod/ns/name`. Two kinds with the same name share neither
 * rows nor holds.
 */
export function objectText(
  kind: { readonly apiVersion: string; readonly kind: string },
  namespace: string,
  name: string,
): string {
  return `${groupKindText(groupKindOf(kind))}/${namespace}/${name}`
}

export interface NewAction extends Key {
  readonly field_manager: string
  readonly started_at: Date
}

export interface FinishedAction extends NewAction {
  readonly resource_version: number | null
  readonly error: Json | null
  readonly finished_at: Date
}

/**
 * The bridge holds events on the objects of a batch until its transaction commits, at most this long. Source:
 * docs/concepts/architecture.md "Own writes".
 */
export const HOLD_MS = 1000

/**
 * Stores the intents of writes before they are sent (A1). The rows' keys must differ.
 *
 * @returns the run IDs whose job is over (A3): their intents are not stored, and nothing may be written.
 */
export async function beginActions(db: Kysely<Database>, rows: readonly NewAction[]): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set()
  // A key occurs twice in a group if an activity is repeated before its first attempt ends.
  const byKey = new Map(rows.map((row) => [keyOf(row), row]))
  // The row of another run with this workflow ID may not be reopened yet. In level mode a run that is woken while it
  // closes its row continues.
  const { rows: over } = await sql<{ run_id: string }>`
    with r as (
      select * from json_to_recordset(${JSON.stringify([...byKey.values()])}::json) as r(
        workflow_id text, run_id text, pass integer, step text, object text, verb text, field_manager text,
        started_at timestamptz)),
    over as (
      select distinct r.workflow_id, r.run_id from r join job on job.workflow_id = r.workflow_id
      where job.workflow_id = any(${[...new Set(rows.map((row) => row.workflow_id))]}::text[])
        and job.outcome is not null and job.run_id = r.run_id and job.job_id <> ''),
    begun as (
      insert into action (workflow_id, run_id, pass, step, object, verb, field_manager, started_at)
      select r.* from r where (r.workflow_id, r.run_id) not in (select workflow_id, run_id from over)
      order by r.workflow_id, r.run_id, r.pass, r.step, r.object, r.verb
      on conflict (workflow_id, run_id, pass, step, object, verb) do update set
        field_manager = excluded.field_manager, started_at = excluded.started_at,
        finished_at = null, resource_version = null, error = null)
    select run_id from over`.execute(db)
  return new Set(over.map(({ run_id }) => run_id))
}

function keyOf({ workflow_id, run_id, pass, step, object, verb }: Key): string {
  return [workflow_id, run_id, pass, step, object, verb].join(' ')
}

/**
 * Stores rows with their answers, and intents of writes that are still in flight (write-intents.ts, H2). Of two rows
 * with one key the later one counts.
 */
export async function finishActions(
  db: Kysely<Database>,
  rows: readonly FinishedAction[],
  newActions: readonly NewAction[] = [],
): Promise<void> {
  if (rows.length + newActions.length === 0) return
  const byKey = new Map([...rows, ...newActions].map((row) => [keyOf(row), row]))
  await sql`
    insert into action (workflow_id, run_id, pass, step, object, verb, field_manager, started_at, resource_version, error, finished_at)
    select f.* from json_to_recordset(${JSON.stringify([...byKey.values()])}::json) as f(
      workflow_id text, run_id text, pass integer, step text, object text, verb text, field_manager text, started_at timestamptz,
      resource_version bigint, error jsonb, finished_at timestamptz)
    order by f.workflow_id, f.run_id, f.pass, f.step, f.object, f.verb
    on conflict (workflow_id, run_id, pass, step, object, verb) do update set
      started_at = excluded.started_at, resource_version = excluded.resource_version, error = excluded.error,
      finished_at = excluded.finished_at`.execute(db)
}
