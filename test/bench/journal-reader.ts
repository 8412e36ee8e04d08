// Reads the journal of the measured set.

import pg from 'pg'

/** The application name of the bench's connections. */
const BENCH = 'pawl-bench'

export class JournalReader {
  readonly #pool: pg.Pool

  constructor(databaseUrl: string) {
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 2, application_name: BENCH })
    // The pool replaces an idle connection that breaks.
    this.#pool.on('error', () => undefined)
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }

  /** The age of the oldest due wake; 0 without one. */
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

  /** The pid of the oldest backend that serves Pawl. @throws without one. */
  async oldestBackend(): Promise<number> {
    const text = `select pid from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and application_name <> $1
      order by backend_start limit 1`
    const [row] = await this.#rows(text, [BENCH])
    if (row === undefined) throw new Error('no process is connected to the journal, expected worker and bridge')
    return Number(row['pid'])
  }

  /** The size of the database on disk, in bytes. */
  async bytes(): Promise<number> {
    const [row] = await this.#rows('select pg_database_size(current_database()) as bytes')
    return Number(row?.['bytes'])
  }

  /** Wakes and open jobs in these namespaces. */
  async countOpen(namespaces: readonly string[]): Promise<{ readonly wakes: number; readonly jobs: number }> {
    const text = `select (select count(*) from wake where namespace = any($1)) as wakes,
      (select count(*) from job where namespace = any($1) and outcome is null) as jobs`
    const [row] = await this.#rows(text, [namespaces])
    return { wakes: Number(row?.['wakes']), jobs: Number(row?.['jobs']) }
  }

  async #rows(text: string, values: readonly unknown[] = []): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return (await this.#pool.query<Record<string, unknown>>(text, [...values])).rows
  }
}
