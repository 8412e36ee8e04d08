// Tests the names of users who paused, skipped or retried: the webhook records the user of the request, and a worker
// with --webhook-vouches shows the name.

import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'

import { failingItem, installation, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { kubectlAs } from '../support/cluster/kubectl-as.ts'
import { Pawl } from '../support/pawl/pawl.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'
import { createSlowTree, subsOf } from '../support/landscaper/sub-installations.ts'
import { WebhookStage } from '../support/pawl/webhook.ts'

const NAME = 'paused-by'
const PAUSED = 'landscaper.gardener.cloud/pawl-paused'
const SKIP = 'landscaper.gardener.cloud/pawl-skip'
const RECORD = 'landscaper.gardener.cloud/pawl-steered-by'
const ALICE = 'alice@example.com'

let stage: WebhookStage
let pawl: Pawl
const alice = kubectlAs(inject('servers'), NAME, ALICE)
const mallory = kubectlAs(inject('servers'), NAME, 'mallory')

beforeAll(async () => {
  const servers = inject('servers')
  stage = await WebhookStage.open(servers, NAME)
  await stage.start('one', ['--record-policy', 'Fail'])
  const workerFlags = [...PRODUCTION_TIMEOUTS, '--webhook-vouches', 'yes']
  pawl = await Pawl.start({ name: NAME, servers, namespace: NAME, workerFlags })
  await stage.cluster.create(installation('probe', [], { triggered: false }), 'installations')
  // API servers receive a webhook configuration through a watch, with a delay.
  let tries = 0
  const isRecorded = async () => {
    await alice('annotate', '--overwrite', 'installation', 'probe', `${PAUSED}=try-${(tries += 1)}`)
    return (await stage.cluster.get('installations', 'probe'))?.metadata.annotations?.[RECORD] !== undefined
  }
  await vi.waitUntil(isRecorded, { timeout: 30_000, interval: 100 })
}, 240_000)
afterAll(async () => {
  await pawl.stop()
  await stage.close()
})

describe('an installation that a user has paused', () => {
  it('shows the user name that the API server authenticated, not a forged one, and so do its sub-installations', async () => {
    const { cluster } = stage
    const type = 'example.org/slow-below'
    const deployer = Deployer.start(cluster, type, { install: () => 'wait' })
    const { outer, inner } = await createSlowTree(cluster, type)

    const forged = JSON.stringify({ [PAUSED]: { value: 'a freeze', by: 'bob' } })
    await alice('annotate', 'installation', 'tree', `${PAUSED}=a freeze`, `${RECORD}=${forged}`)
    expect(pausedOf(await told('tree'))).toMatchObject({ by: ALICE, reason: 'a freeze' })
    expect(messageOf(await told('tree'), 'Paused')).toMatch(/^paused by alice@example\.com since .*: a freeze$/)
    for (const name of [outer, inner]) expect(pausedOf(await told(name))?.by).toBe(ALICE)

    deployer.install = () => 'done'
    await cluster.waitUntilItems(inner, ['begun'], (item) => item?.status?.phase === 'Succeeded')
    await pawl.waitForHostPass((await cluster.items(inner)).get('begun')!)
    expect((await cluster.items(inner)).get('held')?.status?.jobID).toBeUndefined()
    await mallory('annotate', 'installation', 'tree', `${PAUSED}-`)
    expect((await cluster.waitUntilFinished('tree')).status).toMatchObject({ phase: 'Succeeded' })
    const all = [await cluster.get('installations', 'tree'), ...(await subsOf(cluster, 'tree')).values()]
    for (const one of all)
      expect([one?.metadata.annotations?.[PAUSED], one?.metadata.annotations?.[RECORD]]).toEqual([undefined, undefined])
    await deployer.stop()
  })

  it('shows the user name also while no job runs', async () => {
    await stage.cluster.create(installation('idle', [{ name: 'only' }]), 'installations')
    await stage.cluster.waitUntilFinished('idle')
    await mallory('annotate', 'installation', 'idle', `${PAUSED}=why`)
    expect(pausedOf(await told('idle'))).toMatchObject({ by: 'mallory', reason: 'why' })
    expect(messageOf(await told('idle'), 'Paused')).toMatch(/^paused by mallory since .*: why$/)
  })
})

describe('an item that a user has skipped', () => {
  it('shows the user name until its spec changes; then Pawl removes both annotations', async () => {
    const { cluster } = stage
    await cluster.create(
      installation('part', [waitingItem('bad'), { name: 'next', dependsOn: ['bad'] }]),
      'installations',
    )
    const items = await cluster.waitUntilItems('part', ['bad'], (item) => item?.status?.phase === 'Progressing')
    const name = items.get('bad')?.metadata.name ?? ''
    await alice('annotate', 'deployitem', name, `${SKIP}=not here`)
    const { status, metadata } = await cluster.waitUntilFinished('part')
    expect(status).toMatchObject({ phase: 'Succeeded' })
    const skipped = await cluster.get('deployitems', name)
    expect(messageOf(skipped, 'Skipped')).toMatch(/^not deployed: skipped by alice@example\.com since .*: not here$/)

    const { spec } = installation('part', [failingItem('bad'), { name: 'next', dependsOn: ['bad'] }])
    await cluster.patch('installations', metadata.name, { spec })
    await cluster.trigger('part')
    expect((await cluster.waitUntilFinished('part', status?.jobID)).status).toMatchObject({ phase: 'Failed' })
    const anew = (await cluster.get('deployitems', name))?.metadata.annotations
    expect([anew?.[SKIP], anew?.[RECORD]]).toEqual([undefined, undefined])
  })
})

describe('an item that a user has retried', () => {
  it('shows the user name until its next job', async () => {
    const { cluster } = stage
    await cluster.create(installation('anew', [{ name: 'one' }]), 'installations')
    const first = await cluster.waitUntilFinished('anew')
    const before = (await cluster.items('anew')).get('one')
    const name = before?.metadata.name ?? ''
    await alice('annotate', 'deployitem', name, 'landscaper.gardener.cloud/operation=retry')
    const items = await cluster.waitUntilItems('anew', ['one'], (one) => {
      const { jobID, jobIDFinished } = one?.status ?? {}
      return jobID !== first.status?.jobID && jobID === jobIDFinished
    })
    const retried = items.get('one')
    expect(retried?.status?.phase).toBe('Succeeded')
    expect(messageOf(retried, 'Retried')).toMatch(/^a separate job, requested by alice@example\.com since /)
    expect(retried?.metadata.annotations?.[RECORD]).toBeUndefined()

    await cluster.trigger('anew')
    await cluster.waitUntilFinished('anew', first.status?.jobID)
    expect(messageOf(await cluster.get('deployitems', name), 'Retried')).toBeUndefined()
  })
})

async function told(name: string): Promise<LsObject> {
  return await stage.cluster.waitUntil('installations', name, (one) => pausedOf(one) !== undefined)
}

function pausedOf(object: LsObject | undefined) {
  return (object?.status as { readonly paused?: { readonly by: string; readonly reason: string } } | undefined)?.paused
}

function messageOf(object: LsObject | undefined, wanted: string): string | undefined {
  const conditions = (object?.status?.['conditions'] ?? []) as readonly { type: string; message: string }[]
  return conditions.find(({ type }) => type === wanted)?.message
}
