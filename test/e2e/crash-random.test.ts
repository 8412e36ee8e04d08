// The templates of an Installation are random, and its worker is killed. A job has one rendering from the first item on that has begun: whoever goes
// on with it deploys what stands in the Execution. Source: docs/adr/0023 "Rendered once".

import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { WritePoint } from '../support/api-proxy.ts'
import { blueprintOf, installation, item, type LsObject, waiting } from '../support/cluster.ts'
import { atRest, closeLane, type Lane, openLane, RESTART_MS } from '../support/crash.ts'

const servers = inject('servers')
// On a busy machine a process takes many seconds to start.
const LIMIT_MS = 240_000

let lane: Lane
beforeAll(async () => {
  lane = await openLane('random', servers)
}, LIMIT_MS)
afterAll(() => closeLane(lane))

/** Two items, one of which waits; each rendering gives them another text. */
function random(name: string) {
  const text = '{{ randAlphaNum 8 }}'
  const providerStatus = { apiVersion: 'v1', kind: 'Random', text }
  const items = [{ name: 'quick', config: { export: { text } } }, waiting('slow')]
  const template = JSON.stringify({
    deployItems: items.map((one) => item({ ...one, config: { ...one.config, providerStatus } })),
  })
  const deployExecutions = [{ name: 'default', type: 'GoTemplate', template }]
  const blueprint = { ...blueprintOf([]), deployExecutions }
  const inline = { filesystem: { 'blueprint.yaml': JSON.stringify(blueprint) } }
  return { ...installation(name, []), spec: { blueprint: { inline } } }
}

/** What was rendered: of the items, and of the Execution. */
async function rendered(name: string) {
  const shown = ({ metadata: { uid, generation }, spec }: LsObject) => ({ uid, generation, spec })
  const items = [...(await lane.cluster.items(name)).values()]
  const execution = await lane.cluster.get('executions', name)
  return [execution!, ...items].map(shown)
}

/** The items as the Execution has them. */
async function wantedItems(name: string) {
  const compressed = (await lane.cluster.get('executions', name))?.spec?.['deployItemsCompressed'] as string
  const text = gunzipSync(Buffer.from(compressed, 'base64')).toString()
  return JSON.parse(text) as readonly { readonly name: string; readonly config: object }[]
}

/** Kills the worker at this write, and starts another one. @returns what was rendered by then. */
async function killedAt(at: WritePoint, begin: () => Promise<unknown>, name: string) {
  const { proxy, pawl } = lane
  const killed = new Promise<void>((resolve) =>
    proxy.arm({
      ...{ at, when: 'after' },
      async act() {
        await pawl.kill('worker')
        resolve()
        return 'cut'
      },
    }),
  )
  await begin()
  await killed
  const before = await rendered(name)
  await pawl.startWorker()
  return before
}

const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing' && one.status.jobID !== undefined

/** Ends the item that waits, when the host says that it waits for it. */
async function end(name: string, after?: string): Promise<LsObject> {
  const { cluster } = lane
  const isNext = (one?: LsObject) => isWaiting(one) && one?.status?.jobID !== after
  await cluster.until('installations', name, isNext, RESTART_MS)
  const items = await cluster.untilItems(name, ['slow'], isNext, RESTART_MS)
  await cluster.finishItem(items.get('slow')!, 'Succeeded')
  const root = await cluster.finished(name, after, 'installations', RESTART_MS)
  await atRest(lane)
  return root
}

describe('a job with random templates whose worker is killed', () => {
  it.each([
    { title: 'when its first item has begun', name: 'begun', at: { label: 'PATCH deployitems/status', nth: 1 } },
    { title: 'when it says that it waits', name: 'waits', at: { label: 'PATCH installations/status', nth: 2 } },
  ])(
    'deploys what was rendered before: $title',
    async ({ name, at }) => {
      const before = await killedAt(at, () => lane.cluster.create(random(name), 'installations'), name)
      expect(before).toHaveLength(3)
      const root = await end(name)
      expect(root.status).toMatchObject({ phase: 'Succeeded' })
      expect(await rendered(name)).toEqual(before)
      const { text } = (await lane.cluster.items(name)).get('quick')?.status?.['providerStatus'] as { text: string }
      expect((await wantedItems(name)).map(({ config }) => JSON.stringify(config)).join()).toContain(text)
      // The next job renders anew.
      await lane.cluster.trigger(name)
      await end(name, root.status?.jobID)
      // A task that is lost before an item has begun renders once more.
      for (const { generation } of await rendered(name)) expect(generation).toBeGreaterThanOrEqual(2)
    },
    LIMIT_MS,
  )

  it(
    'has one rendering also when none of its items had begun',
    async () => {
      const at = { label: 'POST deployitems', nth: 2 }
      await killedAt(at, () => lane.cluster.create(random('made'), 'installations'), 'made')
      expect((await end('made')).status).toMatchObject({ phase: 'Succeeded' })
      const wanted = await wantedItems('made')
      expect(wanted).toHaveLength(2)
      const items = await lane.cluster.items('made')
      expect(wanted.map(({ name }) => items.get(name)?.spec?.['config'])).toEqual(wanted.map(({ config }) => config))
    },
    LIMIT_MS,
  )
})
