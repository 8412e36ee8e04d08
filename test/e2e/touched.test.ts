// Every object of a tree is modified ten times per second while its job runs. The job ends, without more passes for irrelevant changes, and with at most one
// pass for each relevant change. Source: docs/adr/0024.

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type Item, installation, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('touched')

const EVERY_MS = 100
/** For each object, before the item that the job waits for ends. */
const TOUCHES = 25
const ITEMS: readonly Item[] = [waitingItem('slow'), { name: 'after', dependsOn: ['slow'] }, { name: 'beside' }]

type Touch = (count: number) => Readonly<Record<string, object>>

/** Modifies all objects of a tree until it is stopped. */
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
          // The Execution is created later.
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

/** Runs a job whose item waits for enough changes. @returns the number of passes. */
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
  // The changes continue until the end of the job.
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

/** Passes after a conflict with a change, or by the resync; far fewer than the changes. */
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
    // The test is about woken runs.
    const woken = TOUCHES / 5 + 1
    const switching: Touch = (count) => ({
      annotations: { 'landscaper.gardener.cloud/reconcile-if-changed': count % 2 === 0 ? 'true' : null },
    })
    const { passes, touches } = await run('woken', switching, woken)
    expect(passes).toBeLessThanOrEqual(touches + BY_THE_WAY)
  })
})
