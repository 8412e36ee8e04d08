// Somebody touches every object of a tree ten times a second, for as long as its job runs. The job ends all the same, and looks no more often than it
// would have: what nobody decides on is no news. What somebody decides on is looked at once for each touch at most. Source: docs/adr/0024.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type Item, installation, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('touched')

const EVERY_MS = 100
/** Of each object, before the item that the job waits for is ended. */
const TOUCHES = 25
const ITEMS: readonly Item[] = [waitingItem('slow'), { name: 'after', dependsOn: ['slow'] }, { name: 'beside' }]

type Touch = (count: number) => Readonly<Record<string, object>>

/** Touches all objects of a tree, again and again, until it is told to stop. */
class Hand {
  touches = 0
  readonly #name: string
  readonly #touch: Touch
  #stopped = false
  readonly #loop: Promise<void>

  constructor(name: string, touch: Touch) {
    this.#name = name
    this.#touch = touch
    this.#loop = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#loop
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const items = await stage.cluster.items(this.#name)
      const metadata = this.#touch(this.touches)
      const of = (plural: string, name: string) =>
        stage.cluster.patch(plural, name, { metadata }).catch((error: unknown) => {
          // The Execution is not there from the beginning.
          if (this.touches > 0) throw error
        })
      await Promise.all([
        of('installations', this.#name),
        of('executions', this.#name),
        ...[...items.values()].map((item) => of('deployitems', item.metadata.name)),
        sleep(EVERY_MS),
      ])
      if (items.size === ITEMS.length) this.touches++
    }
  }
}

/** Runs a job whose item waits until the hand has touched enough. @returns how often its run has looked. */
async function run(name: string, touch?: Touch, leastPasses = 0) {
  const { cluster } = stage
  await cluster.create(installation(name, ITEMS), 'installations')
  const hand = touch && new Hand(name, touch)
  const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing'
  await cluster.waitUntilItems(name, ['slow'], isWaiting)
  await cluster.waitUntil('installations', name, isWaiting)
  if (hand !== undefined) await expect.poll(() => hand.touches, { timeout: 60_000 }).toBeGreaterThanOrEqual(TOUCHES)
  await expect.poll(() => passesOf(name), { timeout: 60_000 }).toBeGreaterThanOrEqual(leastPasses)
  await cluster.finishItem((await cluster.items(name)).get('slow')!, 'Succeeded')
  // The hand goes on until the job is over.
  const root = await cluster.waitUntilFinished(name)
  await hand?.stop()
  expect(root.status).toMatchObject({ phase: 'Succeeded' })
  expect(await cluster.phases(name)).toEqual({ slow: 'Succeeded', after: 'Succeeded', beside: 'Succeeded' })
  return { passes: await passesOf(name), touches: hand?.touches ?? 0 }
}

async function passesOf(name: string): Promise<number> {
  const rows = await stage.pawl.db.selectFrom('job').select('passes').where('name', '=', name).execute()
  return rows.reduce((sum, { passes }) => sum + passes, 0)
}

/** Looks after a write that met a touch, or that a sweep asks for. Far fewer than there are touches. */
const BY_THE_WAY = 6

describe('a job whose objects are modified ten times per second', () => {
  it('makes no more passes than an undisturbed one if the changes are irrelevant', async () => {
    const peace = await run('peace')
    const touched = await run('touched', (count) => ({
      labels: { 'example.org/touched': `${count}` },
      annotations: { 'example.org/touched': `${count}` },
    }))
    expect(touched.touches).toBeGreaterThanOrEqual(TOUCHES)
    expect(touched.passes).toBeLessThanOrEqual(peace.passes + BY_THE_WAY)
  })

  it('makes at most one pass for each relevant change', async () => {
    // The test is about runs that are woken.
    const woken = TOUCHES / 5 + 1
    const switching: Touch = (count) => ({
      annotations: { 'landscaper.gardener.cloud/reconcile-if-changed': count % 2 === 0 ? 'true' : null },
    })
    const { passes, touches } = await run('woken', switching, woken)
    expect(passes).toBeLessThanOrEqual(touches + BY_THE_WAY)
  })
})
