// The runner of items while it sends: what it stores before it sends, how a call of a deployer ends, where exports go.

import { afterEach, describe, expect, inject, it, vi } from 'vitest'

import { DeployError, type DeployStep, type ItemWork } from '../../activities/landscaper/deploy/run/deployer.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { ownerReference } from '../../activities/kube/owners.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'

import { refusal } from '../activities/kube/tiny-api.ts'
import { failureOf, LONG_AGO, PROVIDER, useItemStage, waiting } from './item-stage.ts'

const stage = useItemStage(inject('servers').databaseUrl)
const { item, run, status, statusWrites } = stage

describe('the list of objects that an item will create', () => {
  const intended = { ...PROVIDER, managedResources: [{ name: 'x' }, { name: 'y' }] }

  it('is stored in the status before the deployer creates the objects', async () => {
    item()
    stage.intend = () => intended
    stage.answers = [
      () => {
        expect(status()).toMatchObject({ phase: 'Progressing', providerStatus: intended })
        return Promise.resolve({ result: 'done', providerStatus: PROVIDER })
      },
    ]
    await run()
    expect(status()).toMatchObject({ phase: 'Succeeded', providerStatus: PROVIDER })
    expect(statusWrites()).toBe(2)
  })

  it('is replaced by the deployed objects before the item waits for readiness', async () => {
    item()
    stage.intend = () => intended
    stage.answers = [waiting]
    expect((await run()).isWaiting).toBe(true)
    expect(status()).toMatchObject({
      phase: 'Progressing',
      providerStatus: PROVIDER,
      conditions: [{ type: 'Ready' }, { type: 'Reconciling' }, { type: 'ResourcesReady', status: 'False' }],
    })
    expect(statusWrites()).toBe(2)
  })

  it('is not sent when the API server refuses to store it, or another client has ended the item', async () => {
    item()
    stage.intend = () => intended
    stage.api.intercept = ({ body }) => (JSON.stringify(body).includes('"y"') ? refusal(422, 'Invalid') : undefined)
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'Invalid' } })
    let isEnded = false
    stage.api.intercept = ({ method }) => {
      if (method === 'PATCH' && !isEnded) {
        isEnded = true
        item({}, { phase: 'Failed', jobIDFinished: 'job', lastError: { reason: 'Interrupt', message: 'interrupted' } })
      }
      return undefined
    }
    item()
    await run()
    expect(stage.calls).toEqual([])
  })

  it('may be impossible to build because of the configuration, which fails the item', async () => {
    item()
    stage.intend = () => {
      throw new DeployError('Reconcile', 'ConfigurationProblem', 'wrong', ['ERR_CONFIGURATION_PROBLEM'])
    }
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'ConfigurationProblem' } })
  })
})

describe('a call of a deployer', () => {
  const untilAborted = ({ signal }: ItemWork) =>
    new Promise<DeployStep>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    })

  it('is aborted when another client ends the item', async () => {
    item()
    stage.answers = [untilAborted]
    const running = run()
    item({}, { phase: 'Failed', jobIDFinished: 'job', lastError: { reason: 'Interrupt', message: 'interrupted' } })
    expect((await running).item).toMatchObject({ phase: 'Failed', jobIDFinished: 'job' })
    expect(status()).toMatchObject({ lastError: { reason: 'Interrupt' } })
  })

  it('is aborted at the timeout of the item', async () => {
    item({ timeout: '300ms' })
    stage.answers = [untilAborted]
    await run()
    const message = 'timeout at: "test deployer: start reconcile": the target did not answer in time'
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'ProgressingTimeout', message } })
  })

  it('that throws an unexpected error is retried, and the item fails at its timeout', async () => {
    const broken = () => Promise.reject<DeployStep>(new TypeError('secret-7d3f'))
    item()
    stage.answers = [broken]
    expect((await failureOf(run())).type).toBe('DeployFailed')
    expect(status()).toMatchObject({ phase: 'Progressing', lastError: { reason: 'InternalProblem' } })
    expect(JSON.stringify(status())).not.toContain('secret-7d3f')
    item({}, { phase: 'Progressing', transitionTimes: { initTime: LONG_AGO } })
    stage.answers = [broken]
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { codes: ['ERR_TIMEOUT'] } })
  })

  it('starts the timeout of the job when the first attempt has not written a status', async () => {
    item()
    stage.answers = [waiting]
    await run('install', 2)
    expect(status()).toMatchObject({ phase: 'Progressing', transitionTimes: { initTime: '2030-01-01T00:00:00.000Z' } })
  })
})

describe('the exports of an item', () => {
  const SECRET = '/api/v1/namespaces/n/secrets/a-export'
  const exporting: DeployStep = { result: 'done', providerStatus: PROVIDER, exports: { ip: '1' } }
  const secret = (owner?: object): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    data: { config: 'b2xk' },
    metadata: { name: 'a-export', namespace: 'n', uid: 'uid-s', ...owner },
  })

  it.each([
    [422, 'Invalid', 'Failed'],
    [403, 'Forbidden', 'Progressing'],
  ])('that are refused with %d are reported, and fail at the timeout', async (code, reason, phase) => {
    item()
    stage.answers = [exporting, exporting]
    stage.api.intercept = ({ method }) => (method === 'POST' ? refusal(code, reason) : undefined)
    await run().catch(() => undefined)
    expect(status()).toMatchObject({ phase, providerStatus: PROVIDER, lastError: { operation: 'Export', reason } })
    if (phase === 'Failed') return
    item({}, { phase, transitionTimes: { initTime: LONG_AGO } })
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'ProgressingTimeout' } })
  })

  it('are never written to a Secret that the item does not own', async () => {
    stage.api.put(SECRET, secret())
    item()
    stage.answers = [exporting]
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', lastError: { reason: 'NameTaken' } })
    expect(stage.api.objects.get(SECRET)?.['data']).toEqual({ config: 'b2xk' })
  })

  it('are written to a Secret from Landscaper, which names the item as its owner but not as its controller', async () => {
    const { apiVersion } = deployItemKind
    item()
    stage.api.put(SECRET, secret({ ownerReferences: [{ apiVersion, kind: 'DeployItem', name: 'a', uid: 'uid-a' }] }))
    stage.answers = [exporting]
    await run()
    expect(status()).toMatchObject({ phase: 'Succeeded' })
    const written = stage.api.objects.get(SECRET)
    expect(written?.metadata.ownerReferences).toMatchObject([{ uid: 'uid-a', controller: true }])
    expect(written?.['data']).not.toEqual({ config: 'b2xk' })
  })

  it('wait until the Secret of a previous item with the same name is deleted', async () => {
    stage.api.put(SECRET, secret({ ownerReferences: [ownerReference(deployItemKind, { name: 'a', uid: 'gone' })] }))
    item()
    stage.answers = [exporting]
    expect((await failureOf(run())).message).toContain('BeingDeleted')
  })
})

describe('a worker that was suspended while it sent', () => {
  afterEach(() => void vi.restoreAllMocks())

  const MAPS = '/api/v1/namespaces/default/configmaps'
  const create = async ({ target }: Pick<ItemWork, 'target'>) => {
    const now = Date.now()
    vi.spyOn(Date, 'now').mockImplementation(() => now + 60_000)
    await target.kube.request('POST', MAPS, { body: { metadata: { name: 'map' } } })
    return { result: 'done', providerStatus: PROVIDER } as const
  }
  const sent = () => stage.api.requests.filter((request) => request === 'POST default/configmaps').length

  it.each(['its own target', 'another target'])(
    'sends nothing more to %s when another job owns the item',
    async (which) => {
      item()
      stage.answers = [
        async (work) => {
          item({}, { jobID: 'next', phase: 'Succeeded', jobIDFinished: 'next' })
          return await create(which === 'its own target' ? work : { target: await work.openTarget('here') })
        },
      ]
      await run()
      expect(sent()).toBe(0)
      expect(status()).toMatchObject({ jobID: 'next', phase: 'Succeeded' })
    },
  )

  it('continues when its job still owns the item', async () => {
    item()
    stage.answers = [create]
    await run()
    expect(sent()).toBe(1)
    expect(status()).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'job' })
  })

  it('sends nothing while it cannot read the item, and retries', async () => {
    item()
    let isStopped = false
    stage.api.intercept = ({ method }) => (isStopped && method === 'GET' ? refusal(500, 'InternalError') : undefined)
    stage.answers = [
      async (work) => {
        isStopped = true
        return await create(work).finally(() => (isStopped = false))
      },
    ]
    const { message, nonRetryable } = await failureOf(run())
    expect(message).toContain('500 InternalError')
    expect(nonRetryable).toBe(false)
    expect(sent()).toBe(0)
  })
})
