// Workers whose clocks are 20 minutes fast and 20 minutes slow, and a bridge whose clock is fast.

import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { CHAIN, installation, waitingItem } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const MINUTES = 60_000
const stage = useStage('clocks', () =>
  Promise.resolve({ clocksMs: { worker: 20 * MINUTES, behind: -20 * MINUTES, bridge: 20 * MINUTES } }),
)
beforeAll(async () => {
  await stage.pawl.startWorker('behind')
})

/**
 * The timestamps of the journal that differ from the database's clock by more than ten minutes: the clocks are wrong by
 * twice as much, and no test takes that long.
 */
async function wrongTimes(): Promise<readonly unknown[]> {
  const { rows } = await sql`
    with seen as (
      select 'event' as what, at from watch_event union all select 'job', started_at from job
      union all select 'end', finished_at from job union all select 'write', started_at from action)
    select what, at from seen where abs(extract(epoch from clock_timestamp() - at)) > 600`.execute(stage.pawl.db)
  return rows
}

describe('workers with wrong clocks', () => {
  it('run each job once, and record times of the database', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `shop-${index}`)
    await Promise.all(names.map((name) => stage.cluster.create(installation(name, CHAIN), 'installations')))
    for (const name of names) {
      const root = await stage.cluster.waitUntilFinished(name)
      expect(root.status?.phase).toBe('Succeeded')
      await stage.pawl.waitUntilSettled(root)
      expect(await stage.pawl.jobs(root)).toMatchObject([{ outcome: 'Succeeded' }])
    }
    const odd = stage.pawl.db.selectFrom('job').select('name').where('attempt', '>', 0)
    expect(await odd.execute()).toEqual([])
    expect(await wrongTimes()).toEqual([])
  })

  it('let no time-out of an item pass early, also when one worker takes over from the other', async () => {
    // Time-outs of items are 10 minutes.
    await stage.cluster.create(installation('slow', [waitingItem('slow')]), 'installations')
    const found = await stage.cluster.waitUntilItems('slow', ['slow'], (it) => it?.status?.phase === 'Progressing')
    await stage.pawl.kill('worker')
    await stage.cluster.create(installation('other', CHAIN), 'installations')
    expect((await stage.cluster.waitUntilFinished('other')).status?.phase).toBe('Succeeded')
    await stage.pawl.startWorker('worker')
    await stage.pawl.kill('behind')
    await stage.cluster.finishItem(found.get('slow')!, 'Succeeded')
    const root = await stage.cluster.waitUntilFinished('slow')
    expect(root.status?.phase).toBe('Succeeded')
    expect(await wrongTimes()).toEqual([])
  })
})
