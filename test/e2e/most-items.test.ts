// An Installation of very many items: the job that deploys it and the one that takes it away come to their end with the writes that the items need, in
// calls that are short, and what its own writes bring about wakes nobody thousands of times. Jobs on what is there already are not tried with so many:
// their writes are in test/e2e/budgets.test.ts. `npm run test:long` has as many items as there may be. Source: design budgets, activities/run/at-work.ts A6.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import { MOST_ITEMS } from '../../activities/landscaper/item-rules.ts'
import { installation, item, type LsObject } from '../support/cluster/cluster.ts'
import { closeLane, type Lane, openLane } from '../support/faults/lane.ts'
import { isLong } from '../support/matrix/form.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'

const ITEMS = isLong ? MOST_ITEMS : 800
const LIMIT_MS = isLong ? 3_600_000 : 600_000
/** Some come before the run is known to be at work, and after. One for each item would be thousands. */
const MOST_SIGNALS = 50

let lane: Lane
beforeAll(async () => {
  lane = await openLane('most', inject('servers'), { workerFlags: PRODUCTION_TIMEOUTS })
}, LIMIT_MS)
afterAll(() => closeLane(lane))

/** Written out they would not fit into one object. */
function manyItems(name: string) {
  const one = JSON.stringify(item({ name: 'item-{{ $position }}' }))
  const template = `deployItems:\n{{ range $position := until ${ITEMS} }}- ${one}\n{{ end }}`
  return installation(name, [], { blueprint: { deployExecutions: [{ name: 'all', type: 'GoTemplate', template }] } })
}

/** How many writes of objects have been answered well since the last call. */
function newWrites(): number {
  const all = lane.proxy.writes.splice(0)
  return all.filter(({ status, label }) => status < 300 && !label.endsWith(' events')).length
}

/** How often each run of the object was signalled. */
async function signalsOf({ metadata: { uid = '' } }: LsObject): Promise<readonly number[]> {
  const { db, client } = lane.pawl
  const jobs = await db.selectFrom('job').select('workflow_id').where('uid', '=', uid).orderBy('started_at').execute()
  const histories = jobs.map(async ({ workflow_id }) => await client.workflow.getHandle(workflow_id).fetchHistory())
  return (await Promise.all(histories)).map(
    ({ events = [] }) =>
      (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes != null).length,
  )
}

describe('an installation of very many items', () => {
  it(
    'is deployed, and taken away, by few signals and no more writes than its items need',
    async () => {
      const { cluster, proxy } = lane
      proxy.arm()
      await cluster.create(manyItems('most'), 'installations')
      const root = await cluster.waitUntilFinished('most', undefined, 'installations', LIMIT_MS)
      expect(root.status).toMatchObject({ phase: 'Succeeded' })
      expect(await cluster.list('deployitems')).toHaveLength(ITEMS)
      expect(newWrites()).toBe(2 * ITEMS + 5)

      await cluster.delete('installations', 'most')
      await cluster.waitUntilGone('most', 'installations', LIMIT_MS)
      expect(await cluster.list('deployitems')).toEqual([])
      expect(newWrites()).toBe(2 * ITEMS + 4)

      const signals = await signalsOf(root)
      expect(signals).toHaveLength(2)
      for (const count of signals) expect(count).toBeLessThan(MOST_SIGNALS)
    },
    LIMIT_MS,
  )
})
