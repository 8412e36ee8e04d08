// `pawl journal export`, `verify` and `prune` on a real journal.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { upsertWakes } from '../../activities/journal/write/wakes.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
const GROUP = 'landscaper.gardener.cloud'
const RUN = 'installation/team-a/shop/i1/j1'
const DAY_MS = 86_400_000
const journal = useJournal(inject('servers').databaseUrl)
const ago = (ms: number) => new Date(Date.now() - ms)

describe('pawl journal export', { timeout: 120_000 }, () => {
  it('has the rows of the job, and no others', async () => {
    await shop()
    await eventAt(3_600_000, { uid: 'i1', version: 3 })
    await eventAt(3_500_000, { uid: 'other', version: 4 })
    await sql`insert into action (workflow_id, run_id, pass, step, object, verb, field_manager, resource_version, started_at, finished_at)
      values (${RUN}, 'r1', 1, 'settle', ${`Installation.${GROUP}/team-a/shop`}, 'patch', 'pawl', 5, now(), now()),
        ('installation/team-a/other/i2/j1', 'r1', 1, 'settle', 'x/y/z', 'patch', 'pawl', 5, now(), now())`.execute(
      journal.db,
    )
    const { code, stdout, stderr } = await pawl('export', 'inst/shop', '-n', 'team-a')
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'pawl: the history is not in the file: Temporal has it no more, or nobody said where it is\n',
    })
    expect(JSON.parse(stdout)).toMatchObject({
      format: 'pawl.job/1',
      workflowId: RUN,
      jobID: 'j1',
      journal: {
        job: { workflow_id: RUN, outcome: null },
        writes: [{ workflow_id: RUN, step: 'settle' }],
        events: [{ uid: 'i1', resource_version: 3 }],
        cut: [],
      },
    })
    expect((await pawl('export', 'inst/shop', 'j9', '-n', 'team-a')).stderr).toContain(
      "Installation team-a/shop has no job 'j9' in the journal, expected one of j1",
    )
  })
})

describe('pawl journal verify', { timeout: 120_000 }, () => {
  it('finds nothing in a sound journal', async () => {
    await shop()
    await eventAt(3_600_000, { uid: 'i1', version: 5 })
    const { code, stdout } = await pawl('verify')
    expect({ code, stdout }).toMatchObject({ code: 0 })
    expect(stdout).toMatch(/^rules +ok +16 of 16 hold$/m)
    expect(stdout).toMatch(/^runs +skipped/m)
  })

  it('names what contradicts itself', async () => {
    await shop()
    await eventAt(3_600_000, { uid: 'i1', version: 6, type: 'DELETED' })
    await sql`insert into job (workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, started_at)
      values ('installation/team-a/shop/i1/j2', 'r2', 'installation', 'local', 'i1', 'j2', 'team-a', 'shop', 'test', ${ago(DAY_MS)})`.execute(
      journal.db,
    )
    await sql`insert into hosted_job (workflow_id, controller, cluster, uid, job_id, namespace, name, phase, phases, started_at)
      values ('gone', 'execution', 'local', 'e1', 'j1', 'team-a', 'shop', 'Init', '[]', ${ago(DAY_MS)})`.execute(
      journal.db,
    )
    await upsertWakes(
      journal.db,
      [
        {
          controller: 'installation',
          uid: 'i1',
          job_id: '',
          cluster: 'local',
          namespace: 'team-a',
          name: 'shop',
          seq: 1_000_000_000,
          due: ago(DAY_MS),
          foreign_event: true,
          may_start: true,
          writer: null,
          cause: 'test',
        },
      ],
      new Date(),
    )
    try {
      const { code, stdout } = await pawl('verify')
      expect(code).toBe(1)
      expect(stdout).toMatch(/^undead +bad +Installation team-a\/shop: deleted at .*, lives in version 5; expected/m)
      expect(stdout).toMatch(/^two-jobs +bad +installation team-a\/shop: 2 open jobs, j\d j\d; expected/m)
      expect(stdout).toMatch(/^hosted-jobs +bad +execution team-a\/shop, job j1: its run has no row; expected/m)
      expect(stdout).toMatch(/^wake-of-nothing +bad +installation team-a\/shop: wake by event 1000000000, /m)
    } finally {
      await journal.db.deleteFrom('hosted_job').execute()
    }
  })
})

describe('a job whose run Temporal has', { timeout: 180_000 }, () => {
  it('is exported with its history, and verified against it', async () => {
    await shop()
    await eventAt(3_600_000, { uid: 'i1', version: 5 })
    const { temporalAddress } = inject('servers')
    const at = ['--temporal-address', temporalAddress, '--temporal-namespace', 'default']
    const without = await pawl('verify', ...at)
    expect(without.code).toBe(1)
    expect(without.stdout).toMatch(
      /^runs +bad +installation team-a\/shop, job j1: open, its run is not there; expected/m,
    )
    const connection = await Connection.connect({ address: temporalAddress })
    try {
      const options = { taskQueue: 'nobody', workflowId: RUN }
      const run = await new Client({ connection }).workflow.start('installation', options)
      const exported = await pawl('export', 'inst/shop', '-n', 'team-a', ...at)
      expect(exported).toMatchObject({ code: 0, stderr: '' })
      expect(JSON.parse(exported.stdout)).toMatchObject({
        runId: run.firstExecutionRunId,
        history: { events: [{ eventId: '1', eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED' }, {}] },
      })
      expect((await pawl('verify', ...at)).stdout).toMatch(/^runs +ok +1 of 1 open jobs have a run in Temporal$/m)
      await run.terminate()
    } finally {
      await connection.close()
    }
  })
})

describe('pawl journal prune', { timeout: 120_000 }, () => {
  it('says what it would forget, and forgets that only when told to', async () => {
    await eventAt(40 * DAY_MS, { uid: 'i1', version: 3 })
    await eventAt(DAY_MS, { uid: 'i1', version: 4 })
    await sql`insert into job (workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, started_at, finished_at, outcome)
      values ('old', 'r2', 'installation', 'local', 'i1', 'j2', 'team-a', 'shop', 'test', ${ago(40 * DAY_MS)}, ${ago(39 * DAY_MS)}, 'Failed')`.execute(
      journal.db,
    )
    const told = await pawl('prune', '--keep', '7d', '-o', 'json')
    expect(JSON.parse(told.stdout)).toMatchObject({ rows: 1, ended: { job: 1, action: 0 }, done: false })
    expect(await versions()).toEqual([3, 4])
    const done = await pawl('prune', '--keep', '7d', '--yes')
    expect(done).toMatchObject({ code: 0, stdout: 'events of no day: 1 rows went\njob: 1 rows went\n' })
    expect(await versions()).toEqual([4])
    expect(await pawl('prune', '--keep', '7d')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^nothing that was over before /) as string,
    })
    expect((await pawl('prune')).stderr).toBe('pawl: found neither, expected --before or --keep\n')
    expect((await pawl('prune', '--before', 'soon')).code).toBe(2)
  })
})

async function versions(): Promise<readonly number[]> {
  const rows = await journal.db
    .selectFrom('watch_event')
    .select('resource_version')
    .orderBy('resource_version')
    .execute()
  return rows.map((row) => row.resource_version)
}

/** An Installation with an open job. */
async function shop(): Promise<void> {
  const projection = JSON.stringify({ metadata: { name: 'shop' }, status: { phase: 'Init', jobID: 'j1' } })
  await journal.db
    .insertInto('object')
    .values({
      cluster: 'local',
      api_group: GROUP,
      kind: 'Installation',
      uid: 'i1',
      namespace: 'team-a',
      name: 'shop',
      resource_version: 5,
      seq: 1,
      owner_uid: null,
      hash: null,
      deleted: false,
      presumed_deleted: false,
      projection,
      updated_at: ago(1_800_000),
    })
    .execute()
  await sql`insert into job (workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, started_at)
    values (${RUN}, 'r1', 'installation', 'local', 'i1', 'j1', 'team-a', 'shop', 'test', ${ago(3_000_000)})`.execute(
    journal.db,
  )
}

interface Told {
  readonly uid: string
  readonly version: number
  readonly type?: 'MODIFIED' | 'DELETED'
}

async function eventAt(ms: number, { uid, version, type = 'MODIFIED' }: Told): Promise<void> {
  await journal.db
    .insertInto('watch_event')
    .values({
      at: ago(ms),
      cluster: 'local',
      api_group: GROUP,
      kind: 'Installation',
      uid,
      namespace: 'team-a',
      name: 'shop',
      resource_version: version,
      type,
      source: 'watch',
      writer: null,
      outcome: 'wake',
      reason: null,
      projection: JSON.stringify({ metadata: {} }),
    })
    .execute()
}

async function pawl(...words: readonly string[]) {
  const args = [PAWL, 'journal', ...words, '--database-url', journal.url]
  return await new Promise<{ code: unknown; stdout: string; stderr: string }>((done) => {
    const nowhere = { KUBECONFIG: '/nonexistent', PAWL_DATA_DIR: '/nonexistent' }
    const env = { ...process.env, ...nowhere, PAWL_TEMPORAL_ADDRESS: '', TEMPORAL_ADDRESS: '' }
    execFile(process.execPath, args, { env }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
}
