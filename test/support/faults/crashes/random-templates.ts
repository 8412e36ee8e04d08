// Crash cases of a job whose templates render another result each time. After the first item has started, the job must
// keep one rendering: the next worker deploys the items in the Execution. Source: docs/adr/0023 "Rendered once".

import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import type { WritePoint } from '../http-proxy.ts'
import { blueprintOf, installation, item, type LsObject, waitingItem } from '../../cluster/cluster.ts'
import { type CrashCase, withCrash } from '../crash.ts'
import { waitUntilJournalIdle, type Lane, RESTART_MS } from '../lane.ts'

const PLACES: readonly { readonly name: string; readonly what: string; readonly at: WritePoint }[] = [
  { name: 'begun', what: 'its first item has begun', at: { label: 'PATCH deployitems/status', nth: 1 } },
  { name: 'waits', what: 'its status shows that it waits', at: { label: 'PATCH installations/status', nth: 2 } },
  { name: 'created', what: 'its items are created and none has begun', at: { label: 'POST deployitems', nth: 2 } },
]

export const RANDOM_CASES = PLACES.map(({ name, what, at }): CrashCase => ({
  title: `in a job with random templates leaves one rendering: after ${what}`,
  async run(lane) {
    const root = `random-${name}`
    let before: readonly unknown[] = []
    const act = async () => {
      await lane.cluster.create(random(root), 'installations')
      return await finish(lane, root)
    }
    const finished = await withCrash(lane, { part: 'worker', when: 'after', at }, act, {
      whileDead: async () => {
        before = await renderedObjects(lane, root)
      },
    })
    expect(finished.status).toMatchObject({ phase: 'Succeeded' })
    const rendered = await itemsInExecution(lane, root)
    const items = await lane.cluster.items(root)
    expect(rendered).toHaveLength(2)
    expect(rendered.map((one) => items.get(one.name)?.spec?.['config'])).toEqual(rendered.map(({ config }) => config))
    if (name === 'created') return

    expect(before).toHaveLength(3)
    expect(await renderedObjects(lane, root)).toEqual(before)
    const { text } = items.get('quick')?.status?.['providerStatus'] as { text: string }
    expect(JSON.stringify(rendered)).toContain(text)
    // The next job renders again.
    await lane.cluster.trigger(root)
    await finish(lane, root, finished.status?.jobID)
    // A retried workflow task renders again if no item has started. So the generation may be higher than 2.
    for (const { generation } of await renderedObjects(lane, root)) expect(generation).toBeGreaterThanOrEqual(2)
  },
}))

/** An Installation with two items, one of which waits. Each rendering changes a text in both items. */
function random(name: string) {
  const text = '{{ randAlphaNum 8 }}'
  const providerStatus = { apiVersion: 'v1', kind: 'Random', text }
  const items = [{ name: 'quick', config: { export: { text } } }, waitingItem('slow')]
  const template = JSON.stringify({
    deployItems: items.map((one) => item({ ...one, config: { ...one.config, providerStatus } })),
  })
  const deployExecutions = [{ name: 'default', type: 'GoTemplate', template }]
  const blueprint = { ...blueprintOf([]), deployExecutions }
  const inline = { filesystem: { 'blueprint.yaml': JSON.stringify(blueprint) } }
  return { ...installation(name, []), spec: { blueprint: { inline } } }
}

/** The Execution and the items, without status. */
async function renderedObjects({ cluster }: Lane, name: string) {
  const withoutStatus = ({ metadata: { uid, generation }, spec }: LsObject) => ({ uid, generation, spec })
  const items = [...(await cluster.items(name)).values()]
  const execution = await cluster.get('executions', name)
  return [execution!, ...items].map(withoutStatus)
}

async function itemsInExecution({ cluster }: Lane, name: string) {
  const compressed = (await cluster.get('executions', name))?.spec?.['deployItemsCompressed'] as string
  const text = gunzipSync(Buffer.from(compressed, 'base64')).toString()
  return JSON.parse(text) as readonly { readonly name: string; readonly config: object }[]
}

/** Waits until the Installation and the item `slow` are Progressing, finishes the item, and waits for the job's end. */
async function finish(lane: Lane, name: string, previousJobID?: string): Promise<LsObject> {
  const { cluster } = lane
  const isWaiting = (one?: LsObject) =>
    one?.status?.phase === 'Progressing' && one.status.jobID !== undefined && one.status.jobID !== previousJobID
  await cluster.waitUntil('installations', name, isWaiting, RESTART_MS)
  const items = await cluster.waitUntilItems(name, ['slow'], isWaiting, RESTART_MS)
  await cluster.finishItem(items.get('slow')!, 'Succeeded')
  const root = await cluster.waitUntilFinished(name, previousJobID, 'installations', RESTART_MS)
  await waitUntilJournalIdle(lane)
  return root
}
