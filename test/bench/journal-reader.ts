// What the journal of the set tells a scenario. Its statements are few and read only.

import pg from 'pg'

export interface Passes {
  readonly jobs: number
  readonly passes: number
}

/** Tells its own connections from those of Pawl. */
const BENCH = 'pawl-bench'

export class JournalReader {
  readonly #pool: pg.Pool

  constructor(databaseUrl: string) {
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 2, application_name: BENCH })
    // A connection that breaks while nobody uses it is made anew.
    this.#pool.on('error', () => undefined)
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  /** Of the jobs of an object, those of its Execution and items not counted. */
  async passesOf(uid: string): Promise<Passes> {
    const text = 'select count(*) as jobs, coalesce(sum(passes), 0) as passes from job where uid = $1'
    const [row] = await this.#rows(text, [uid])
    return { jobs: Number(row?.['jobs']), passes: Number(row?.['passes']) }
  }

  /** How many of these versions of an object are journaled. */
  async countVersions(uid: string, versions: readonly string[]): Promise<number> {
    const text = `select count(distinct resource_version) as count from watch_event
      where uid = $1 and resource_version = any($2::bigint[])`
    const [row] = await this.#rows(text, [uid, versions])
    return Number(row?.['count'])
  }

  /** Whether the last pass of the object's jobs came after the newest event that was to wake one. */
  async isPassedAfterNewestEvent(uid: string): Promise<boolean> {
    const text = `select (select max(last_pass_at) from job where uid = $1)
      >= (select max(at) from watch_event where uid = $1 and outcome = 'wake') as passed`
    const [row] = await this.#rows(text, [uid])
    return row?.['passed'] === true
  }

  async countWakesOf(uid: string): Promise<number> {
    const [row] = await this.#rows('select count(*) as count from wake where uid = $1', [uid])
    return Number(row?.['count'])
  }

  /** How long the oldest wake that is due has been so; 0 without any. */
  async oldestWakeMs(): Promise<number> {
    const text = `select coalesce(extract(epoch from max(clock_timestamp() - due)), 0) * 1000 as ms from wake
      where due <= clock_timestamp()`
    const [row] = await this.#rows(text)
    return Number(row?.['ms'])
  }

  async knows(uid: string, version: string): Promise<boolean> {
    const text = 'select 1 from object where uid = $1 and (resource_version >= $2 or deleted)'
    return (await this.#rows(text, [uid, version])).length > 0
  }

  /** The process of that server which has served one of the others' connections for longest. @throws without any. */
  async oldestBackend(): Promise<number> {
    const text = `select pid from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and application_name <> $1
      order by backend_start limit 1`
    const [row] = await this.#rows(text, [BENCH])
    if (row === undefined) throw new Error('nobody is connected to the journal, expected worker and bridge')
    return Number(row['pid'])
  }

  /** Wakes and open jobs in these namespaces: what is still to be done. */
  async countOpen(namespaces: readonly string[]): Promise<{ readonly wakes: number; readonly jobs: number }> {
    const text = `select (select count(*) from wake where namespace = any($1)) as wakes,
      (select count(*) from job where namespace = any($1) and outcome is null) as jobs`
    const [row] = await this.#rows(text, [namespaces])
    return { wakes: Number(row?.['wakes']), jobs: Number(row?.['jobs']) }
  }

  /** Effects on objects of these namespaces that took place more than once, by "step verb kind": how often too many. */
  async repeatedActions(namespaces: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const text = `select step || ' ' || verb || ' ' || kind as what, sum(count - 1) as more from (
        select workflow_id, step, object, kind, verb, count(*) as count from action
        where namespace = any($1) and error is null and finished_at is not null
        group by workflow_id, step, object, kind, verb having count(*) > 1) as repeated
      group by what order by what`
    const rows = await this.#rows(text, [namespaces])
    return new Map(rows.map((row) => [String(row['what']), Number(row['more'])]))
  }

  async #rows(text: string, values: readonly unknown[] = []): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return (await this.#pool.query<Record<string, unknown>>(text, [...values])).rows
  }
}
