// The webhook records the user who sets a steering annotation: the records that a client can forge, and the writes that
// fail while the webhook is down.

import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'

import { API, FINALIZER, type LsObject } from '../support/cluster/cluster.ts'
import { kubectlAs } from '../support/cluster/kubectl-as.ts'
import { deniedTo } from '../support/rights/rights-audit.ts'
import { WebhookStage } from '../support/pawl/webhook.ts'
import { recordedName } from '../../workflows/landscaper/steered-by.ts'

const NAME = 'webhook-records'
const PAUSED = 'landscaper.gardener.cloud/pawl-paused'
const SKIP = 'landscaper.gardener.cloud/pawl-skip'
const OPERATION = 'landscaper.gardener.cloud/operation'
const RECORD = 'landscaper.gardener.cloud/pawl-steered-by'
const ALICE = 'alice@example.com'
const FORGED = JSON.stringify({ [PAUSED]: { value: 'a freeze', by: ALICE } })
const MOCK = {
  type: 'landscaper.gardener.cloud/mock',
  config: { apiVersion: 'mock.deployer.landscaper.gardener.cloud/v1alpha1', kind: 'ProviderConfiguration' },
}

let stage: WebhookStage
const alice = kubectlAs(inject('servers'), NAME, ALICE)
const mallory = kubectlAs(inject('servers'), NAME, 'mallory')

beforeAll(async () => {
  stage = await WebhookStage.open(inject('servers'), NAME)
  await start('--record-policy', 'Fail')
  await make('probe')
  // An API server learns of a changed webhook configuration through its watch, so the first writes may have no record.
  const recorded = async (annotation: string, value: string) => {
    await alice('annotate', '--overwrite', 'execution', 'probe', `${annotation}=${value}`)
    return (await record('probe')) !== undefined
  }
  let tries = 0
  await vi.waitUntil(() => recorded(PAUSED, `try-${(tries += 1)}`), { timeout: 30_000, interval: 100 })
}, 240_000)
afterAll(() => stage.close())

describe('the record of a pause', () => {
  it('names the user who set the pause, and other users cannot change it', async () => {
    await make('paused')
    await alice('annotate', 'execution', 'paused', `${PAUSED}=a freeze`)
    const ofAlice = await record('paused')
    expect(await who('paused')).toBe(ALICE)
    await mallory('annotate', '--overwrite', 'execution', 'paused', `${RECORD}=${FORGED.replace(ALICE, 'bob')}`)
    expect(await record('paused')).toBe(ofAlice)
    await mallory('annotate', 'execution', 'paused', `${RECORD}-`)
    expect(await record('paused')).toBe(ofAlice)
    await mallory('label', 'execution', 'paused', 'other=x')
    expect(await record('paused')).toBe(ofAlice)

    await mallory('annotate', '--overwrite', 'execution', 'paused', `${PAUSED}=another`, `${RECORD}=${FORGED}`)
    expect(await who('paused')).toBe('mallory')
    await mallory('annotate', 'execution', 'paused', `${PAUSED}-`)
    expect(await record('paused')).toBeUndefined()
    await mallory('annotate', 'execution', 'paused', `${RECORD}=${FORGED}`)
    expect(await record('paused')).toBeUndefined()
    await mallory('annotate', 'execution', 'paused', `${PAUSED}=a freeze`, `${RECORD}=${FORGED}`)
    expect(await who('paused')).toBe('mallory')
  })

  it('names the user also when the object is created, replaced, applied, labelled or being deleted', async () => {
    const metadata = {
      name: 'made',
      annotations: { [PAUSED]: 'a freeze', [RECORD]: FORGED },
      labels: { 'validation.landscaper.gardener.cloud/skip-validation': 'true' },
      finalizers: [FINALIZER],
    }
    await stage.cluster.create({ ...execution('made'), metadata }, 'executions')
    expect(await who('made')).toBe('admin')
    const put = (annotations: object) =>
      JSON.stringify({ metadata: { annotations: { [PAUSED]: null, [RECORD]: null, ...annotations } } })
    await mallory('patch', 'execution', 'made', '--type=merge', '-p', put({ [PAUSED]: 'mine', [RECORD]: FORGED }))
    expect(await who('made')).toBe('mallory')
    await stage.cluster.delete('executions', 'made')
    await alice('patch', 'execution', 'made', '--type=merge', '-p', put({ [PAUSED]: 'a freeze' }))
    expect(await who('made')).toBe(ALICE)
    await mallory('patch', 'execution', 'made', '--type=merge', '-p', put({ [PAUSED]: 'a freeze' }))
    expect(await who('made')).toBe(ALICE)
    await stage.cluster.patch('executions', 'made', { metadata: { finalizers: null } })
    await stage.cluster.waitUntilGone('made', 'executions')
  })

  it('is returned by a dry run, but not stored', async () => {
    await make('dry')
    const text = await alice('annotate', '--dry-run=server', '-o', 'json', 'execution', 'dry', `${PAUSED}=true`)
    expect(recordedName(JSON.parse(text) as object, PAUSED)).toBe(ALICE)
    expect(await record('dry')).toBeUndefined()
  })
})

describe('an item that is skipped or retried', () => {
  it('has a record of the user for each of the two annotations', async () => {
    const metadata = { name: 'item', finalizers: [FINALIZER] }
    await stage.cluster.create({ apiVersion: API, kind: 'DeployItem', metadata, spec: MOCK }, 'deployitems')
    await alice('annotate', 'deployitem', 'item', `${SKIP}=not here`)
    await mallory('annotate', 'deployitem', 'item', `${OPERATION}=retry`)
    const of = async (annotation: string) =>
      recordedName((await stage.cluster.get('deployitems', 'item')) ?? {}, annotation)
    expect([await of(SKIP), await of(OPERATION)]).toEqual([ALICE, 'mallory'])
    await alice('annotate', 'deployitem', 'item', `${OPERATION}-`)
    expect([await of(SKIP), await of(OPERATION)]).toEqual([ALICE, undefined])
  })
})

describe('while no webhook answers', () => {
  it('with the policy Fail, pauses and records cannot be changed; other writes and deletions pass', async () => {
    const metadata = { name: 'held', finalizers: [FINALIZER], annotations: { [PAUSED]: 'a freeze' } }
    await stage.cluster.create({ ...execution('held'), metadata }, 'executions')
    await stage.stop('one', 'SIGKILL')
    await expect(mallory('annotate', '--overwrite', 'execution', 'held', `${RECORD}=${FORGED}`)).rejects.toThrow(
      'failed calling webhook',
    )
    await expect(mallory('annotate', '--overwrite', 'execution', 'held', `${PAUSED}=x`)).rejects.toThrow(
      'failed calling webhook',
    )
    await mallory('annotate', 'execution', 'held', `${OPERATION}=interrupt`)
    await mallory('label', 'execution', 'held', 'a=b')
    await stage.cluster.patch('executions', 'held', { status: { phase: 'Failed' } }, 'status')
    await mallory('annotate', 'execution', 'held', `${PAUSED}-`)
    await stage.cluster.delete('executions', 'held')
    await stage.cluster.patch('executions', 'held', { metadata: { finalizers: null } })
    await stage.cluster.waitUntilGone('held', 'executions')
    await start('--record-policy', 'Fail')
  }, 200_000)

  it('with the policy Ignore, writes pass, also those with forged records', async () => {
    await make('believed')
    await start('--record-policy', 'Ignore')
    await expect.poll(policies, { timeout: 30_000 }).toEqual(['Ignore'])
    await stage.stop('one', 'SIGKILL')
    const forge = ['annotate', '--overwrite', 'execution', 'believed', `${PAUSED}=a freeze`, `${RECORD}=${FORGED}`]
    await expect.poll(() => mallory(...forge).then(() => 'passed', String), { timeout: 30_000 }).toBe('passed')
    expect(await who('believed')).toBe(ALICE)
    await start('--record-policy', 'Fail')
  }, 200_000)
})

describe('the webhook that records', () => {
  it('needs no right that its roles do not have', async () => {
    expect(await deniedTo(inject('servers').auditLogPath, `system:serviceaccount:${stage.home.namespace}`)).toEqual([])
  })
})

async function start(...flags: readonly string[]): Promise<void> {
  await stage.start('one', ['--failure-policy', 'Ignore', ...flags])
}

async function policies(): Promise<readonly string[]> {
  const { webhooks } = await stage.cluster.kube.request<{ webhooks: { failurePolicy: string }[] }>(
    'GET',
    stage.mutationPath,
  )
  return [...new Set(webhooks.map(({ failurePolicy }) => failurePolicy))]
}

function execution(name: string) {
  return { apiVersion: API, kind: 'Execution', metadata: { name }, spec: { deployItems: [] } }
}

async function make(name: string): Promise<LsObject> {
  return await stage.cluster.create(execution(name), 'executions')
}

async function record(name: string): Promise<string | undefined> {
  return (await stage.cluster.get('executions', name))?.metadata.annotations?.[RECORD]
}

async function who(name: string): Promise<string | undefined> {
  return recordedName((await stage.cluster.get('executions', name)) ?? {}, PAUSED)
}
