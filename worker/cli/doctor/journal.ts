// Checks the journal for `pawl doctor`, by the database or by `pawl api`. Only reads.

import { type Kysely, sql } from 'kysely'

import type { Database } from '../../../activities/journal/database.ts'
import { readSchema } from '../../../activities/journal/migrate.ts'
import { openReader } from '../../../activities/journal/read/reader.ts'
import { failureText, apiQuestions } from '../query/open-journal.ts'
import { clockFinding, type Finding, retentionFinding, schemaFinding } from './findings.ts'
import { type About, aboutIn } from '../../api/wire.ts'
import { PAWL_VERSION } from '../../server/version.ts'
import { singleLine } from '../query/format.ts'
import { type ApiAddress, type OpenApi, addressText } from '../api-place.ts'
import { joinNames } from '../../../workflows/kit/index.ts'

export async function journalFindings(url: string, cluster: string): Promise<readonly Finding[]> {
  const place = URL.parse(url)?.host ?? 'the given address'
  // The checks only read, and the session is read-only.
  const db = openReader(url) as unknown as Kysely<Database>
  try {
    const clock = await readClock(db)
    const found: Finding[] = [
      { part: 'journal', verdict: 'ok', text: `PostgreSQL ${clock.version} at ${place} answers` },
    ]
    found.push(clockFinding('of the journal', clock.aheadMs, clock.tookMs))
    const schema = await readSchema(db).catch((error: unknown): Error => error as Error)
    if (schema instanceof Error) return [...found, { part: 'migrations', verdict: 'bad', text: schema.message }]
    found.push(schemaFinding(schema))
    if (schema.missing.length > 0) return found
    return [...found, await bridgeFinding(db, cluster), retentionFinding(await readKept(db))]
  } catch (error) {
    const text = `PostgreSQL at ${place} does not answer: ${failureText(error)}; check --database-url and the credentials`
    return [{ part: 'journal', verdict: 'bad', text }]
  } finally {
    await db.destroy()
  }
}

async function readClock(db: Kysely<Database>) {
  await sql`select 1`.execute(db)
  const before = Date.now()
  const { rows } = await sql<{ at: Date; version: string }>`
    select clock_timestamp() as at, current_setting('server_version') as version`.execute(db)
  const after = Date.now()
  const [row] = rows
  return {
    version: row?.version ?? '',
    aheadMs: (before + after) / 2 - (row?.at.getTime() ?? after),
    tookMs: after - before,
  }
}

/** A running bridge renews the lease of each kind that it watches. */
async function bridgeFinding(db: Kysely<Database>, cluster: string): Promise<Finding> {
  const { rows } = await sql<{ kinds: number; followed: number }>`
    select count(*)::int as kinds, (count(*) filter (where lease_until > clock_timestamp()))::int as followed
    from watch_checkpoint where cluster = ${cluster}`.execute(db)
  const { kinds = 0, followed = 0 } = rows[0] ?? {}
  const part = 'bridge'
  if (kinds === 0)
    return {
      part,
      verdict: 'bad',
      text: `no bridge has ever followed cluster "${cluster}"; start one, or see --cluster`,
    }
  if (followed === 0)
    return {
      part,
      verdict: 'bad',
      text: `no bridge follows cluster "${cluster}" now, so Pawl notices no changes; start one`,
    }
  return { part, verdict: 'ok', text: `${followed} of ${kinds} kinds of cluster "${cluster}" are followed` }
}

async function readKept(db: Kysely<Database>) {
  const { rows } = await sql<{ oldest: Date | null; left: boolean; now: Date }>`
    select (select min(finished_at) from job where outcome is not null) as oldest,
           exists (select from watch_event_default) as left, clock_timestamp() as now`.execute(db)
  const [row] = rows
  return { oldest: row?.oldest ?? null, hasLeftOver: row?.left ?? false, now: row?.now ?? new Date() }
}

// Checks `pawl api` when the command uses it in place of the database.

export async function apiFindings(place: ApiAddress, api: OpenApi, cluster: string): Promise<readonly Finding[]> {
  const found: Finding[] = []
  try {
    await api.about()
    // A second request, because the first one includes the connection's set-up.
    const before = Date.now()
    const about = aboutIn(await api.about())
    const after = Date.now()
    found.push(
      versionFinding(place, about),
      clockFinding('of pawl api', (before + after) / 2 - about.at.getTime(), after - before),
      { part: 'identity', verdict: 'ok', text: whoText(about) },
      clusterFinding(about, cluster),
    )
    const kinds = await apiQuestions(api.ask).followedKinds()
    return [...found, kindsFinding(kinds.length, about)]
  } catch (error) {
    const text = `${failureText(error)}; check the address of pawl api and your token`
    return [...found, { part: found.length === 0 ? 'api' : 'journal', verdict: 'bad', text }]
  }
}

function versionFinding(place: ApiAddress, { version }: About): Finding {
  const text = `${addressText(place)} answers: Pawl ${singleLine(version, 50)}`
  if (version === PAWL_VERSION) return { part: 'api', verdict: 'ok', text }
  return { part: 'api', verdict: 'warn', text: `${text}, and this command is ${PAWL_VERSION}; use the same version` }
}

const MOST_GROUPS = 10

function whoText({ username, groups }: About): string {
  const names = groups.map((group) => singleLine(group, 100))
  const memberships = names.length === 0 ? '' : `, in groups ${joinNames(names, MOST_GROUPS)}`
  return `pawl api knows you as "${singleLine(username, 200)}"${memberships}`
}

function clusterFinding(about: About, cluster: string): Finding {
  const text = `pawl api answers for cluster "${singleLine(about.cluster, 200)}"`
  if (about.cluster === cluster) return { part: 'cluster', verdict: 'ok', text }
  return { part: 'cluster', verdict: 'warn', text: `${text}, but --cluster is "${cluster}"` }
}

function kindsFinding(count: number, { cluster }: About): Finding {
  if (count > 0)
    return {
      part: 'journal',
      verdict: 'ok',
      text: `the journal answers; ${count} kind${count === 1 ? ' is' : 's are'} followed`,
    }
  const text = `the journal has no kind of cluster "${singleLine(cluster, 200)}"; start a bridge`
  return { part: 'journal', verdict: 'bad', text }
}
