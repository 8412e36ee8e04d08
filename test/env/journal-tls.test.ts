// TLS connections to PostgreSQL with the parameters of the URL. During this test, the shared server of all tests
// accepts TLS and plain connections.

import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import { openDatabase } from '../../activities/journal/database.ts'
import { asAdmin } from '../activities/journal/test-database.ts'
import { Authority } from '../support/servers/certificates.ts'

const { databaseUrl } = inject('servers')
const folder = mkdtempSync(join(tmpdir(), 'pawl-tls-'))
const file = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
let ca: string
let otherCa: string

/** Writes a file into the server's data directory, readable only for the server's user. */
async function placeOnServer(name: string, text: string): Promise<void> {
  const lines = text.trim().split('\n')
  const rows = lines.map((line, index) => `(${index}, '${line}')`).join(', ')
  await asAdmin(
    databaseUrl,
    `copy (select line from (values ${rows}) as t (n, line) order by n) to program 'umask 077; cat > ${name}'`,
  )
}

beforeAll(async () => {
  const authority = await Authority.make('an authority')
  const { cert, key } = await authority.issue('localhost')
  ca = file('ca.pem', authority.cert)
  otherCa = file('other.pem', (await Authority.make('another')).cert)
  await placeOnServer('test.crt', cert)
  await placeOnServer('test.key', key)
  await asAdmin(databaseUrl, "alter system set ssl_cert_file = 'test.crt'")
  await asAdmin(databaseUrl, "alter system set ssl_key_file = 'test.key'")
  await asAdmin(databaseUrl, 'alter system set ssl = on')
  await asAdmin(databaseUrl, 'select pg_reload_conf()')
})
afterAll(async () => {
  await asAdmin(databaseUrl, 'alter system reset ssl')
  await asAdmin(databaseUrl, 'select pg_reload_conf()')
})

/** Returns whether a connection to this host with these parameters uses TLS. */
async function isSealed(host: string, parameters: Readonly<Record<string, string>>): Promise<boolean> {
  const url = new URL(databaseUrl)
  url.hostname = host
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  const db = openDatabase(url.href, 1)
  try {
    const { rows } = await sql<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(db)
    return rows[0]?.ssl === true
  } finally {
    await db.destroy()
  }
}

describe('PostgreSQL over TLS', () => {
  it('is spoken to when its certificate is of the authority and of its name', async () => {
    await expect
      .poll(() => isSealed('localhost', { sslmode: 'verify-full', sslrootcert: ca }).catch(() => false))
      .toBe(true)
    expect(await isSealed('localhost', {})).toBe(false)
  })

  it('is not spoken to when its certificate is of another authority, or of another name', async () => {
    await expect(isSealed('localhost', { sslmode: 'verify-full', sslrootcert: otherCa })).rejects.toThrow(/certificate/)
    await expect(isSealed('localhost', { sslmode: 'verify-full' })).rejects.toThrow(/certificate/)
    await expect(isSealed('127.0.0.1', { sslmode: 'verify-full', sslrootcert: ca })).rejects.toThrow(/altnames/)
  })
})
