// Searches for a secret in texts that must not contain users' values: the journal, histories, logs, statuses, Events.

import { constants, gunzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../../activities/kube/client.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Pawl } from '../pawl/pawl.ts'

/** The places of the secret with their surrounding text. Also finds the secret in gzip data and in base64. */
export function findLeaks(given: string, secret: string): string[] {
  const text = [given, ...decodedTexts(given)].join('\n')
  return formsOf(secret).flatMap((form) => {
    const at = text.indexOf(form)
    return at < 0 ? [] : [text.slice(Math.max(0, at - 300), at + 100)]
  })
}

/** The secret, and its three encodings within base64, which depend on the position of the secret modulo 3. */
function formsOf(secret: string): readonly string[] {
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.from('x'.repeat(shift) + secret)
      .toString('base64')
      .slice(4, 16),
  )
  return [secret, ...shifted]
}

/** Decompresses the dumps of template inputs in messages. Tolerates truncated dumps, because messages may be cut. */
export function decodedTexts(text: string): string[] {
  const packed = text.match(/H4sI[A-Za-z0-9+/=]+/g) ?? []
  return packed.map((one) =>
    gunzipSync(Buffer.from(one, 'base64'), { finishFlush: constants.Z_SYNC_FLUSH }).toString('utf8'),
  )
}

/** All rows of all tables of the journal. */
export async function journalOf({ db }: Pick<Pawl, 'db'>): Promise<string> {
  const tables = await sql<{
    name: string
  }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(db)
  const dumps = await Promise.all(
    tables.rows.map(({ name }) =>
      sql<{ row: string }>`select to_jsonb(t)::text as row from ${sql.id(name)} t`.execute(db),
    ),
  )
  return dumps.flatMap(({ rows }) => rows.map(({ row }) => row)).join('\n')
}

/** The histories and details of the runs of a namespace. Waits until Temporal lists at least `atLeast` runs. */
export async function historiesOf({ client }: Pawl, { namespace }: Cluster, atLeast: number): Promise<string> {
  // Temporal's visibility store lists a run with a delay.
  const runs = await vi.waitFor(
    async () => {
      const listed: { workflowId: string; runId: string }[] = []
      for await (const run of client.workflow.list({ query: `PawlNamespace = '${namespace}'` })) listed.push(run)
      if (listed.length < atLeast) throw new Error(`Temporal lists ${listed.length} runs; expected ${atLeast} or more`)
      return listed
    },
    { timeout: 30_000, interval: 200 },
  )
  const dumps: string[] = []
  for (const { workflowId, runId } of runs) {
    const handle = client.workflow.getHandle(workflowId, runId)
    dumps.push(textOf(await handle.fetchHistory()), textOf(await handle.query('__temporal_workflow_metadata')))
  }
  return dumps.join('\n')
}

/** JSON with payload bytes decoded as text. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    one instanceof Uint8Array ? Buffer.from(one).toString('utf8') : one,
  )
}

export async function eventsOf({ kube, namespace }: Cluster): Promise<readonly KubeObject[]> {
  return (await kube.request<ObjectList>('GET', `/api/v1/namespaces/${namespace}/events`)).items
}
