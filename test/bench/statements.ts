// The SQL statements that took most of PostgreSQL's time, by its extension pg_stat_statements. Texts have no values in them.

import pg from 'pg'

import { count, figure, markdownTable } from './markdown.ts'

export interface Statement {
  readonly query: string
  readonly calls: number
  readonly totalMs: number
}

const SHOWN = 30
const LONGEST = 160

/** Has the server count statements from its next start on. */
export async function countStatements(databaseUrl: string): Promise<void> {
  await query(databaseUrl, "alter system set shared_preload_libraries = 'pg_stat_statements'")
}

/** Begins at zero. @throws when the server does not count. */
export async function resetStatements(databaseUrl: string): Promise<void> {
  await query(databaseUrl, 'create extension if not exists pg_stat_statements')
  await query(databaseUrl, 'select pg_stat_statements_reset()')
}

/** Of all databases, since the reset; most time first. */
export async function readStatements(databaseUrl: string): Promise<readonly Statement[]> {
  const rows = await query(
    databaseUrl,
    `select query, calls, total_exec_time as "totalMs" from pg_stat_statements
     where query not like '%pg_stat_statements%' order by total_exec_time desc`,
  )
  return rows.map(({ query, calls, totalMs }) => ({
    query: String(query),
    calls: Number(calls),
    totalMs: Number(totalMs),
  }))
}

export function statementsText(statements: readonly Statement[]): string {
  const total = (of: (one: Statement) => number) => statements.reduce((sum, one) => sum + of(one), 0)
  const rows = statements
    .slice(0, SHOWN)
    .map(({ query, calls, totalMs }) => [cell(query), count(calls), figure(totalMs), figure(totalMs / calls)])
  const all = ['all', count(total(({ calls }) => calls)), figure(total(({ totalMs }) => totalMs)), '']
  return markdownTable(['statement', 'calls', 'ms', 'ms each'], [all, ...rows])
}

function cell(query: string): string {
  const text = query.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')
  return `\`${text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text}\``
}

async function query(connectionString: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString })
  try {
    await client.connect()
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}
