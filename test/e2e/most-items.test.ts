// An Installation with very many items: the jobs that deploy and delete it finish with one set of writes per item, in short calls, and its own writes do not
// wake it thousands of times. test/e2e/budgets.test.ts counts the writes of jobs on existing items. `npm run test:long` has the maximum number of items.
// Source: design budgets, activities/run/in-flight-runs.ts A6.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import { MOST_ITEMS } from '../../activities/landscaper/item-rules.ts'
import { installation, item, type LsObject } from '../support/cluster/cluster.ts'
import { closeLane, type Lane, openLane } from '../support/faults/lane.ts'
import { isLong } from '../support/matrix/form.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'

const ITEMS = isLong ? MOST_ITEMS : 150
const LIMIT_MS = isLong ? 3_600_000 : 600_000
/** Some signals arrive before the run is known to be in flight, or after. One signal per item would be thousands. */
const MOST_SIGNALS = 50

let lane: Lane
beforeAll(async () => {
  lane = await openLane('most', inject('servers'), { workerFlags: PRODUCTION_TIMEOUTS })
}, LIMIT_MS)
afterAll(() => closeLane(lane))

/** Without a loop the items would not fit into one object. */
function manyItems(name: string) {
  const one = JSON.stringify(item({ name: 'item-{{ $position }}' }))
  const template = `deployItems:\n{{ range $position := until ${ITEMS} }}- ${one}\n{{ end }}`
  return installation(name, [], { blueprint: { deployExecutions: [{ name: 'all', type: 'GoTemplate', template }] } })
}

/** The number of successful writes since the last call. */
function newWrites(): number {
  const all = lane.proxy.writes.splice(0)
  return all.filter(({ status, label }) => status < 300 && !label.endsWith(' events')).length
}

/** The number of signals of each run of the object. */
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
