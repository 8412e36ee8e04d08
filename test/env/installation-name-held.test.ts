// Tests an Installation whose Execution name is still taken by the Execution of an earlier Installation: it waits for
// the deletion of the old Execution, and does not miss it. Source: activities/journal/write/subscriptions.ts, S1.

import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { applyChildrenActivities } from '../../activities/landscaper/installation/apply-children.ts'
import type { Database } from '../../activities/journal/database.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import {
  createTemplateEngine,
  type TemplateEngines,
} from '../../activities/landscaper/render/engine/template-engine.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'
import { API, installation } from '../support/cluster/cluster.ts'

const ROOT = `/apis/${API}/namespaces/n`
const EXECUTION = `${ROOT}/executions/again`
const SUBJECT = { kind: 'Installation', uid: 'uid-new', namespace: 'n', name: 'again' }
const BY = { workflowID: 'installation/uid-new/job', runID: 'run', pass: 1 }

const stage = useWriteStage(inject('servers').databaseUrl)
let templates: TemplateEngines

beforeAll(() => {
  templates = createTemplateEngine({ threads: 1 })
})
afterAll(async () => {
  await templates.close()
})

/** The Execution `again`, owned by the Installation with this UID. */
function held(uid: string, metadata: object): KubeObject {
  const owner = { apiVersion: API, kind: 'Installation', name: 'again', uid, controller: true }
  return { metadata: { name: 'again', namespace: 'n', uid: 'uid-held', ownerReferences: [owner], ...metadata } }
}

beforeEach(() => {
  const { api } = stage()
  const { spec } = installation('again', [{ name: 'only' }])
  api.put(`${ROOT}/installations/again`, {
    metadata: { name: 'again', namespace: 'n', uid: 'uid-new', generation: 1 },
    spec,
  })
  api.put(EXECUTION, held('uid-old', { deletionTimestamp: '2030-01-01T00:00:00Z' }))
})

const apply = async () =>
  await applyChildrenActivities(landscaperDeps(stage().deps, { templates })).applyChildren({
    by: BY,
    subject: SUBJECT,
    jobID: 'job',
    generation: 1,
  })
const waits = async () =>
  await stage().database.db.selectFrom('subscription').select(['uid', 'job_id', 'kind', 'namespace', 'name']).execute()

describe('an installation whose execution name is taken', () => {
  it('waits for the existing execution with one subscription, also when the activity runs twice', async () => {
    const waiting = {
      result: 'waiting',
      reason: 'waiting for execution n/again of an earlier installation to be gone',
    }
    expect(await apply()).toEqual(waiting)
    expect(await apply()).toEqual(waiting)
    expect(await waits()).toEqual([{ uid: 'uid-new', job_id: 'job', kind: 'Execution', namespace: 'n', name: 'again' }])
  })

  it.each([
    ['is gone', undefined],
    ['is replaced', { uid: 'uid-third' }],
  ])('retries at once when the existing execution %s before the subscription is stored', async (_, metadata) => {
    const { api, database } = stage()
    let applying: Promise<unknown> = Promise.resolve()
    await database.db.transaction().execute(async (trx) => {
      await sql`lock table subscription in exclusive mode`.execute(trx)
      applying = apply().catch((error: unknown) => error)
      await expect.poll(() => isWaitingToWait(trx), { timeout: 30_000 }).toBe(true)
      if (metadata === undefined) api.objects.delete(EXECUTION)
      else api.put(EXECUTION, held('uid-old', metadata))
    })
    expect(await applying).toMatchObject({ type: 'Changed' })
  })
})

/** Whether a session waits for a lock on the table of subscriptions. */
async function isWaitingToWait(db: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql`
    select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())
      and relation = 'subscription'::regclass`.execute(db)
  return rows.length > 0
}
