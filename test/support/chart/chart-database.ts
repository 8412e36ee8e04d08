// The database of a release: one for each run of the test, with an owner as the install page demands.

import pg from 'pg'

/** Creates a database and its owner, who has no right except CREATEDB. @returns the owner's URL. */
export async function createDatabase(adminUrl: string): Promise<string> {
  const name = `pawl_chart_${process.pid}`
  await asAdmin(adminUrl, `create role ${name} login createdb password '${name}'`)
  await asAdmin(adminUrl, `create database ${name} owner ${name} template template0`)
  const url = new URL(withDatabase(adminUrl, name))
  url.username = name
  url.password = name
  return url.href
}

/** The URL with another database. */
export function withDatabase(address: string, name: string): string {
  const url = new URL(address)
  url.pathname = `/${name}`
  return url.href
}

/** Runs a statement in the database of the URL. */
export async function asAdmin(adminUrl: string, statement: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  await admin.query(statement)
  await admin.end()
}
