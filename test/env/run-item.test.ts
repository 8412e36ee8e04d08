// The runner of items with a scripted deployer: the status of the item, the writes, and the delay until Temporal retries.

import { describe, expect, inject, it } from 'vitest'

import type { ReadCondition } from '../support/cluster/kstatus.ts'
import { KubeError } from '../../activities/kube/errors.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { failed, failureOf, LONG_AGO, PROVIDER, useItemStage, waiting } from './item-stage.ts'

const JUST_NOW = '2029-12-31T23:59:58Z'

const { entries } = Object

const stage = useItemStage(inject('servers').databaseUrl)
const { item, run, status, statusWrites } = stage

describe('an item that is deployed', () => {
  it('ends with one status write when it is ready at the first check', async () => {
    item()
    stage.answers = [{ result: 'done', providerStatus: PROVIDER }]
    const { item: after, isWaiting } = await run()
    expect([after?.phase, after?.jobIDFinished, isWaiting]).toEqual(['Succeeded', 'job', false])
    expect(status()).toMatchObject({
      providerStatus: PROVIDER,
      observedGeneration: 1,
      deployer: { name: 'test.deployer.landscaper.gardener.cloud' },
    })
    expect(status()['conditions']).toMatchObject([{ type: 'Ready', status: 'True', observedGeneration: 1 }])
    expect(statusWrites()).toBe(1)
  })

  it('ends with two status writes when it has to wait, and reports the reason; checks in between write nothing', async () => {
    item()
    stage.answers = [waiting, waiting, { result: 'done', providerStatus: PROVIDER, exports: { ip: '1' } }]
    expect((await run()).isWaiting).toBe(true)
    const condition = { type: 'ResourcesReady', status: 'False', message: 'Deployment n/x: 0 of 1' }
    expect(status()).toMatchObject({ phase: 'Progressing', providerStatus: PROVIDER })
    expect(status()['conditions']).toMatchObject([
      condition,
      { type: 'Ready', status: 'Unknown' },
      { type: 'Reconciling' },
    ])
    const look = await failureOf(run('check', 3))
    expect([look.type, look.nonRetryable, look.nextRetryDelay]).toEqual(['NotReady', false, 450])
    expect(statusWrites()).toBe(1)
    await run('check', 4)
    expect(status()).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'job', exportRef: { name: 'a-export' } })
    expect(status()['conditions']).toMatchObject([{ status: 'True' }, { type: 'Ready', status: 'True' }])
    expect(statusWrites()).toBe(2)
    expect(stage.api.objects.get('/api/v1/namespaces/n/secrets/a-export')).toBeDefined()
  })

  it('reports a changed reason once when it waits for long', async () => {
    item()
    stage.answers = [waiting, ...[3, 6, 7].map(() => ({ ...waiting, waitingFor: 'Deployment n/x: 1 of 2' }))]
    await run()
    await failureOf(run('check', 3))
    expect(statusWrites()).toBe(1)
    await failureOf(run('check', 6))
    await failureOf(run('check', 7))
    expect(status()['conditions']).toContainEqual(
      expect.objectContaining({ type: 'ResourcesReady', status: 'False', message: 'Deployment n/x: 1 of 2' }),
    )
    expect(statusWrites()).toBe(2)
  })

  it('is checked at least every 5 s, and at its timeout', async () => {
    item({}, { phase: 'Progressing', transitionTimes: { initTime: JUST_NOW } })
    stage.answers = [waiting]
    expect((await failureOf(run('check', 50))).nextRetryDelay).toBe(5000)
    item({ timeout: '3s' }, { phase: 'Progressing', transitionTimes: { initTime: JUST_NOW } })
    stage.answers = [waiting]
    expect((await failureOf(run('check', 50))).nextRetryDelay).toBe(1000)
  })

  it('fails at its timeout with the checkpoint and the reason; never with timeout none', async () => {
    const started = { phase: 'Progressing', transitionTimes: { initTime: LONG_AGO } }
    item({ timeout: 'none' }, started)
    stage.answers = [waiting]
    expect((await failureOf(run('check'))).type).toBe('NotReady')
    item({}, started)
    stage.answers = [waiting]
    await run('check')
    expect(status()).toMatchObject({
      phase: 'Failed',
      jobIDFinished: 'job',
      providerStatus: PROVIDER,
      lastError: {
        reason: 'ProgressingTimeout',
        codes: ['ERR_TIMEOUT'],
        message: 'timeout at: "deployer: during readiness check - x": Deployment n/x: 0 of 1',
      },
    })
  })
})

describe('an item that fails', () => {
  it('is retried after 5 s, keeps its first and last errors, and writes the same error once', async () => {
    item()
    stage.answers = [failed(), failed(), failed([], 'another'), { result: 'done', providerStatus: PROVIDER }]
    expect((await failureOf(run())).nextRetryDelay).toBe(5000)
    expect(status()).toMatchObject({ phase: 'Progressing', providerStatus: PROVIDER, lastError: { reason: 'Broken' } })
    await failureOf(run())
    expect(statusWrites()).toBe(1)
    await failureOf(run())
    expect(status()).toMatchObject({
      firstError: { message: 'it did not work' },
      lastError: { message: 'another' },
      lastErrors: [{ message: 'it did not work' }, { message: 'another' }],
    })
    await run()
    expect(status()).toMatchObject({ phase: 'Succeeded', firstError: { message: 'it did not work' } })
    expect(status()).not.toHaveProperty('lastError')
  })

  it('changes the condition ResourcesReady from True to False', async () => {
    const times = { lastTransitionTime: LONG_AGO, lastUpdateTime: LONG_AGO }
    const ready = { type: 'ResourcesReady', status: 'True', reason: 'ResourcesReady', message: 'all', ...times }
    item({}, { conditions: [ready] })
    stage.answers = [failed(), failed(['ERR_UNAUTHORIZED'])]
    const said = () => (status()['conditions'] as readonly ReadCondition[]).map(({ type, status: is }) => [type, is])
    await failureOf(run())
    expect(said()).toEqual(entries({ ResourcesReady: 'False', Ready: 'Unknown', Reconciling: 'True' }))
    await run()
    expect(said()).toEqual(entries({ ResourcesReady: 'False', Ready: 'False', Stalled: 'True' }))
  })

  it.each([
    ['with a code that a retry cannot fix', failed(['ERR_CONFIGURATION_PROBLEM']), 'Broken'],
    ['when the API server refuses its providerStatus', undefined, 'Invalid'],
  ])('ends at once %s', async (_, step, reason) => {
    item()
    stage.answers = [step ?? { result: 'done', providerStatus: { ...PROVIDER, huge: true } }]
    stage.api.intercept = ({ body }) => (JSON.stringify(body).includes('huge') ? refusal(422, 'Invalid') : undefined)
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', jobIDFinished: 'job', lastError: { reason } })
  })

  it('during its deletion is retried until its timeout after every error of the target', async () => {
    const refused = () =>
      Promise.reject(KubeError.fromResponse('DELETE /x', { statusCode: 422, headers: {} }, '{"reason":"Invalid"}'))
    const deleted = { deletionTimestamp: LONG_AGO }
    item({}, { phase: 'Deleting', transitionTimes: { initTime: JUST_NOW } }, deleted)
    stage.answers = [refused, refused]
    expect((await failureOf(run('uninstall'))).nextRetryDelay).toBe(5000)
    expect(status()).toMatchObject({ phase: 'Deleting', lastError: { reason: 'Invalid', codes: [] } })
    item({}, { phase: 'Deleting', transitionTimes: { initTime: LONG_AGO } }, deleted)
    await run('uninstall')
    expect(status()).toMatchObject({
      phase: 'DeleteFailed',
      lastError: { reason: 'ProgressingTimeout', message: expect.stringContaining('DELETE /x: 422 Invalid') as string },
    })
  })

  it('keeps the providerStatus of its deployment although another client has ended it', async () => {
    item()
    stage.answers = [{ result: 'done', providerStatus: PROVIDER }]
    const lastError = { reason: 'InterruptOperation', message: 'interrupted' }
    let isInterrupted = false
    stage.api.intercept = ({ method }) => {
      if (method === 'PATCH' && !isInterrupted) {
        isInterrupted = true
        item({}, { phase: 'Failed', jobIDFinished: 'job', lastError })
      }
      return undefined
    }
    await run()
    expect(status()).toMatchObject({ phase: 'Failed', providerStatus: PROVIDER, lastError })
  })

  it.each([
    ['has no target', { target: undefined }, 'spec.target: found nothing; expected a Target of namespace "n"'],
    [
      'has a target without a name',
      { target: { name: '' } },
      'spec.target.name: found nothing; expected a Target of namespace "n"',
    ],
    ['names a missing target', { target: { name: 'nowhere' } }, 'Target "n/nowhere" does not exist; create it'],
    [
      'names a target in another namespace',
      { target: { name: 'here', namespace: 'other' } },
      'spec.target.namespace: found "other"; expected "n", the namespace of the item',
    ],
    ['has an invalid timeout', { timeout: 'soon' }, 'spec.timeout: found "soon"; expected a duration such as 1m30s'],
  ])('ends at once when it %s', async (_, spec, message) => {
    item(spec)
    await run()
    expect(status()).toMatchObject({
      phase: 'Failed',
      lastError: { message: expect.stringContaining(message) as string },
    })
    expect(stage.calls).toEqual([])
  })
})

describe('an item whose deployer needs no target', () => {
  it('is deployed and uninstalled without a target', async () => {
    stage.needsTarget = false
    item({ target: undefined })
    stage.answers = [(work) => Promise.resolve({ result: 'target' in work ? 'waiting' : 'done', ...NOWHERE })]
    await run()
    expect(status()).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'job' })
    item({ target: undefined }, {}, { deletionTimestamp: LONG_AGO })
    stage.answers = [{ result: 'done' }]
    expect((await run('uninstall')).item).toBeUndefined()
    expect(stage.calls).toEqual(['install', 'uninstall'])
  })
})

const NOWHERE = { checkpoint: 'deployer: somewhere', waitingFor: 'a target that nobody asked for' }

describe('an item without work for the deployer', () => {
  it.each([
    ['is finished', {}, { phase: 'Succeeded', jobIDFinished: 'job' }],
    ['belongs to another job', {}, { jobID: 'other' }],
  ])('is unchanged when it %s', async (_, spec, found) => {
    item(spec, found)
    expect((await run()).isWaiting).toBe(false)
    expect([stage.calls, statusWrites()]).toEqual([[], 0])
  })

  it('is finished at once when it has updateOnChangeOnly and did not change', async () => {
    item({ updateOnChangeOnly: true }, { phase: 'Succeeded', observedGeneration: 1, jobIDFinished: 'job-0' })
    await run()
    expect(status()).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'job' })
    expect(stage.calls).toEqual([])
  })
})

describe('an item that is deleted', () => {
  const deleted = { deletionTimestamp: LONG_AGO }

  it('is released without a status write when no object is left', async () => {
    item({}, { providerStatus: PROVIDER }, deleted)
    stage.answers = [{ result: 'done' }]
    expect((await run('uninstall')).item).toBeUndefined()
    expect(statusWrites()).toBe(0)
  })

  it('waits in Deleting, is checked at least every second, and fails at its timeout with the last error', async () => {
    item({}, { phase: 'Succeeded', jobIDFinished: 'job-0', providerStatus: PROVIDER }, deleted)
    stage.answers = [waiting]
    const look = await failureOf(run('uninstall', 9))
    expect([look.type, look.nextRetryDelay]).toEqual(['NotGone', 1000])
    expect(status()).toMatchObject({ phase: 'Deleting' })
    item({}, { phase: 'Deleting', transitionTimes: { initTime: LONG_AGO }, providerStatus: PROVIDER }, deleted)
    stage.answers = [failed([], 'not allowed')]
    await run('uninstall')
    expect(status()).toMatchObject({
      phase: 'DeleteFailed',
      jobIDFinished: 'job',
      lastError: { operation: 'Delete', message: 'timeout at: "test deployer: start delete": not allowed' },
    })
  })

  it.each([
    [
      'has the annotation delete-without-uninstall',
      {},
      { annotations: { 'landscaper.gardener.cloud/delete-without-uninstall': 'true' } },
    ],
    ['was never deployed, and its target is missing', { target: { name: 'nowhere' } }, {}],
    [
      'was never deployed, and names a target in another namespace',
      { target: { name: 'here', namespace: 'other' } },
      {},
    ],
  ])('is released without a call of the deployer when it %s', async (_, spec, metadata) => {
    item(spec, {}, { ...deleted, ...metadata })
    expect((await run('uninstall')).item).toBeUndefined()
    expect(stage.calls).toEqual([])
  })

  it('fails when the target to which it was deployed is missing', async () => {
    item({ target: { name: 'nowhere' } }, { providerStatus: PROVIDER }, deleted)
    await run('uninstall')
    expect(status()).toMatchObject({ phase: 'DeleteFailed', lastError: { reason: 'NoTargetFound' } })
  })

  describe('by a ServiceAccount of a namespace that is being deleted', () => {
    const resource = (namespace?: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', namespace })
    const deployed = (...resources: object[]) => ({
      providerStatus: { ...PROVIDER, managedResources: resources.map((one) => ({ policy: 'manage', resource: one })) },
    })
    const terminate = () => {
      stage.server = undefined
      stage.api.intercept = ({ method, query }) => {
        if (method !== 'POST' || query['dryRun'] !== 'All') return undefined
        const { status, body } = refusal(403, 'Forbidden')
        return { status, body: { ...body, details: { causes: [{ reason: 'NamespaceTerminating' }] } } }
      }
    }

    it('is released when all its objects are in the namespace', async () => {
      terminate()
      item({ target: { name: 'nowhere' } }, deployed(resource('n')), deleted)
      expect((await run('uninstall')).item).toBeUndefined()
    })

    it.each([
      ['in another namespace', 'ConfigMap other/x', resource('other')],
      ['in no namespace', 'ConfigMap x', resource()],
    ])('fails at once and names an object %s', async (_, named, other) => {
      terminate()
      item({ target: { name: 'nowhere' } }, deployed(resource('n'), other), deleted)
      await run('uninstall')
      expect(status()).toMatchObject({ phase: 'DeleteFailed', lastError: { reason: 'NamespaceTerminating' } })
      expect(status()['lastError']).toMatchObject({
        message: expect.stringContaining(`could delete ${named} (`) as string,
      })
    })

    it('fails with NoTargetFound when its Target is on another cluster, or the namespace is not being deleted', async () => {
      terminate()
      stage.server = 'https://elsewhere'
      item({ target: { name: 'nowhere' } }, deployed(resource('n')), deleted)
      await run('uninstall')
      expect(status()).toMatchObject({ lastError: { reason: 'NoTargetFound' } })
      stage.server = undefined
      stage.api.intercept = () => undefined
      item({ target: { name: 'nowhere' } }, deployed(resource('n')), deleted)
      await run('uninstall')
      expect(status()).toMatchObject({ lastError: { reason: 'NoTargetFound' } })
    })
  })
})
