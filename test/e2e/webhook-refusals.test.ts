// Tests writes of Pawl that the webhook rejects, or that fail because no webhook answers: the object reports the
// reason, and its job continues when the cause is fixed. Real servers call the real webhook.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { installation, type LsObject } from '../support/cluster/cluster.ts'
import { Pawl } from '../support/pawl/pawl.ts'
import { PRODUCTION_TIMEOUTS } from '../support/pawl/stage.ts'
import { WebhookStage } from '../support/pawl/webhook.ts'

const NAME = 'webhook-refusals'
const SKIP = 'validation.landscaper.gardener.cloud/skip-validation'
/** While no webhook answers, an API server retries each call until this timeout. */
const QUICK = ['--timeout', '2s']
const CRON = { succeededReconcile: { cronSpec: 'soon' } }

let stage: WebhookStage
let pawl: Pawl

beforeAll(async () => {
  const servers = inject('servers')
  stage = await WebhookStage.open(servers, NAME)
  await stage.start('one', QUICK)
  pawl = await Pawl.start({ name: NAME, servers, namespace: NAME, workerFlags: PRODUCTION_TIMEOUTS })
}, 240_000)
afterAll(async () => {
  await pawl.stop()
  await stage.close()
})

describe('an Installation whose context Pawl cannot write', () => {
  it('reports the field that the webhook rejects, and continues when a user fixes the field', async () => {
    await untriggered('mistaken', { automaticReconcile: CRON })
    await stage.cluster.trigger('mistaken')
    const told = await untilTold('mistaken', 'Invalid')
    expect(told.status).toMatchObject({ phase: 'Init', lastError: { operation: 'Begin' } })
    expect(told.status?.lastError?.message).toContain('spec.automaticReconcile.succeededReconcile.cronSpec')
    expect(told.spec).not.toHaveProperty('context')
    await expect.poll(() => warningsOf('mistaken', 'Invalid')).toMatchObject([{ type: 'Warning' }])

    await stage.cluster.patch('installations', 'mistaken', { spec: { automaticReconcile: null } })
    await succeeded('mistaken')
  })

  it('reports that no webhook answers, and continues the same job when a webhook answers again', async () => {
    await untriggered('waiting')
    await stage.stop('one', 'SIGKILL')
    await stage.cluster.trigger('waiting')
    const told = await untilTold('waiting', 'WebhookUnavailable')
    expect(told.status?.lastError?.message).toContain('failed calling webhook')
    expect(told.status?.lastError?.codes).toEqual(['ERR_WEBHOOK'])
    const { jobID } = told.status ?? {}

    await stage.start('one', QUICK)
    expect(await succeeded('waiting')).toMatchObject({ status: { jobID, jobIDFinished: jobID } })
  })
})

describe('an Installation whose items depend on each other in a cycle', () => {
  it('runs the items outside of the cycle and reports the cycle, as without a webhook', async () => {
    const items = [{ name: 'a' }, { name: 'b', dependsOn: ['c'] }, { name: 'c', dependsOn: ['b'] }]
    await stage.cluster.create(installation('ring', items), 'installations')
    const { status } = await stage.cluster.waitUntilFinished('ring')
    expect(status).toMatchObject({ phase: 'Failed', lastError: { codes: ['ERR_CYCLIC_DEPENDENCIES'] } })
    expect(status?.lastError?.message).toContain('b -> c -> b')
    expect(await stage.cluster.phases('ring')).toMatchObject({ a: 'Succeeded' })
  })
})

/** Creates an untriggered Installation without a context, past the webhook, as if it were older than the webhook. */
async function untriggered(name: string, more: object = {}): Promise<void> {
  const { metadata, spec, ...object } = installation(name, [{ name: 'a' }], { triggered: false }) as LsObject & {
    apiVersion: string
  }
  const labels = { ...metadata.labels, [SKIP]: 'true' }
  await stage.cluster.create(
    { ...object, metadata: { ...metadata, labels }, spec: { ...spec, ...more } },
    'installations',
  )
  await stage.cluster.patch('installations', name, { metadata: { labels: { [SKIP]: null } } })
}

async function untilTold(name: string, reason: string): Promise<LsObject> {
  return await stage.cluster.waitUntil('installations', name, (one) => one?.status?.lastError?.reason === reason)
}

async function succeeded(name: string): Promise<LsObject> {
  const ended = await stage.cluster.waitUntilFinished(name)
  expect(ended.status).toMatchObject({ phase: 'Succeeded' })
  expect(ended.status).not.toHaveProperty('lastError')
  return ended
}

async function warningsOf(name: string, reason: string): Promise<readonly object[]> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'events' }, NAME)
  const query = { fieldSelector: `involvedObject.name=${name},reason=${reason}` }
  const { items } = await stage.cluster.kube.request<ObjectList>('GET', path, { query })
  return items
}
